// Package instancetype knows the AWS instance types that have NVIDIA GPUs and
// that the Ray Train container runs on: what is in one, and what its network
// does. The table is types.csv, written by generate.py, which names its
// sources.
package instancetype

import (
	"cmp"
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/spelling"
)

// Type is one instance type.
type Type struct {
	Name         string `json:"name"` // "g6.12xlarge"
	GPUs         int    `json:"gpus"`
	GPU          string `json:"gpu"`          // AWS's name of the model, "L4"
	GPUMemoryMiB int    `json:"gpuMemoryMiB"` // of each GPU
	EFA          int    `json:"efa"`          // the most EFA interfaces; 0: the type has no EFA
	NetworkGbps  int    `json:"networkGbps"`  // of all cards together; where AWS says "up to", that
	GPUDirect    bool   `json:"gpuDirect"`    // EFA must reach the GPUs' memory directly, by GPUDirect RDMA
	VCPUs        int    `json:"vcpus"`
	MemoryMiB    int    `json:"memoryMiB"`
	HugePagesMiB int    `json:"hugePagesMiB"` // pages of 2 MiB that a pod should ask for to use EFA well; 0: none
}

// Family is the part of the name before the dot, "g6".
func (t Type) Family() string {
	family, _, _ := strings.Cut(t.Name, ".")
	return family
}

//go:embed types.csv
var table string

// All returns every type, by family and size.
func All() []Type {
	records, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		panic(fmt.Sprintf("instancetype: types.csv: %v", err)) // every test would see it
	}
	types := make([]Type, 0, len(records)-1)
	for _, r := range records[1:] {
		types = append(types, Type{
			Name: r[0], GPUs: number(r[1]), GPU: r[2], GPUMemoryMiB: number(r[3]), EFA: number(r[4]), NetworkGbps: number(r[5]),
			GPUDirect: r[6] == "true", VCPUs: number(r[7]), MemoryMiB: number(r[8]), HugePagesMiB: number(r[9]),
		})
	}
	return types
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(fmt.Sprintf("instancetype: types.csv: %v", err))
	}
	return n
}

// Lookup returns the type with this name. Its error says which type was
// probably meant, or which there are.
func Lookup(name string) (Type, error) {
	types := All()
	for _, t := range types {
		if t.Name == name {
			return t, nil
		}
	}
	return Type{}, fault.WithCode(fault.Usage, unknown(name, types))
}

func unknown(name string, types []Type) error {
	var names, families, sizes []string
	family, _, _ := strings.Cut(name, ".")
	for _, t := range types {
		names = append(names, t.Name)
		if len(families) == 0 || families[len(families)-1] != t.Family() {
			families = append(families, t.Family())
		}
		if t.Family() == family {
			sizes = append(sizes, t.Name)
		}
	}
	text := fmt.Sprintf("unknown instance type %q", name)
	lower := strings.ToLower(name)
	if near := cmp.Or(spelling.Nearest(lower, sizes), spelling.Nearest(lower, names)); near != "" {
		text += fmt.Sprintf(" (did you mean %s?)", near)
	}
	if len(sizes) > 0 {
		return fmt.Errorf("%s; known of %s: %s", text, family, strings.Join(sizes, ", "))
	}
	return fmt.Errorf("%s; known families, those with x86-64 and GPUs of NVIDIA's: %s", text, strings.Join(families, ", "))
}
