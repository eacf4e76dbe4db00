package evidence

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/trainyard/trainyard/fabric"
)

// SysFS is where Linux shows its devices.
const SysFS = "/sys"

// CardReading is what a port of an RDMA network card has sent and received
// since its driver was loaded, in bytes.
type CardReading struct {
	Device   string `json:"device"`
	Port     int    `json:"port"`
	Sent     uint64 `json:"sent"`
	Received uint64 `json:"received"`
	Problem  string `json:"problem,omitempty"` // why it could not be read
}

// ReadCards reads the hardware counters of all RDMA cards below root, which is
// [SysFS] on a real machine. A machine without such cards has none; a card that
// cannot be read is listed with its problem.
func ReadCards(root string) ([]CardReading, error) {
	dir := filepath.Join(root, "class", "infiniband")
	devices, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the network cards: %w", err)
	}
	var all []CardReading
	for _, device := range devices {
		ports, err := os.ReadDir(filepath.Join(dir, device.Name(), "ports"))
		if err != nil {
			all = append(all, CardReading{Device: device.Name(), Problem: problemOf(err)})
			continue
		}
		for _, port := range ports {
			all = append(all, readPort(filepath.Join(dir, device.Name(), "ports", port.Name()), device.Name(), port.Name()))
		}
	}
	return all, nil
}

// readPort knows two families of cards. EFA counts bytes; InfiniBand counts
// four-byte words. Sources: AWS's "EFA driver metrics" (tx_bytes, rx_bytes) and
// the InfiniBand specification's PortCounters (PortXmitData, PortRcvData).
func readPort(dir, device, number string) CardReading {
	r := CardReading{Device: device}
	r.Port, _ = strconv.Atoi(number)
	var problem error
	for _, family := range [...]struct {
		sent, received string
		unit           uint64
	}{
		{"hw_counters/tx_bytes", "hw_counters/rx_bytes", 1},
		{"counters/port_xmit_data", "counters/port_rcv_data", 4},
	} {
		sent, err := readCounter(filepath.Join(dir, family.sent))
		received, err2 := readCounter(filepath.Join(dir, family.received))
		if err = errors.Join(err, err2); err == nil {
			r.Sent, r.Received = sent*family.unit, received*family.unit
			return r
		}
		if problem == nil || !errors.Is(err, fs.ErrNotExist) {
			problem = err
		}
	}
	r.Problem = problemOf(problem)
	return r
}

func readCounter(path string) (uint64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is no count", filepath.Base(path), shorten(text))
	}
	return n, nil
}

func shorten(text []byte) string { return string(text[:min(len(text), 20)]) }

// SaveCards writes readings down for whoever ends the run, which may be another
// process.
func SaveCards(path string, cards []CardReading) error {
	data, err := json.Marshal(cards)
	if err == nil {
		err = renameio.WriteFile(path, data, 0o644)
	}
	if err != nil {
		return fmt.Errorf("writing the counters of the network cards: %w", err)
	}
	return nil
}

// LoadCards reads what SaveCards wrote; the error is fs.ErrNotExist where it
// did not.
func LoadCards(path string) ([]CardReading, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the counters of the network cards: %w", err)
	}
	var cards []CardReading
	if err := json.Unmarshal(data, &cards); err != nil {
		return nil, fmt.Errorf("reading the counters of the network cards: %w", err)
	}
	return cards, nil
}

// problemOf leaves out the path: the device is named beside it.
func problemOf(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return filepath.Base(e.Path) + ": " + e.Err.Error()
	}
	return err.Error()
}

// Growth pairs readings from before and after a job. A card that is in one of
// the two only, as after a driver's restart, has a problem.
func Growth(before, after []CardReading) []fabric.Counter {
	all := make([]fabric.Counter, 0, len(after))
	for _, b := range before {
		c := fabric.Counter{
			Device: b.Device, Port: b.Port, SentBefore: b.Sent, ReceivedBefore: b.Received, Problem: b.Problem,
		}
		at := slices.IndexFunc(after, b.samePort)
		switch {
		case at < 0:
			c.Problem = "it was gone after the job"
		case c.Problem == "":
			c.SentAfter, c.ReceivedAfter, c.Problem = after[at].Sent, after[at].Received, after[at].Problem
		}
		all = append(all, c)
	}
	for _, a := range after {
		if !slices.ContainsFunc(before, a.samePort) {
			all = append(all, fabric.Counter{Device: a.Device, Port: a.Port, Problem: "it was not there before the job"})
		}
	}
	return all
}

func (r CardReading) samePort(o CardReading) bool { return r.Device == o.Device && r.Port == o.Port }
