package workflow

import (
	"testing"

	"github.com/trainyard/trainyard/internal/rayjob"
)

func TestShortage(t *testing.T) {
	gpu := rayjob.Resources{"CPU": 1, "GPU": 1}
	nodes := []rayjob.Node{
		{State: "ALIVE", Resources: rayjob.Resources{"CPU": 0, "memory": 1e9}},
		{State: "ALIVE", Resources: rayjob.Resources{"CPU": 48, "GPU": 4}},
		{State: "DEAD", Resources: rayjob.Resources{"CPU": 48, "GPU": 4}},
	}
	got := shortage([]rayjob.Resources{gpu, {"TPU": 0.5}, gpu}, nodes)
	want := "2 times 1 CPU and 1 GPU, 0.5 TPU wanted, the 2 nodes of Ray have 48 CPU and 4 GPU and 0 TPU in all"
	if got != want {
		t.Errorf("shortage = %s\nwant %s", got, want)
	}
}
