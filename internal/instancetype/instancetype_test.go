package instancetype

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/internal/fault"
)

// What AWS's pages say of these types, written down by hand.
func TestLookup(t *testing.T) {
	for _, want := range []Type{
		{"g6.12xlarge", 4, "L4", 22888, 1, 40, false, 48, 192 << 10, 0},
		{"g6.xlarge", 1, "L4", 22888, 0, 10, false, 4, 16 << 10, 0},
		{"g6e.48xlarge", 8, "L40S", 45776, 4, 400, false, 192, 1536 << 10, 0},
		{"g7e.12xlarge", 2, "RTX PRO Server 6000", 96 << 10, 1, 400, true, 48, 512 << 10, 0},
		{"p4d.24xlarge", 8, "A100", 40 << 10, 4, 400, true, 96, 1152 << 10, 5120},
		{"p5.4xlarge", 1, "H100", 80 << 10, 1, 100, false, 16, 256 << 10, 0},
		{"p5.48xlarge", 8, "H100", 80 << 10, 32, 3200, true, 192, 2048 << 10, 5120},
		{"p5en.48xlarge", 8, "H200", 141 << 10, 16, 3200, true, 192, 2048 << 10, 5120},
		{"p6-b200.48xlarge", 8, "B200", 183359, 8, 3200, true, 192, 2048 << 10, 5120},
		{"p6-b300.48xlarge", 8, "B300", 275040, 16, 6400, true, 192, 4096 << 10, 5120},
	} {
		got, err := Lookup(want.Name)
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want.Name, diff)
		}
	}
}

func TestLookupUnknown(t *testing.T) {
	families := "; known families, those with x86-64 and GPUs of NVIDIA's: " +
		"g4dn, g5, g6, g6e, g7, g7e, gr6, p3dn, p4d, p4de, p5, p5e, p5en, p6-b200, p6-b300"
	for name, want := range map[string]string{
		"p5.24xlarge":     `unknown instance type "p5.24xlarge" (did you mean p5.4xlarge?); known of p5: p5.4xlarge, p5.48xlarge`,
		"g4dn.12xlarg":    `unknown instance type "g4dn.12xlarg" (did you mean g4dn.12xlarge?); known of g4dn: g4dn.xlarge, g4dn.2xlarge, g4dn.4xlarge, g4dn.8xlarge, g4dn.12xlarge, g4dn.16xlarge, g4dn.metal`,
		"P5.48xlarge":     `unknown instance type "P5.48xlarge" (did you mean p5.48xlarge?)` + families,
		"p6-b20.48xlarge": `unknown instance type "p6-b20.48xlarge" (did you mean p6-b200.48xlarge?)` + families,
		"p6b200.48xlarge": `unknown instance type "p6b200.48xlarge" (did you mean p6-b200.48xlarge?)` + families,
		"nd96isr":         `unknown instance type "nd96isr"` + families,
	} {
		_, err := Lookup(name)
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		if code := fault.CodeOf(err); code != fault.Usage {
			t.Errorf("%s: exit code %d, want %d", name, code, fault.Usage)
		}
	}
}

// Rules that hold for every row, so that a slip in a new one is seen.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range All() {
		switch {
		case seen[row.Name]:
			t.Errorf("%s is there twice", row.Name)
		case row.GPUs < 1 || row.GPUs > 8 || row.GPU == "" || row.GPUMemoryMiB < 16<<10:
			t.Errorf("%s has %d GPUs %q of %d MiB", row.Name, row.GPUs, row.GPU, row.GPUMemoryMiB)
		case row.VCPUs < 4 || row.MemoryMiB < 3<<10*row.VCPUs:
			t.Errorf("%s has %d vCPUs and %d MiB", row.Name, row.VCPUs, row.MemoryMiB)
		case row.NetworkGbps < 10:
			t.Errorf("%s has %d Gbps", row.Name, row.NetworkGbps)
		case row.EFA == 0 && (row.GPUDirect || row.HugePagesMiB > 0):
			t.Errorf("%s has what only EFA uses, but no EFA", row.Name)
		}
		seen[row.Name] = true
	}
}
