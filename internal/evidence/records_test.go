package evidence

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/fabric"
)

func TestParseRecord(t *testing.T) {
	r, ok := ParseRecord([]byte(`{"trainyard": 1, "event": "step", "step": 3, "loss": 2.5, "mfu": null}`))
	if !ok || r.Event != "step" || r.Step != 3 || r.Loss == nil || *r.Loss != 2.5 || r.MFU != 0 {
		t.Errorf("record = %+v, %v", r, ok)
	}
	if r, ok := ParseRecord([]byte(`{"trainyard": 1, "event": "step", "step": 3, "loss": null}`)); !ok || r.Loss != nil {
		t.Errorf("a loss that is not finite: %+v, %v", r, ok)
	}
	for _, line := range []string{"", "step 3", `{"trainyard": 2, "event": "step"}`, `{"trainyard": 1, "event": "step"`} {
		if _, ok := ParseRecord([]byte(line)); ok {
			t.Errorf("ParseRecord(%q) took it", line)
		}
	}
}

// recorded reads what the training itself wrote.
func recorded(t *testing.T, name string) []Record {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var all []Record
	for line := range bytes.Lines(data) {
		r, ok := ParseRecord(bytes.TrimSuffix(line, []byte("\n")))
		if !ok {
			t.Fatalf("no record: %s", line)
		}
		all = append(all, r)
	}
	return all
}

func TestTestimony(t *testing.T) {
	var heard Testimony
	if heard.BytesPerNode() != 0 || heard.Machines() != nil {
		t.Errorf("nobody has said anything: %d, %v", heard.BytesPerNode(), heard.Machines())
	}
	records := recorded(t, "evidence.jsonl")
	for i, r := range records {
		heard.Hear(r)
		if i < len(records)-1 && heard.BytesPerNode() != 0 {
			t.Errorf("after %d of %d records: %d bytes a node, want 0: ranks are missing", i+1, len(records), heard.BytesPerNode())
		}
	}
	// Two ranks a node, 5 steps of 1,000,000 bytes from each node.
	if got := heard.BytesPerNode(); got != 2_500_000 {
		t.Errorf("BytesPerNode() = %d, want half of 5,000,000", got)
	}
	// Started again with two ranks, of which one has spoken so far.
	heard.Hear(Record{Rank: 0, WorldSize: 2, Node: "worker-0", Steps: 1, BytesAcrossNodes: 8})
	if got := heard.BytesPerNode(); got != 0 {
		t.Errorf("BytesPerNode() = %d with a rank missing, want 0", got)
	}
	heard.Hear(Record{Rank: 1, WorldSize: 2, Node: "worker-1", Steps: 1, BytesAcrossNodes: 6})
	if got := heard.BytesPerNode(); got != 3 {
		t.Errorf("BytesPerNode() = %d after a restart with two ranks, want half of 6", got)
	}
}

func TestTestimonyOfMachines(t *testing.T) {
	var heard Testimony
	for _, r := range recorded(t, "evidence.jsonl") {
		heard.Hear(r)
	}
	want := []fabric.Machine{
		{Name: "worker-0", Counters: []fabric.Counter{{Device: "rdmap0s6", Port: 1, SentBefore: 1000, SentAfter: 6_001_000, ReceivedBefore: 2000, ReceivedAfter: 6_002_000}}},
		{Name: "worker-1", Counters: []fabric.Counter{{Device: "rdmap0s6", Port: 1, Problem: "its counters cannot be read"}}},
	}
	if diff := cmp.Diff(want, heard.Machines()); diff != "" {
		t.Errorf("Machines() (-want +got):\n%s", diff)
	}
}
