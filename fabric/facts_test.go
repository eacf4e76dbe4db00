package fabric_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/fabric"
)

// facts is evidence on a healthy job of two nodes with what the cluster says.
func facts(s sim, machines ...fabric.Machine) fabric.Evidence {
	logs := parse(s.texts())
	for i := range logs {
		logs[i].Node = fmt.Sprintf("host%d", i/s.perNode)
	}
	return fabric.Evidence{Expectation: fabric.RDMA, Logs: logs, GPUs: -1, Machines: machines}
}

// machine returns a machine whose only card counted so much.
func machine(name string, sent, received uint64) fabric.Machine {
	return fabric.Machine{Name: name, Counters: []fabric.Counter{{
		Device: "rdmap0s6", Port: 1, SentBefore: 100, SentAfter: 100 + sent, ReceivedBefore: 100, ReceivedAfter: 100 + received,
	}}}
}

func TestCounters(t *testing.T) {
	job := one(2, 2, 4, "rings")
	reset := machine("host1", 0, 0)
	reset.Counters[0].SentAfter = 5
	unreadable := machine("host1", 0, 0)
	unreadable.Counters[0].Problem = "no such file"
	flat := want{"UNKNOWN", "efa", "counters-flat"}
	pass := want{"PASS", "efa", ""}
	for _, tt := range []struct {
		name     string
		sim      sim
		machines []fabric.Machine
		bytes    uint64
		want     want
		warning  string
	}{
		{"grown", job, []fabric.Machine{machine("host0", 9000, 9000), machine("host1", 9000, 9000)}, 0, pass, ""},
		{"flat", job, []fabric.Machine{machine("host0", 9000, 9000), machine("host1", 0, 0)}, 0, flat, ""},
		{"flat where no rank is", job, []fabric.Machine{machine("host7", 0, 0)}, 0, pass, ""},
		{"not read", job, []fabric.Machine{{Name: "host1"}}, 0, pass, ""},
		{"reset", job, []fabric.Machine{reset}, 0, pass, "rdmap0s6 port 1 was reset of host1"},
		{"unreadable", job, []fabric.Machine{unreadable}, 0, pass, "rdmap0s6 port 1: no such file of host1"},
		{"less than needed", job, []fabric.Machine{machine("host1", 9000, 9000)}, 10000, flat, ""},
		{"as much as needed", job, []fabric.Machine{machine("host1", 10000, 0)}, 10000, pass, ""},
		{"sockets", job.on(0, 1, 2, 3), []fabric.Machine{machine("host1", 9000, 9000)}, 0, want{"FAIL", "socket", "plugin-not-found"}, ""},
	} {
		ev := facts(tt.sim, tt.machines...)
		ev.BytesPerNode = tt.bytes
		v := fabric.Judge(ev)
		if diff := cmp.Diff(tt.want, wanted(v)); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%s", tt.name, diff, show(v))
		}
		if got := texts(v.Warnings, ""); !strings.Contains(got, tt.warning) || tt.warning == "" && got != "" {
			t.Errorf("%s: warnings %q, want %q", tt.name, got, tt.warning)
		}
	}
}

// texts joins the warnings of a cause.
func texts(all []fabric.Warning, cause fabric.Cause) string {
	var parts []string
	for _, w := range all {
		if w.Cause == cause {
			parts = append(parts, w.Text)
		}
	}
	return strings.Join(parts, "; ")
}

func TestRails(t *testing.T) {
	on := func(nics int, kind string, lines ...string) func(int) network {
		net := efaNet(nics)
		if kind != "" {
			net.prelude = append(net.prelude, "NET/OFI Running on "+kind+" platform, topology file /opt/"+kind+".xml")
		}
		net.prelude = append(net.prelude, lines...)
		return func(int) network { return net }
	}
	job := one(2, 8, 8, "rings")
	uneven := func(rank int) network { return efaNet(4 - rank%2) }
	groups := []string{
		"NET/OFI NIC group 0 device #0 0000:10:00.0", "NET/OFI NIC group 1 device #0 0000:20:00.0",
		"NET/OFI NIC group 2 device #0 0000:30:00.0", "NET/OFI NIC group 3 device #0 0000:40:00.0",
	}
	for _, tt := range []struct {
		name     string
		net      func(int) network
		machines []fabric.Machine
		want     string
	}{
		{"all", on(4, "p4d.24xlarge"), nil, ""},
		{"of a p5", on(4, "p5.48xlarge"), nil, "4 of 32 network cards on host0, 4 of 32 network cards on host1"},
		{"as the cluster says", on(4, ""), []fabric.Machine{{Name: "host1", InstanceType: "p6-b200.48xlarge"}}, "4 of 8 network cards on host1"},
		{"as the cluster counts", on(4, ""), []fabric.Machine{{Name: "host1", NICs: 5}}, "4 of 5 network cards on host1"},
		{"not known", on(4, "z9.metal"), nil, ""},
		{"uneven", uneven, nil, "ranks on host0 found between 3 and 4 network cards, ranks on host1 found between 3 and 4 network cards"},
		{"groups", on(4, "", groups...), nil, ""},
		{"idle", func(int) network { n := on(4, "", groups...)(0); n.devices = 2; return n }, nil, "channels use 2 of 4 network devices on host0, channels use 2 of 4 network devices on host1"},
	} {
		job.net = tt.net
		v := fabric.Judge(facts(job, tt.machines...))
		if v.Verdict != fabric.Pass {
			t.Errorf("%s: %s %s", tt.name, v.Verdict, v.Summary)
		}
		if got := texts(v.Warnings, fabric.RailsMissing); got != tt.want {
			t.Errorf("%s: warnings %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestGDR(t *testing.T) {
	job := one(2, 2, 4, "rings")
	kind := func(name, suffix string) network {
		net := efaNet(4)
		net.suffix = suffix
		net.prelude = append(net.prelude, "NET/OFI Running on "+name+" platform, topology file /opt/"+name+".xml")
		return net
	}
	for _, tt := range []struct {
		name string
		net  func(rank int) network
		want string
	}{
		{"p4d with", func(int) network { return kind("p4d.24xlarge", "/GDRDMA") }, ""},
		{"p4d without", func(int) network { return kind("p4d.24xlarge", "") }, "8 of 8 edges on host0 do not use GPUDirect RDMA, 8 of 8 edges on host1 do not use GPUDirect RDMA"},
		{"g5 without", func(int) network { return kind("g5.48xlarge", "") }, ""},
		{"a node without", func(rank int) network { return kind("p5.48xlarge", []string{"/GDRDMA", ""}[rank/2]) }, "GPUDirect RDMA is used at one end of edges only: not by rank 2 on host1, rank 3 on host1"},
	} {
		job.net = tt.net
		v := fabric.Judge(facts(job))
		if got := texts(v.Warnings, fabric.GDRMissing); v.Verdict != fabric.Pass || got != tt.want {
			t.Errorf("%s: %s, warnings %q, want %q", tt.name, v.Verdict, got, tt.want)
		}
	}
}

// TestTrouble: errors matter where the network is not proven, and are told of
// where it is.
func TestTrouble(t *testing.T) {
	const mixedCounts = "Detected mixed local Net device counts across ranks (min 1, max 4). Set NCCL_IGNORE_NET_MISMATCH=1 to continue."
	const versions = "Mismatched NCCL version detected : rank 0 version 22809 rank 1 version 22705"
	const unreachable = "NET/OFI Request 0x7f completed with error. RC: 103. Error: 4126 (Unresponsive receiver). Completed length: 0"
	const closed = "socketProgress: Connection closed by remote peer node1<4242>"
	watchdog := `[rank3]:[E1218 20:27:21.426415540 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=BROADCAST, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600081 milliseconds before timing out.`
	const cuda = "node1:101:101 [1] init.cc:1 NCCL WARN Cuda failure 700 'an illegal memory access was encountered'"
	proven, unproven := one(2, 2, 4, "rings"), one(2, 2, 4)
	early := unproven
	early.dies = true
	warn := func(text string) string { return "node1:101:101 [1] init.cc:1 NCCL WARN " + text }
	for _, tt := range []struct {
		name    string
		sim     sim
		line    string
		want    want
		warning fabric.Cause
	}{
		{"device counts differ", early, warn(mixedCounts), want{"FAIL", "unknown", "mixed-networks"}, ""},
		{"device counts differ and it went on", proven, warn(mixedCounts), want{"PASS", "efa", ""}, ""},
		{"versions differ", early, warn(versions), want{"FAIL", "unknown", "version-mismatch"}, ""},
		{"bootstrap", early, warn("socketPollConnect: connect to 10.0.0.1<4242> returned Connection refused, exceeded error retry count after 35 attempts"), want{"FAIL", "none", "bootstrap-failed"}, ""},
		{"unreachable", unproven, warn(unreachable), want{"UNKNOWN", "unknown", "security-group"}, ""},
		{"unreachable later", proven, warn(unreachable), want{"PASS", "efa", ""}, "security-group"},
		{"peer died", unproven, strings.Replace(warn(closed), "init.cc:1 NCCL WARN", "NCCL INFO", 1), want{"UNKNOWN", "unknown", "network-error"}, ""},
		{"hang", unproven, watchdog, want{"UNKNOWN", "unknown", "collective-timeout"}, ""},
		{"slow loader", proven, watchdog, want{"PASS", "efa", ""}, "collective-timeout"},
		{"died of CUDA", proven, cuda, want{"PASS", "efa", ""}, ""},
	} {
		all := tt.sim.texts()
		all["rank003.log"] = fmt.Appendf(all["rank003.log"], "%s\n", tt.line)
		v := judge(all, fabric.EFA)
		if diff := cmp.Diff(tt.want, wanted(v)); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%s", tt.name, diff, show(v))
		}
		if tt.warning != "" && !slices.ContainsFunc(v.Warnings, func(w fabric.Warning) bool { return w.Cause == tt.warning }) {
			t.Errorf("%s: no warning of %s: %+v", tt.name, tt.warning, v.Warnings)
		}
	}
}

// TestNoStart: processes that never had a communicator.
func TestNoStart(t *testing.T) {
	for _, tt := range []struct {
		line  string
		cause fabric.Cause
	}{
		{"NCCL WARN Error: network IB not found.", fabric.RequestedNetUnavailable},
		{"NCCL WARN Failed to initialize any NET plugin", fabric.RequestedNetUnavailable},
		{"NCCL WARN Bootstrap : no socket interface found", fabric.BootstrapFailed},
		{"NCCL WARN NET/Socket : No usable listening interface found", fabric.BootstrapFailed},
	} {
		text := "node0:7:7 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>\nnode0:7:7 [0] init.cc:1 " + tt.line + "\n"
		v := judge(map[string][]byte{"rank0.log": []byte(text)}, fabric.RDMA)
		if diff := cmp.Diff(want{"FAIL", "none", tt.cause}, wanted(v)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.line, diff)
		}
	}
}

// TestMissingRanksAreNamed names the first few.
func TestMissingRanksAreNamed(t *testing.T) {
	all := one(2, 8, 2, "rings").texts()
	for _, rank := range []int{3, 5, 6, 9, 10, 15} {
		delete(all, fmt.Sprintf("rank%03d.log", rank))
	}
	v := judge(all, fabric.EFA)
	if want := "10 of 16 ranks are in the logs: ranks 3, 5, 6, 9 and 2 more of communicator 0xfeed missing"; v.Summary != want {
		t.Errorf("summary %q, want %q", v.Summary, want)
	}
}
