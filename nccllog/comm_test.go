package nccllog_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/trainyard/trainyard/nccllog"
)

// state tells how far a communicator has come.
func state(c *nccllog.Comm) string {
	s := ""
	for _, step := range []struct {
		fact nccllog.Fact
		name string
	}{{c.Started, "started "}, {c.Sized, "sized "}, {c.Completed, "completed "}, {c.Done, "done "}} {
		if step.fact.Seen() {
			s += step.name
		}
	}
	return s
}

// TestComms has the lines of all versions of NCCL since 2.4, and RCCL's.
func TestComms(t *testing.T) {
	type comm = nccllog.Comm
	world := comm{Ptr: 0x7f, ID: "0xc0ffee", Rank: 3, NRanks: 8}
	split := comm{Ptr: 0x7f, Rank: 3, NRanks: 4, Parent: 0x6f, Color: -5}
	counted := split
	counted.Child = 2
	tests := []struct {
		versions, line string
		want           comm
		state          string
	}{
		{"2.4", "comm 0x7f rank 3 nranks 8 cudaDev 3 nvmlDev 3 - Init COMPLETE", comm{Ptr: 0x7f, Rank: 3, NRanks: 8}, "completed "},
		{"2.5 to 2.15", "comm 0x7f rank 3 nranks 8 cudaDev 3 busId a01d0 - Init COMPLETE", comm{Ptr: 0x7f, Rank: 3, NRanks: 8}, "completed "},
		{"2.16 to 2.18.1", "comm 0x7f rank 3 nranks 8 cudaDev 3 busId a01d0 commId 0xc0ffee - Init COMPLETE", world, "completed "},
		{"2.18.3 to 2.20", "comm 0x7f rank 3 nranks 8 cudaDev 3 nvmlDev 3 busId a01d0 commId 0xc0ffee - Init START", world, "started "},
		{"2.21 to 2.28", "ncclCommInitRank comm 0x7f rank 3 nranks 8 cudaDev 3 nvmlDev 3 busId a01d0 commId 0xc0ffee - Init START", world, "started "},
		{"2.23", "ncclCommInitRankScalable comm 0x7f rank 3 nranks 8 cudaDev 3 nvmlDev 3 busId a01d0 commId 0xc0ffee - Init COMPLETE", world, "completed "},
		{"2.29", "[Rank 3] ncclCommInitRankConfig comm 0x7f rank 3 nranks 8 cudaDev 3 nvmlDev 3 busId a01d0 commId 0xc0ffee - Init START", world, "started "},
		{"2.21, 2.22 split", "ncclCommSplit comm 0x7f rank 3 nranks 4 cudaDev 3 nvmlDev 3 busId a01d0 parent 0x6f color -5 key 1 commId 0xc0ffee - Init START", comm{Ptr: 0x7f, ID: "0xc0ffee", Rank: 3, NRanks: 4, Parent: 0x6f, Color: -5}, "started "},
		{"2.23 split", "ncclCommSplit comm 0x7f rank 3 nranks 4 cudaDev 3 nvmlDev 3 busId a01d0 parent 0x6f color -5 key -1- Init START", split, "started "},
		{"2.23 split", "ncclCommSplit comm 0x7f rank 3 nranks 4 cudaDev 3 nvmlDev 3 busId a01d0 parent 0x6f color -5 key 1 - Init COMPLETE", split, "completed "},
		{"2.24 to 2.28 split", "ncclCommSplit comm 0x7f rank 3 nranks 4 cudaDev 3 nvmlDev 3 busId a01d0 parent 0x6f splitCount 2 color -5 key 1- Init START", counted, "started "},
		{"2.29 shrink", "ncclCommShrink comm 0x7f rank 3 nranks 4 cudaDev 3 nvmlDev 3 busId a01d0 parent 0x6f childCount 2 color -5 key 1- Init START", counted, "started "},
		{"2.20 to 2.30", "comm 0x7f rank 3 nRanks 8 nNodes 2 localRanks 4 localRank 3 MNNVL 0", comm{Ptr: 0x7f, Rank: 3, NRanks: 8, NNodes: 2, LocalRanks: 4}, "sized "},
		{"MNNVL", "comm 0x7f rank 3 nRanks 8 nNodes 2 localRanks 8 localRank 3 MNNVL 1", comm{Ptr: 0x7f, Rank: 3, NRanks: 8, NNodes: 2, LocalRanks: 8, MNNVL: true}, "sized "},
		{"2.12 end", "comm 0x7f rank 3 nranks 8 cudaDev 3 busId a01d0 - Destroy COMPLETE", comm{Ptr: 0x7f, Rank: 3, NRanks: 8}, "done "},
		{"2.12 end", "comm 0x7f rank 3 nranks 8 cudaDev 3 busId a01d0 - Abort COMPLETE", comm{Ptr: 0x7f, Rank: 3, NRanks: 8}, "done "},
		{"2.28 end", "comm 0x7f rank 3 nRanks 8 cudaDev 3 busId a01d0 - Abort START", comm{Ptr: 0x7f, Rank: 3, NRanks: 8}, "done "},
		{"2.29 revoked, not gone", "comm 0x7f rank 3 nRanks 8 cudaDev 3 busId a01d0 - Revoke COMPLETE, result 0", comm{Ptr: 0x7f, Rank: 3, NRanks: 8}, ""},
		{"RCCL", "comm 0x7f rank 3 nranks 8 cudaDev 3 busId a01d0 localSize 88 used 18944 bytes - Init COMPLETE", comm{Ptr: 0x7f, Rank: 3, NRanks: 8}, "completed "},
		{"RCCL", "comm 0x7f rank 3 nranks 8 cudaDev 3 busId a01d0 used 18944 bytes - Init COMPLETE", comm{Ptr: 0x7f, Rank: 3, NRanks: 8}, "completed "},
		{"RCCL", "ncclCommInitRank comm 0x7f rank 3 nranks 8 cudaDev 3 nvmlDev 3 busId a01d0 commId 0xc0ffee localSize 248 used 57600 bytes on core 33 - Init COMPLETE", world, "completed "},
	}
	ignore := cmpopts.IgnoreFields(comm{}, "Started", "Completed", "Sized", "Done", "Network", "BusID", "Aborted")
	for _, tt := range tests {
		p := one(t, tt.line)
		if len(p.Comms) != 1 {
			t.Errorf("%s: %s: %d communicators", tt.versions, tt.line, len(p.Comms))
			continue
		}
		if diff := cmp.Diff(&tt.want, p.Comms[0], ignore); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", tt.versions, tt.line, diff)
		}
		if got := state(p.Comms[0]); got != tt.state {
			t.Errorf("%s: %s: %q, want %q", tt.versions, tt.line, got, tt.state)
		}
	}
	for _, line := range []string{"comm 0x7f rank 3", "comm 0x7f nranks 8 - Init START", "comm  rank 1 nranks 2", "ncclCommInitRank: x", "comm 0x0 rank 0 nranks 1", "bootstrapSplit: comm 0x7f parent 0x6f rank 0 nranks 2 color 0 key 0 prev 1 next 1 - DONE"} {
		if p := one(t, line); len(p.Comms) != 0 {
			t.Errorf("%s: %+v", line, p.Comms[0])
		}
	}
}

func TestChannels(t *testing.T) {
	tests := []struct {
		versions, line string
		channels, nvls int
	}{
		{"2.7 to 2.16", "8 coll channels, 8 p2p channels, 2 p2p channels per peer", 8, 0},
		{"2.17 to 2.19", "16 coll channels, 12 nvls channels, 32 p2p channels, 32 p2p channels per peer", 16, 12},
		{"2.20", "24 coll channels, 0 collnet channels, 16 nvls channels, 32 p2p channels, 32 p2p channels per peer", 24, 16},
		{"ring order", "Channel 00/08 :    0   1", 8, 0},
		{"ring order, 2.25", "Channel 07/08 : 0 1", 8, 0},
		{"ring order, 2.4", "Channel 01 :    0   1", 2, 0},
	}
	const start = "comm 0x7f rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0x1 - Init START"
	const complete = "comm 0x7f rank 0 nranks 2 cudaDev 0 busId 60 - Init COMPLETE"
	for _, tt := range tests {
		for _, messages := range [][]string{{start, tt.line}, {tt.line, complete}} {
			p := one(t, messages...)
			if c := p.Comms[0]; c.Channels != tt.channels || c.NVLSChannels != tt.nvls || len(p.Edges) > 0 {
				t.Errorf("%s: %s: %d and %d for NVLS", tt.versions, tt.line, c.Channels, c.NVLSChannels)
			}
		}
	}
}

// TestPointerReuse: a pointer means another communicator once its first one is
// gone, which NCCL does not say by default since 2.30.
func TestPointerReuse(t *testing.T) {
	const start = "ncclCommInitRank comm 0x7f rank %d nranks 2 cudaDev 0 nvmlDev 0 busId 10 commId 0x%d - Init START"
	const split = "ncclCommSplit comm 0x7f rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 10 parent 0x6f childCount 1 color 0 key 0"
	tests := []struct {
		name     string
		messages []string
		want     []string
	}{
		{"destroyed", []string{"Using network Socket", fmt.Sprintf(start, 0, 1), "comm 0x7f rank 0 nranks 2 cudaDev 0 busId 10 - Destroy COMPLETE", "Using network IB", fmt.Sprintf(start, 0, 2)}, []string{"0x1 Socket", "0x2 IB"}},
		{"another id", []string{"Using network Socket", fmt.Sprintf(start, 0, 1), "Using network IB", fmt.Sprintf(start, 0, 2)}, []string{"0x1 Socket", "0x2 IB"}},
		{"another rank", []string{"Using network Socket", fmt.Sprintf(start, 0, 1), "Using network IB", fmt.Sprintf(start, 1, 1)}, []string{"0x1 Socket", "0x1 IB"}},
		{"no id", []string{"Using network Socket", split + "- Init START", split + " - Init COMPLETE", "Using network IB", split + "- Init START"}, []string{" Socket", " IB"}},
		{"the same", []string{"Using network Socket", fmt.Sprintf(start, 0, 1), "Using network Socket", fmt.Sprintf(start, 0, 1)}, []string{"0x1 Socket"}},
	}
	for _, tt := range tests {
		var got []string
		for _, c := range one(t, tt.messages...).Comms {
			got = append(got, c.ID+" "+c.Network.Name)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestSplitNetwork: up to NCCL 2.28 a split communicator says nothing of the
// network, which is its parent's.
func TestSplitNetwork(t *testing.T) {
	p := one(t,
		"Using network Libfabric",
		"ncclCommInitRank comm 0x6f rank 0 nranks 8 cudaDev 0 nvmlDev 0 busId 10 commId 0x1 - Init START",
		"ncclCommSplit comm 0x7f rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 10 parent 0x6f splitCount 1 color 0 key 0- Init START",
	)
	want := value("Libfabric", 1, "Using network Libfabric")
	if diff := cmp.Diff(want, p.Comms[1].Network); diff != "" {
		t.Errorf("network (-want +got):\n%s", diff)
	}
}
