package nccllog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/nccllog"
)

// TestStarts: what a process prints once tells how often NCCL began in it.
func TestStarts(t *testing.T) {
	const boot, version, plugin = "Bootstrap: Using eth0:192.0.2.2<0>", "NCCL version 2.28.9+cuda13.0", "NET/OFI Initializing aws-ofi-nccl 1.17.3"
	for _, tt := range []struct {
		name     string
		messages []string
		want     []int64
	}{
		{"one", []string{boot, version, plugin, "Using network Libfabric"}, []int64{1}},
		{"none", []string{"Using network Libfabric"}, nil},
		{"the version first", []string{version, boot, plugin}, []int64{1}},
		{"two", []string{boot, version, plugin, boot, version, plugin}, []int64{1, 4}},
		{"two without a Bootstrap", []string{version, plugin, version, plugin}, []int64{1, 3}},
		{"the plugin anew", []string{boot, plugin, plugin}, []int64{1, 3}},
	} {
		var got []int64
		for _, f := range one(t, tt.messages...).Starts {
			got = append(got, f.Line)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: begins at %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestProvidersAfterEachStart: the same provider of another life is another fact.
func TestProvidersAfterEachStart(t *testing.T) {
	const boot, provider = "Bootstrap: Using eth0:192.0.2.2<0>", "NET/OFI Selected provider is efa, fabric is efa (found 4 nics)"
	if p := one(t, boot, provider, provider, boot, provider); len(p.Providers) != 2 {
		t.Errorf("%d providers, want one of each start: %+v", len(p.Providers), p.Providers)
	}
}

// TestUnclaimed: a network that was chosen for a communicator of which no line is left.
func TestUnclaimed(t *testing.T) {
	const world, split = "ncclCommInitRank comm 0x7f rank 0 nranks 2 cudaDev 0 busId a0 commId 0x1 - Init START",
		"ncclCommSplit comm 0x8f rank 0 nranks 2 cudaDev 0 busId a0 parent 0x7f splitCount 1 color 1 key 0- Init START"
	for _, tt := range []struct {
		name     string
		messages []string
		want     []string
	}{
		{"claimed", []string{"Using network Libfabric", world, "Using network Socket", split}, nil},
		{"at the end", []string{"Using network Libfabric", world, "Using network Socket"}, []string{"Socket 3"}},
		{"in the middle", []string{"Using network Socket", "Using network Libfabric", world}, []string{"Socket 1"}},
		{"the same twice", []string{"Using network Libfabric", world, "Using network Libfabric"}, []string{"Libfabric 3"}},
	} {
		p := one(t, tt.messages...)
		var got []string
		for _, v := range p.Unclaimed {
			got = append(got, fmt.Sprint(v.Name, " ", v.Line))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	p := one(t, "Using network Libfabric", world, "Using network Socket", split)
	if world, split := p.Comms[0].Network.Name, p.Comms[1].Network.Name; world != "Libfabric" || split != "Socket" {
		t.Errorf("the world uses %q and the split %q", world, split)
	}
}

// TestEnds: a communicator that broke, the GPU, and the last line of repeated facts.
func TestEnds(t *testing.T) {
	p := one(t, "comm 0x7f rank 0 nranks 2 cudaDev 0 busId a01d0 commId 0x1 - Init COMPLETE",
		"Error: network IB not found.", "comm 0x7f rank 0 nranks 2 cudaDev 0 busId a01d0 - Abort COMPLETE",
		"comm 0x8f rank 0 nranks 2 cudaDev 0 busId a01d0 - Destroy COMPLETE", "Error: network IB not found.")
	if a, d := p.Comms[0], p.Comms[1]; !a.Aborted || d.Aborted || !d.Done.Seen() || a.BusID != 0xa01d0 {
		t.Errorf("aborted %+v, destroyed %+v", a, d)
	}
	if s, _ := p.Step(nccllog.StepNone, ""); s.Line != 2 || s.Last != 5 || p.First != 1 || p.Last != 5 {
		t.Errorf("step %+v, process from %d to %d", s, p.First, p.Last)
	}
}

// TestUnreadBy: the process whose line could not be read is known.
func TestUnreadBy(t *testing.T) {
	log := parse(strings.Join([]string{
		"h:1:1 [0] NCCL INFO Using network Socket", "k:2:2 [0] NCCL INFO Channel 00/0 : 1[1] -> 0[0] [rece", "",
	}, "\n"))
	if u := log.Unparsed; u.Count != 1 || u.Host != "k" || u.PID != 2 {
		t.Errorf("unparsed %+v", u)
	}
}
