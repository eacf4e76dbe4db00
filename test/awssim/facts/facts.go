// Package facts holds what AWS says of its regions, zones, instance types and
// prices. The data is facts.json.gz, written by generate.py, which names its
// sources.
package facts

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// Facts is all of it, by names of regions and types.
type Facts struct {
	Regions map[string]Region `json:"regions"`
	Types   map[string]Type   `json:"types"`
}

// Region is one of AWS's regions.
type Region struct {
	Description string            `json:"description"` // "US East (N. Virginia)"
	Partition   string            `json:"partition"`   // "aws", "aws-cn", "aws-us-gov"
	OptIn       bool              `json:"optIn"`       // accounts must enable it first
	Zones       map[string]string `json:"zones"`       // name to id, as one account sees them
	Markup      float64           `json:"markup"`      // prices as a multiple of those in us-east-1
}

// Type is one instance type.
type Type struct {
	// Describe is AWS's description, with the names it has on the wire.
	Describe map[string]any `json:"describe"`
	Zones    []string       `json:"zones"` // ids of zones that offer it
	USD      float64        `json:"usd"`   // On-Demand, an hour, Linux, us-east-1; 0: not sold On-Demand
}

//go:embed facts.json.gz
var packed []byte

// Load reads the data, once.
var Load = sync.OnceValue(func() Facts {
	var f Facts
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		err = json.NewDecoder(reader).Decode(&f)
	}
	if err != nil {
		panic(fmt.Sprintf("facts: facts.json.gz: %v", err)) // every test would see it
	}
	return f
})

// VCPUs is how many the type has.
func (t Type) VCPUs() int { return t.number("VCpuInfo", "DefaultVCpus") }

// EFA is the most EFA interfaces; 0: the type has no EFA.
func (t Type) EFA() int { return t.number("NetworkInfo", "EfaInfo", "MaximumEfaInterfaces") }

// GPUs is how many the type has, and their model.
func (t Type) GPUs() (count int, model string) {
	info, _ := t.Describe["GpuInfo"].(map[string]any)
	gpus, _ := info["Gpus"].([]any)
	for _, g := range gpus {
		gpu, _ := g.(map[string]any)
		n, _ := gpu["Count"].(float64)
		model, _ = gpu["Name"].(string)
		count += int(n)
	}
	return count, model
}

// MemoryMiB is the size of its memory.
func (t Type) MemoryMiB() int { return t.number("MemoryInfo", "SizeInMiB") }

func (t Type) number(path ...string) int {
	var node any = t.Describe
	for _, name := range path {
		m, _ := node.(map[string]any)
		node = m[name]
	}
	n, _ := node.(float64)
	return int(n)
}

// UsageClasses are "on-demand", "spot", "capacity-block".
func (t Type) UsageClasses() []string {
	list, _ := t.Describe["SupportedUsageClasses"].([]any)
	classes := make([]string, 0, len(list))
	for _, c := range list {
		classes = append(classes, fmt.Sprint(c))
	}
	return classes
}

// OfferedIn tells whether any zone of the region offers the type.
func (t Type) OfferedIn(region Region) bool {
	for _, id := range region.Zones {
		if slices.Contains(t.Zones, id) {
			return true
		}
	}
	return false
}
