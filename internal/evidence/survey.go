package evidence

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/google/renameio/v2"

	"github.com/trainyard/trainyard/fabric"
)

// Survey is what one Ray node showed of its network and GPUs to train's
// trainyard/survey.py. Fields of a node with a Problem are zero.
type Survey struct {
	Node        string            `json:"node"` // its name in Ray
	Host        string            `json:"host"`
	Driver      string            `json:"driver"`     // NVIDIA's, "580.159.04"; empty: none
	EFADriver   string            `json:"efa_driver"` // empty: none
	Devices     []string          `json:"devices"`    // paths of GPUs, RDMA cards and GDRCopy's driver
	Counters    []CardReading     `json:"counters"`
	FiInfo      FiInfo            `json:"fi_info"`
	Environment map[string]string `json:"environment"` // of Ray's processes, the allow-listed part
	Problem     string            `json:"problem,omitempty"`
}

// FiInfo is what libfabric's fi_info says of EFA.
type FiInfo struct {
	Domains []string `json:"domains,omitempty"` // "rdmap0s6-rdm"
	Problem string   `json:"problem,omitempty"` // why there are none
}

// nodeRecord begins a line that a survey is on.
var nodeRecord = append(slices.Clone(recordPrefix), `node"`...)

// ParseSurveys reads the surveys in what the job printed, by node. Other lines
// are Ray's.
func ParseSurveys(output []byte) ([]Survey, error) {
	var all []Survey
	lines := bufio.NewScanner(bytes.NewReader(output))
	lines.Buffer(nil, len(output)+1)
	for lines.Scan() {
		if !bytes.HasPrefix(lines.Bytes(), nodeRecord) {
			continue
		}
		var s Survey
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("reading the survey of a node: %w", err)
		}
		all = append(all, s)
	}
	return all, lines.Err()
}

// Grown gives each node that was surveyed what its network cards have counted
// in between. One that was surveyed once, as where a pod was replaced, has
// counters that are a problem.
func Grown(before, after []Survey) []fabric.Machine {
	var machines []fabric.Machine
	for _, a := range after {
		at := slices.IndexFunc(before, func(b Survey) bool { return b.Node == a.Node })
		var first []CardReading
		if at >= 0 {
			first = before[at].Counters
		}
		if counters := Growth(first, a.Counters); len(counters) > 0 {
			machines = append(machines, fabric.Machine{Name: a.Node, Counters: counters})
		}
	}
	return machines
}

// SaveSurveys writes surveys down for whoever ends the run, which may be
// another process.
func SaveSurveys(path string, all []Survey) error {
	data, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = renameio.WriteFile(path, append(data, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("writing the surveys of nodes: %w", err)
	}
	return nil
}

// LoadSurveys reads what SaveSurveys wrote; the error is fs.ErrNotExist where
// it did not.
func LoadSurveys(path string) ([]Survey, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the surveys of nodes: %w", err)
	}
	var all []Survey
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("reading the surveys of nodes: %w", err)
	}
	return all, nil
}
