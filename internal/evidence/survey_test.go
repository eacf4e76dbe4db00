package evidence

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/fabric"
)

// Two nodes as train's survey.py prints them, among lines of Ray's.
const surveyOutput = `2026-11-30 11:00:00,000 INFO worker.py:1821 -- Connecting to existing Ray cluster
{"trainyard": 1, "event": "node", "node": "w-0", "host": "w-0", "python": "3.13.5", "driver": "580.159.04", "efa_driver": null, "nics": [], "counters": [{"device": "rdmap0s6", "port": 1, "sent": 10, "received": 20}], "devices": ["/dev/nvidia0"], "fi_info": {"domains": ["rdmap0s6-rdm"]}, "environment": {"FI_PROVIDER": "efa"}}
{"trainyard": 1, "event": "node", "node": "w-1", "problem": "The node died."}
`

func TestParseSurveys(t *testing.T) {
	got, err := ParseSurveys([]byte(surveyOutput))
	if err != nil {
		t.Fatal(err)
	}
	want := []Survey{
		{
			Node: "w-0", Host: "w-0", Driver: "580.159.04", Devices: []string{"/dev/nvidia0"},
			Counters:    []CardReading{{Device: "rdmap0s6", Port: 1, Sent: 10, Received: 20}},
			FiInfo:      FiInfo{Domains: []string{"rdmap0s6-rdm"}},
			Environment: map[string]string{"FI_PROVIDER": "efa"},
		},
		{Node: "w-1", Problem: "The node died."},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := ParseSurveys([]byte(`{"trainyard": 1, "event": "node", "node": 7}`)); err == nil {
		t.Error("a record of another shape was read")
	}
}

func TestGrown(t *testing.T) {
	reading := func(sent uint64) []CardReading { return []CardReading{{Device: "rdmap0s6", Port: 1, Sent: sent}} }
	before := []Survey{{Node: "w-0", Counters: reading(10)}, {Node: "gone", Counters: reading(1)}, {Node: "head"}}
	after := []Survey{{Node: "w-0", Counters: reading(70)}, {Node: "new", Counters: reading(5)}, {Node: "head"}}
	want := []fabric.Machine{
		{Name: "w-0", Counters: []fabric.Counter{{Device: "rdmap0s6", Port: 1, SentBefore: 10, SentAfter: 70}}},
		{Name: "new", Counters: []fabric.Counter{{Device: "rdmap0s6", Port: 1, Problem: "it was not there before the job"}}},
	}
	if diff := cmp.Diff(want, Grown(before, after)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
