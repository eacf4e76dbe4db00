package local

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/internal/fault"
)

func TestDeal(t *testing.T) {
	tests := []struct {
		name                  string
		nodes, workersPerNode int
		gpus                  []string
		want                  Layout
		note                  string
	}{
		{"no GPU", 2, 0, nil, Layout{WorkersPerNode: 1, GPUs: [][]string{nil, nil}}, ""},
		{"no GPU, two workers", 2, 2, nil, Layout{WorkersPerNode: 2, GPUs: [][]string{nil, nil}}, ""},
		{"a GPU for each node", 2, 0, []string{"0", "1"}, Layout{WorkersPerNode: 1, GPUs: [][]string{{"0"}, {"1"}}}, ""},
		{
			"all GPUs shared out", 2, 0,
			[]string{"0", "1", "2", "3"},
			Layout{WorkersPerNode: 2, GPUs: [][]string{{"0", "1"}, {"2", "3"}}},
			"",
		},
		{
			"fewer GPUs than nodes", 2, 0,
			[]string{"3"},
			Layout{WorkersPerNode: 1, GPUs: [][]string{{"3"}}},
			"1 node instead of 2: this machine has 1 GPU, 1 worker to a node",
		},
		{
			"fewer GPUs than ranks", 4, 2,
			[]string{"0", "1", "2", "3", "4"},
			Layout{WorkersPerNode: 2, GPUs: [][]string{{"0", "1"}, {"2", "3"}}},
			"2 nodes instead of 4: this machine has 5 GPUs, 2 workers to a node",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, note, err := Deal(test.nodes, test.workersPerNode, test.gpus)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("layout (-want +got):\n%s", diff)
			}
			if note != test.note {
				t.Errorf("note = %q, want %q", note, test.note)
			}
		})
	}
}

func TestDealRefusesMoreRanksThanGPUs(t *testing.T) {
	_, _, err := Deal(1, 3, []string{"0", "1"})
	want := "dealing GPUs: 3 workers on a node, but this machine has 2 GPUs"
	if err == nil || err.Error() != want {
		t.Errorf("error = %v, want %q", err, want)
	}
	if code := fault.CodeOf(err); code != fault.Usage {
		t.Errorf("code = %d, want %d", code, fault.Usage)
	}
	if _, _, err := Deal(0, 1, nil); fault.CodeOf(err) != fault.Usage {
		t.Errorf("no nodes: error = %v, want a usage error", err)
	}
}
