package fabric_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/fabric"
)

// TestHealthySims: jobs whose every edge is there pass.
func TestHealthySims(t *testing.T) {
	for name, s := range sims() {
		t.Run(name, func(t *testing.T) {
			want := want{"PASS", "efa", ""}
			if n := s.network(0).name; n == "IB" || n == "IBext_v8" {
				want.Transport = "ib"
			}
			for form, texts := range map[string]map[string][]byte{"files": s.texts(), "console": merge(s.texts())} {
				if v := judge(texts, fabric.RDMA); wanted(v) != want {
					t.Errorf("%s: %s\n%s", form, cmp.Diff(want, wanted(v)), show(v))
				}
			}
		})
	}
}

// on returns the job with the ranks on sockets.
func (s sim) on(ranks ...int) sim {
	net := s.net
	s.net = func(rank int) network {
		switch {
		case slices.Contains(ranks, rank):
			return socketNet()
		case net != nil:
			return net(rank)
		}
		return efaNet(4)
	}
	return s
}

// TestFallbackInManyCommunicators: whatever groups a job has, the ranks that
// fell back are named.
func TestFallbackInManyCommunicators(t *testing.T) {
	unused := hsdp(2, 2)
	for _, tt := range []struct {
		name  string
		sim   sim
		want  want
		names string
	}{
		{"hsdp, a node", hsdp(2, 2, "rings").on(2, 3), want{"FAIL", "mixed", "mixed-networks"}, "rank 2 on node1, rank 3 on node1 over TCP sockets"},
		{"hsdp, a rank", hsdp(2, 8, "rings").on(13), want{"FAIL", "mixed", "mixed-networks"}, "rank 13 on node1 over TCP sockets"},
		{"hsdp, all", hsdp(2, 2, "rings").on(0, 1, 2, 3), want{"FAIL", "socket", "plugin-not-found"}, "4 of 4 ranks crossed nodes"},
		{"a replicate group", sim{nodes: 2, perNode: 2, version: "2.28.9", groups: unused.groups[1:]}.on(1, 3), want{"FAIL", "mixed", "plugin-not-found"}, "crossed nodes over TCP sockets"},
		{"a stage", pipeline(4, 1).on(2), want{"FAIL", "mixed", "mixed-networks"}, "rank 2 on node2 over TCP sockets"},
		{"stages of no world", sim{nodes: 4, perNode: 1, version: "2.28.9", groups: pipeline(4, 1).groups[1:]}.on(2), want{"FAIL", "mixed", "mixed-networks"}, "on node2 over TCP sockets"},
		{"point to point only", one(4, 1, 2, "p2p").on(0, 1, 2, 3), want{"FAIL", "socket", "plugin-not-found"}, "4 of 4 ranks"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := judge(tt.sim.texts(), fabric.EFA)
			if diff := cmp.Diff(tt.want, wanted(v)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, show(v))
			}
			if !strings.Contains(v.Summary, tt.names) {
				t.Errorf("summary %q lacks %q", v.Summary, tt.names)
			}
		})
	}
}

// TestUnproven: what is missing of one of many communicators, and that the
// others do not make up for it.
func TestUnproven(t *testing.T) {
	lost := func(s sim, rank int, what ...string) map[string][]byte {
		texts := s.texts()
		name := fmt.Sprintf("rank%03d.log", rank)
		var kept []byte
		for line := range bytes.Lines(texts[name]) {
			if !slices.ContainsFunc(what, func(w string) bool { return bytes.Contains(line, []byte(w)) }) {
				kept = append(kept, line...)
			}
		}
		texts[name] = kept
		return texts
	}
	split := sims()["world and split"]
	half := split
	half.groups = []group{split.groups[0], split.groups[1]}
	half.groups[1].does = nil
	for _, tt := range []struct {
		name  string
		texts map[string][]byte
		cause fabric.Cause
	}{
		{"the split of the world's size was not used", half.texts(), "edges-missing"},
		{"hsdp, world not used", hsdp(2, 2).texts(), "edges-missing"},
		{"hsdp, an end of the replicate group", lost(hsdp(2, 2, "rings"), 2, "Channel 00/0 : 1[0] -> 0[0] [send]"), "edges-missing"},
		{"pipeline, an end between stages", lost(pipeline(4, 1), 1, "Channel 01/1"), "edges-missing"},
		{"a tree", lost(one(2, 2, 2, "trees"), 0, "Channel 00/0 : 0[0] -> 2[0]"), "edges-missing"},
		{"heads of NVLink SHARP", lost(one(2, 4, 4, "nvls"), 1, "] via NET"), "edges-missing"},
		{"2.7 without the end of the initialisation", lost(sims()["2.7"], 1, "Init COMPLETE"), "ranks-missing"},
		{"2.7 without its version", lost(sims()["2.7"], 0, "NCCL version"), "edges-missing"},
	} {
		v := judge(tt.texts, fabric.EFA)
		if diff := cmp.Diff(want{"UNKNOWN", "unknown", tt.cause}, wanted(v)); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%s", tt.name, diff, show(v))
		}
	}
}

// mnnvl is a job whose machines are joined by NVLink.
func mnnvl() sim {
	s := one(2, 4, 4, "rings")
	s.groups[0].mnnvl = true
	return s
}

func TestMNNVL(t *testing.T) {
	racks := mnnvl() // two machines of two racks each talk over EFA as well
	racks.groups = append(racks.groups, group{id: "0x5ac", members: []int{0, 4}, channels: 2, does: []string{"rings"}})
	for _, tt := range []struct {
		name   string
		sim    sim
		expect fabric.Expectation
		want   want
	}{
		{"any", mnnvl(), "any", want{"PASS", "mnnvl", ""}},
		{"rdma", mnnvl(), "rdma", want{"PASS", "mnnvl", ""}},
		{"efa", mnnvl(), "efa", want{"UNKNOWN", "mnnvl", "mnnvl-only"}},
		{"ib", mnnvl(), "ib", want{"UNKNOWN", "mnnvl", "mnnvl-only"}},
		{"socket", mnnvl(), "socket", want{"UNKNOWN", "mnnvl", "mnnvl-only"}},
		{"a rank without the plugin", mnnvl().on(3), "rdma", want{"PASS", "mnnvl", ""}}, // which nobody needs
		{"racks, efa", racks, "efa", want{"PASS", "efa", ""}},
		{"racks, rdma", racks, "rdma", want{"PASS", "efa", ""}},
		{"racks, ib", racks, "ib", want{"FAIL", "efa", "other-network"}},
	} {
		v := judge(tt.sim.texts(), tt.expect)
		if diff := cmp.Diff(tt.want, wanted(v)); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%s", tt.name, diff, show(v))
		}
	}
	v := judge(mnnvl().texts(), fabric.RDMA)
	want := []fabric.EdgeCount{{Transport: "mnnvl", Scope: fabric.InterNode, Count: 8}, {Transport: "p2p", Scope: fabric.IntraNode, Count: 24}}
	if diff := cmp.Diff(want, v.Edges); diff != "" {
		t.Errorf("edges (-want +got):\n%s", diff)
	}
}
