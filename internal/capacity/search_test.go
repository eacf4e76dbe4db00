package capacity

import (
	"encoding/json"
	"testing"

	"github.com/trainyard/trainyard/test/awssim/world"
)

func TestSmoke(t *testing.T) {
	l := newLab(t, world.Default())
	found := l.found(t, needOf(t, "g6.12xlarge", 2))
	ranked := Rank(found.Rows(), needOf(t, "g6.12xlarge", 2))
	for _, r := range ranked[:5] {
		data, _ := json.Marshal(r)
		t.Log(string(data))
	}
	for _, c := range l.Calls() {
		if c.Region == "us-east-1" || c.Outcome != "ok" {
			t.Log(c.Service, c.Action, c.Outcome, c.Params)
		}
	}
	a := Advise(ranked, needOf(t, "g6.12xlarge", 2), true)
	data, _ := json.MarshalIndent(a, "", " ")
	t.Log(string(data))
	t.Log(len(l.Calls()), len(found.Rows()))
}
