package fabric_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/fabric"
	"github.com/trainyard/trainyard/nccllog"
)

const logs = "../nccllog/testdata"

// read loads the files that match the pattern.
func read(t *testing.T, pattern string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("reading logs: nothing matches %q (%v)", pattern, err)
	}
	all := map[string][]byte{}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(path)] = b
	}
	return all
}

func parse(texts map[string][]byte) []fabric.LogFile {
	var files []fabric.LogFile
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		p := nccllog.NewParser(name)
		p.Write(texts[name])
		p.Close()
		files = append(files, fabric.LogFile{Log: p.Log()})
	}
	return files
}

func judge(texts map[string][]byte, expect fabric.Expectation) fabric.Verdict {
	return fabric.Judge(fabric.Evidence{Expectation: expect, Logs: parse(texts), GPUs: -1})
}

type want struct {
	Verdict   fabric.Outcome
	Transport fabric.Transport
	Cause     fabric.Cause
}

func wanted(v fabric.Verdict) want { return want{v.Verdict, v.Transport, v.Cause} }

// realLogs is what each log shows against an expectation of EFA, written down
// by reading it. also lists what else kept the socket ranks off EFA.
var realLogs = []struct {
	pattern string
	want    want
	also    []fabric.Cause
}{
	{"nccl-2.28.9/bad_iface.*", want{"FAIL", "none", "bootstrap-failed"}, nil},
	{"nccl-2.28.9/nop2p_noshm.*", want{"FAIL", "socket", "plugin-not-found"}, nil},
	{"nccl-2.28.9/nvlink.*", want{"UNKNOWN", "none", "single-node"}, nil},
	{"nccl-2.28.9/ofi_efa_nodevice.*", want{"FAIL", "socket", "no-efa-device"}, nil},
	{"nccl-2.28.9/ofi_missing.*", want{"FAIL", "socket", "plugin-not-found"}, nil},
	{"nccl-2.28.9/ofi_netsocket.*", want{"FAIL", "socket", "net-forced-socket"}, nil},
	{"nccl-2.28.9/ofi_single_node.*", want{"UNKNOWN", "none", "single-node"}, nil},
	{"nccl-2.28.9/ofi_tcp.*", want{"FAIL", "libfabric-tcp", "provider-not-efa"}, nil},
	{"nccl-2.28.9/shm.*", want{"UNKNOWN", "none", "single-node"}, nil},
	{"nccl-2.28.9/socket_forced.*", want{"FAIL", "socket", "net-forced-socket"}, []fabric.Cause{"plugin-not-found"}},
	{"nccl-2.28.9/socket_fsdp.*", want{"FAIL", "socket", "plugin-disabled"}, nil},
	{"nccl-2.28.9/stamps.*", want{"FAIL", "socket", "plugin-not-found"}, nil},
	{"nccl-2.28.9/subsys_net.*", want{"FAIL", "socket", "plugin-not-found"}, nil},
	{"nccl-2.28.9/version_only.*", want{"UNKNOWN", "unknown", "nccl-debug-too-low"}, nil},
	{"nccl-2.28.9-comms/alltoall.*", want{"FAIL", "socket", "plugin-not-found"}, nil},
	{"nccl-2.28.9-comms/groups.*", want{"FAIL", "socket", "plugin-not-found"}, nil},
	{"nccl-2.28.9-comms/groups_eager.*", want{"FAIL", "socket", "plugin-not-found"}, nil},
	{"nccl-2.28.9-comms/mesh.*", want{"FAIL", "socket", "plugin-not-found"}, nil},
	{"nccl-2.28.9-comms/mesh_eager.*", want{"FAIL", "socket", "plugin-not-found"}, nil},
	{"nccl-2.28.9-comms/p2p.*", want{"FAIL", "socket", "plugin-not-found"}, nil},
	{"nccl-2.28.9-comms/p2p_eager.*", want{"FAIL", "socket", "plugin-not-found"}, nil},
	{"nccl-2.28.9-comms/restart.*", want{"FAIL", "socket", "plugin-not-found"}, nil},
	{"nccl-2.28.9-comms/world_then_split_eager.*", want{"FAIL", "socket", "plugin-not-found"}, nil},
	{"nccl-2.29.7/ofi_efa_nodevice.*", want{"FAIL", "socket", "no-efa-device"}, nil},
	{"nccl-2.29.7/ofi_provider_unset.*", want{"FAIL", "libfabric-tcp", "provider-not-efa"}, nil},
	{"nccl-2.29.7/ofi_tcp.*", want{"FAIL", "libfabric-tcp", "provider-not-efa"}, nil},
	{"nccl-2.29.7/plugin_none.*", want{"FAIL", "socket", "plugin-disabled"}, nil},
	{"nccl-2.29.7/socket_forced.*", want{"FAIL", "socket", "net-forced-socket"}, []fabric.Cause{"plugin-not-found"}},
	{"ray-2.58/ray_debug_file/*", want{"FAIL", "libfabric-tcp", "provider-not-efa"}, nil},
	{"ray-2.58/ray_efa_fallback/*", want{"FAIL", "socket", "no-efa-device"}, nil},
	{"ray-2.58/ray_efa_forced/*", want{"FAIL", "none", "requested-net-unavailable"}, []fabric.Cause{"no-efa-device"}},
	{"ray-2.58/ray_mixed/*", want{"FAIL", "mixed", "mixed-networks"}, nil},
	{"ray-2.58/ray_nvlink/*", want{"UNKNOWN", "none", "single-node"}, nil},
	{"ray-2.58/ray_ofi_tcp/*", want{"FAIL", "libfabric-tcp", "provider-not-efa"}, nil},
	{"ray-2.58/ray_socket/*", want{"FAIL", "socket", "net-forced-socket"}, []fabric.Cause{"plugin-disabled"}},
	// Ray's own copies alone, with lines folded: enough to prove sockets, and
	// what the folded lines hid does not change what is proven.
	{"ray-2.58/ray_socket/job-driver*", want{"FAIL", "socket", "plugin-disabled"}, nil},
	{"ray-2.58/ray_ofi_tcp/job-driver*", want{"FAIL", "libfabric-tcp", "provider-not-efa"}, nil},
}

func TestRealLogs(t *testing.T) {
	for _, tt := range realLogs {
		t.Run(tt.pattern, func(t *testing.T) {
			v := judge(read(t, filepath.Join(logs, tt.pattern)), fabric.EFA)
			if diff := cmp.Diff(tt.want, wanted(v)); diff != "" {
				t.Errorf("verdict (-want +got):\n%s\n%s", diff, show(v))
			}
			for _, p := range v.Processes {
				if p.Rank >= 0 && len(tt.also) > 0 && !slices.Equal(p.Causes[1:], tt.also) {
					t.Errorf("rank %d: causes %v, want %v after the first", p.Rank, p.Causes, tt.also)
				}
			}
			if v.Verdict == fabric.Fail && len(v.Evidence) < 1 {
				t.Errorf("FAIL without a quoted line")
			}
		})
	}
}

// TestRealLogsAsSocket: the same logs judged as the slow arm of a comparison.
func TestRealLogsAsSocket(t *testing.T) {
	for _, tt := range realLogs {
		v := judge(read(t, filepath.Join(logs, tt.pattern)), fabric.Socket)
		want := tt.want
		switch {
		case strings.Contains(tt.pattern, "ray_socket/job-driver"):
			want.Verdict, want.Transport, want.Cause = "UNKNOWN", "unknown", "log-deduplicated"
		case want.Transport == "socket":
			want.Verdict, want.Cause = "PASS", ""
		}
		if diff := cmp.Diff(want, wanted(v)); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%s", tt.pattern, diff, show(v))
		}
	}
}

// TestAnyNeverBlocks: with an expectation of any the verdict says what was seen.
func TestAnyNeverBlocks(t *testing.T) {
	for _, tt := range realLogs {
		v := judge(read(t, filepath.Join(logs, tt.pattern)), fabric.Any)
		if v.Blocks() {
			t.Errorf("%s: %s blocks", tt.pattern, v.Verdict)
		}
		if v.Transport != tt.want.Transport && v.Cause != fabric.LogsDeduplicated {
			t.Errorf("%s: transport %s, want %s", tt.pattern, v.Transport, tt.want.Transport)
		}
	}
}

func TestHealthy(t *testing.T) {
	tests := []struct {
		job    string
		expect fabric.Expectation
		want   want
	}{
		{"efa-gdr", "efa", want{"PASS", "efa", ""}},
		{"efa-gdr", "rdma", want{"PASS", "efa", ""}},
		{"efa-gdr", "any", want{"PASS", "efa", ""}},
		{"efa-gdr", "ib", want{"FAIL", "efa", "other-network"}},
		{"efa-gdr", "socket", want{"FAIL", "efa", "other-network"}},
		{"efa-no-gdr", "efa", want{"PASS", "efa", ""}},
		{"ib", "ib", want{"PASS", "ib", ""}},
		{"ib", "rdma", want{"PASS", "ib", ""}},
		{"ib", "efa", want{"FAIL", "ib", "other-network"}},
		{"rails-2x8", "efa", want{"PASS", "efa", ""}},
		{"hsdp", "efa", want{"PASS", "efa", ""}},
		{"hsdp", "ib", want{"FAIL", "efa", "other-network"}},
		{"hsdp-one-socket", "efa", want{"FAIL", "mixed", "mixed-networks"}},
		{"pipeline", "efa", want{"PASS", "efa", ""}},
		{"three-way", "rdma", want{"PASS", "efa", ""}},
		{"mnnvl", "rdma", want{"PASS", "mnnvl", ""}},
		{"mnnvl", "efa", want{"UNKNOWN", "mnnvl", "mnnvl-only"}},
		{"restart-recovers", "efa", want{"PASS", "efa", ""}},
	}
	for _, tt := range tests {
		v := judge(read(t, filepath.Join("testdata/synthetic", tt.job, "*")), tt.expect)
		if diff := cmp.Diff(tt.want, wanted(v)); diff != "" {
			t.Errorf("%s as %s (-want +got):\n%s\n%s", tt.job, tt.expect, diff, show(v))
		}
	}
}

func TestEdgeCounts(t *testing.T) {
	v := judge(healthyEFA().texts(), fabric.EFA)
	want := []fabric.EdgeCount{
		{Transport: "efa", Scope: fabric.InterNode, Count: 8, GDR: 8},
		{Transport: "p2p", Scope: fabric.IntraNode, Count: 8},
	}
	if diff := cmp.Diff(want, v.Edges); diff != "" {
		t.Errorf("edges (-want +got):\n%s", diff)
	}
	if want := (fabric.Coverage{Expected: 4, Seen: 4}); v.Ranks != want {
		t.Errorf("ranks %+v, want %+v", v.Ranks, want)
	}
}

// socketJob is a job that fell back, with the lines that tell why.
func socketJob(version string, prelude ...string) job {
	return job{nodes: 2, perNode: 1, channels: 2, version: version, net: "Socket", prelude: prelude}
}

// TestCauses goes through the ways to fall back, in the words of the versions
// that print them. The logs are synthetic.
func TestCauses(t *testing.T) {
	const ib, noIB = "NET/IB : No device found.", "Failed to initialize NET plugin IB"
	const socket = "NET/Socket : Using [0]eth0:10.0.0.1<0>"
	const loaded, unable = "NET/Plugin: Loaded net plugin Libfabric (v10)", "WARN NET/OFI aws-ofi-nccl initialization failed"
	tests := []struct {
		name   string
		job    job
		expect fabric.Expectation
		cause  fabric.Cause
	}{
		{"2.10 not found", socketJob("2.10.3", "NET/Plugin : No plugin found (libnccl-net.so), using internal implementation", ib, socket), "efa", "plugin-not-found"},
		{"2.10 names itself", socketJob("2.10.3", "NET/Plugin : Plugin load returned 0 : libnccl-net.so: cannot open shared object file: No such file or directory.", ib, socket), "efa", "plugin-not-found"},
		{"2.19 dependency in dlerror", socketJob("2.19.3", "NET/Plugin : dlerror=libcudart.so.12: cannot open shared object file: No such file or directory No plugin found (libnccl-net.so), using internal implementation", ib, socket), "efa", "plugin-load-failed"},
		{"2.26 not found", socketJob("2.26.2", "NET/Plugin: Could not find:libnccl-net.so. Using internal net plugin.", ib, socket), "efa", "plugin-not-found"},
		{"2.27 dependency", socketJob("2.27.3", "NET/Plugin: libfabric.so.1: cannot open shared object file: No such file or directory", ib, socket), "efa", "plugin-load-failed"},
		{"2.28 dependency", socketJob("2.28.9", "NET/Plugin: libnccl-net.so: libfabric.so.1: cannot open shared object file: No such file or directory", ib, noIB, socket), "efa", "plugin-load-failed"},
		{"glibc", socketJob("2.28.9", "NET/Plugin: libnccl-net.so: /lib64/libc.so.6: version `GLIBC_2.34' not found (required by /opt/libnccl-net.so)", ib, noIB, socket), "efa", "plugin-load-failed"},
		{"2.25 too old", socketJob("2.25.1", "NET/Plugin: Failed to find ncclNetPlugin symbol (>= v5). ncclNetPlugin symbols v4 and lower are not supported.", ib, socket), "efa", "plugin-too-old"},
		{"2.27 too old", socketJob("2.27.3", "NET/Plugin: Failed to find ncclNetPlugin_v10 symbol.", "NET/Plugin: Failed to find ncclNetPlugin_v6 symbol.", ib, socket), "efa", "plugin-too-old"},
		{"2.28 too old", socketJob("2.28.9", "External network plugin libnccl-net.so is unsupported", ib, noIB, socket), "efa", "plugin-too-old"},
		{"disabled before 2.28", socketJob("2.27.3", "NET/Plugin: Could not find: none libnccl-net-none.so. ", ib, socket), "efa", "plugin-disabled"},
		{"disabled by the empty string", socketJob("2.28.9", "NCCL_NET_PLUGIN set by environment to ", ib, noIB, socket), "efa", "plugin-disabled"},
		{"no device, plugin 1.9", socketJob("2.27.3", loaded, "WARN NET/OFI OFI fi_getinfo() call failed: No data available", unable, ib, socket), "efa", "no-efa-device"},
		{"no device, plugin 1.8", socketJob("2.18.3", "WARN NET/OFI Couldn't find any optimal provider", unable, ib, socket), "efa", "no-efa-device"},
		{"no GDR", socketJob("2.27.3", loaded, "WARN NET/OFI GDR disabled on GDR-supported instance type p5.48xlarge", unable, ib, socket), "efa", "libfabric-without-cuda"},
		{"no memory", socketJob("2.27.3", loaded, "WARN NET/OFI Couldn't open a fabric access domain. RC: -12, ERROR: Cannot allocate memory", unable, ib, socket), "efa", "locked-memory"},
		{"other failure", socketJob("2.27.3", loaded, "WARN NET/OFI Couldn't open a fabric access domain. RC: -22, ERROR: Invalid argument", unable, ib, socket), "efa", "plugin-init-failed"},
		{"forced, 2.27", socketJob("2.27.3", append(efa("RDMA", 4)[:9:9], socket)...), "efa", "net-forced-socket"},
		{"forced, 2.29", socketJob("2.29.7", loaded, socket, ib), "efa", "net-forced-socket"},
		{"forced, said so", socketJob("2.29.7", "Comm config netName reset to NCCL_NET=Socket", loaded, socket), "efa", "net-forced-socket"},
		{"says nothing", socketJob("2.27.3", ib, socket), "efa", "unexplained-fallback"},
		{"no IB device", socketJob("2.29.7", "NET/Plugin: Could not find: libnccl-net.so", ib, noIB, socket), "ib", "no-ib-device"},
		{"IB disabled", socketJob("2.29.7", "NET/Plugin: Could not find: libnccl-net.so", "NCCL_IB_DISABLE set by environment to 1.", socket), "ib", "ib-disabled"},
		{"verbs", job{nodes: 2, perNode: 1, channels: 2, version: "2.27.3", net: "AWS Libfabric", prelude: []string{"NET/OFI Selected Provider is verbs;ofi_rxm (found 2 nics)"}}, "efa", "provider-not-efa"},
		{"other plugin", job{nodes: 2, perNode: 1, channels: 2, version: "2.27.3", net: "FasTrak"}, "efa", "other-network"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := judge(tt.job.texts(), tt.expect)
			if v.Verdict != fabric.Fail || v.Cause != tt.cause {
				t.Errorf("%s %s, want FAIL %s\n%s", v.Verdict, v.Cause, tt.cause, show(v))
			}
		})
	}
}

// TestTraps: what looks like a network and is not.
func TestTraps(t *testing.T) {
	efa := healthyEFA()
	tests := []struct {
		name   string
		change func(line string) string
		want   want
	}{
		{"no provider line", without("Selected provider"), want{"UNKNOWN", "unknown", "provider-missing"}},
		{"provider twice", twice("Selected provider"), want{"PASS", "efa", ""}},
		{"layered provider", replace("provider is efa,", "provider is efa;ofi_rxr,"), want{"PASS", "efa", ""}},
		{"tcp provider", replace("provider is efa,", "provider is tcp,"), want{"FAIL", "libfabric-tcp", "provider-not-efa"}},
		{"two providers", before("Selected provider", "NET/OFI Selected provider is tcp, fabric is 10.0.0.0/24 (found 1 nics)"), want{"UNKNOWN", "unknown", "provider-missing"}},
		{"IB line without devices", before("Using network", "NET/IB : Using [RO]; OOB eth0:10.0.0.1<0>"), want{"PASS", "efa", ""}},
		{"edges not yet there", without(" via "), want{"UNKNOWN", "unknown", "edges-missing"}},
		{"initialisation filtered", without("comm"), want{"UNKNOWN", "unknown", "nccl-subsys-filtered"}},
		{"half an edge", before("Connected", "Channel 03/0 : 3[1] -> 0[0] [rece"), want{"UNKNOWN", "unknown", "edges-unreadable"}},
		{"old plugin name", replace("Libfabric", "AWS Libfabric"), want{"PASS", "efa", ""}},
		{"warnings only", only("WARN"), want{"UNKNOWN", "unknown", "no-nccl-output"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			texts := efa.texts()
			for name, text := range texts {
				var out []string
				for line := range strings.Lines(string(text)) {
					out = append(out, tt.change(line))
				}
				texts[name] = []byte(strings.Join(out, ""))
			}
			v := judge(texts, fabric.EFA)
			if diff := cmp.Diff(tt.want, wanted(v)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, show(v))
			}
		})
	}
}

func without(part string) func(string) string {
	return func(line string) string {
		if strings.Contains(line, part) {
			return ""
		}
		return line
	}
}

func only(part string) func(string) string {
	return func(line string) string {
		if !strings.Contains(line, part) {
			return ""
		}
		return line
	}
}

func twice(part string) func(string) string {
	return func(line string) string {
		if strings.Contains(line, part) {
			return line + line
		}
		return line
	}
}

func replace(from, to string) func(string) string {
	return func(line string) string { return strings.ReplaceAll(line, from, to) }
}

// before puts a message of the same process before lines with the part.
func before(part, message string) func(string) string {
	return func(line string) string {
		if prefix, _, ok := strings.Cut(line, "NCCL INFO "); ok && strings.Contains(line, part) {
			return prefix + "NCCL INFO " + message + "\n" + line
		}
		return line
	}
}

func TestFacts(t *testing.T) {
	efaLogs := func() []fabric.LogFile { return parse(healthyEFA().texts()) }
	cut := efaLogs()
	cut[2].Truncated = true
	tests := []struct {
		name string
		ev   fabric.Evidence
		want want
	}{
		{"no GPU", fabric.Evidence{GPUs: 0}, want{"UNKNOWN", "none", "no-gpu"}},
		{"one rank without output", fabric.Evidence{GPUs: 1, Ranks: 1}, want{"UNKNOWN", "none", "single-node"}},
		{"one rank on a CPU", fabric.Evidence{GPUs: 0, Ranks: 1}, want{"UNKNOWN", "none", "no-gpu"}},
		{"one rank of several", fabric.Evidence{GPUs: 8, Ranks: 1, Logs: efaLogs()}, want{"PASS", "efa", ""}},
		{"no output", fabric.Evidence{GPUs: 8}, want{"UNKNOWN", "unknown", "no-nccl-output"}},
		{"a log that is not there", fabric.Evidence{GPUs: 8, Logs: []fabric.LogFile{{Node: "a"}}}, want{"UNKNOWN", "unknown", "no-nccl-output"}},
		{"GPUs not known", fabric.Evidence{GPUs: -1}, want{"UNKNOWN", "unknown", "no-nccl-output"}},
		{"more ranks than seen", fabric.Evidence{GPUs: -1, Ranks: 8, Logs: efaLogs()}, want{"UNKNOWN", "unknown", "ranks-missing"}},
		{"a rank's log is missing", fabric.Evidence{GPUs: -1, Logs: efaLogs()[:3]}, want{"UNKNOWN", "unknown", "ranks-missing"}},
		{"cut off", fabric.Evidence{GPUs: -1, Logs: cut}, want{"UNKNOWN", "unknown", "log-truncated"}},
		{"whole", fabric.Evidence{GPUs: -1, Ranks: 4, Nodes: 2, Logs: efaLogs()}, want{"PASS", "efa", ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.ev.Expectation = fabric.EFA
			v := fabric.Judge(tt.ev)
			if diff := cmp.Diff(tt.want, wanted(v)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, show(v))
			}
		})
	}
}

// TestOneRankFellBack: three ranks on EFA and one that found no device.
func TestOneRankFellBack(t *testing.T) {
	texts := healthyEFA().texts()
	odd := healthyEFA()
	odd.net, odd.suffix = "Socket", ""
	odd.prelude = []string{
		"NET/Plugin: Loaded net plugin Libfabric (v11)", "NET/OFI No eligible providers were found",
		"WARN NET/OFI aws-ofi-nccl initialization failed", "NET/IB : No device found.", "NET/Socket : Using [0]eth0:10.0.0.2<0>",
	}
	texts["rank3.log"] = odd.log(3)
	v := judge(texts, fabric.EFA)
	if diff := cmp.Diff(want{"FAIL", "mixed", "mixed-networks"}, wanted(v)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(v.Summary, "rank 3 on node1 over TCP sockets") {
		t.Errorf("summary does not name the rank: %s", v.Summary)
	}
	if got := v.Processes[3].Causes; !slices.Equal(got, []fabric.Cause{fabric.NoEFADevice}) {
		t.Errorf("causes of rank 3: %v", got)
	}
}

// TestSecondCommunicator: a rank's groups are judged each. One within a node
// changes nothing; one that spans nodes and shows no edge is not proven.
func TestSecondCommunicator(t *testing.T) {
	for _, tt := range []struct {
		nodes int
		want  want
	}{
		{1, want{"PASS", "efa", ""}},
		{2, want{"UNKNOWN", "unknown", "edges-missing"}},
	} {
		texts := healthyEFA().texts()
		for rank := range 4 {
			text := texts[fmt.Sprintf("rank%d.log", rank)]
			prefix, _, _ := strings.Cut(string(text), "Bootstrap")
			comm, group := fmt.Sprintf("comm 0x%x rank %d", 0xb000+rank, rank%2), rank/2
			texts[fmt.Sprintf("rank%d.log", rank)] = append(text, fmt.Sprintf(
				"%[1]sUsing network Libfabric\n"+
					"%[1]sncclCommSplit %[2]s nranks 2 cudaDev 0 nvmlDev 0 busId 10 parent 0x%[4]x childCount 0 color %[3]d key 1- Init START\n"+
					"%[1]s%[2]s nRanks 2 nNodes %[5]d localRanks 2 localRank 0 MNNVL 0\n"+
					"%[1]sncclCommSplit %[2]s nranks 2 cudaDev 0 nvmlDev 0 busId 10 parent 0x%[4]x childCount 0 color %[3]d key 1 - Init COMPLETE\n",
				prefix, comm, group, 0xa000+rank, tt.nodes)...)
		}
		v := judge(texts, fabric.EFA)
		if diff := cmp.Diff(tt.want, wanted(v)); diff != "" {
			t.Errorf("second group on %d nodes (-want +got):\n%s\n%s", tt.nodes, diff, show(v))
		}
		var ids []string
		for _, c := range v.Communicators {
			ids = append(ids, c.ID)
		}
		slices.Sort(ids)
		if diff := cmp.Diff([]string{"0xfeed", "0xfeed/split0/color0", "0xfeed/split0/color1"}, ids); diff != "" {
			t.Errorf("communicators (-want +got):\n%s", diff)
		}
	}
}

// TestMixedStorm judges the first 100 lines and a flood of equal errors, which
// a hanging job printed 750,000 times in 40 seconds.
func TestMixedStorm(t *testing.T) {
	texts := read(t, filepath.Join(logs, "ray-2.58/ray_mixed/*.out"))
	p := nccllog.NewParser("worker-4103df56-7375.out")
	p.Write(texts["worker-4103df56-7375.out"])
	before := fmt.Sprintf("%+v", p.Log().Processes[0].Comms[0])
	for i := range 200_000 {
		fmt.Fprintf(p, "vm:7375:7820 [1] NCCL INFO socketFinalizeAccept: didn't receive a valid magic from 192.0.2.2<%d>\n", 1024+i%60000)
	}
	p.Close()
	proc := p.Log().Processes[0]
	if got := fmt.Sprintf("%+v", proc.Comms[0]); got != before {
		t.Errorf("the flood changed the communicator: %s", got)
	}
	if n := len(proc.Events); n != 1 || proc.Events[0].Count < 200_000 {
		t.Errorf("%d events: %+v", n, proc.Events)
	}
	files := append(parse(map[string][]byte{"r0": texts["worker-bf161a49-7376.out"]}), fabric.LogFile{Log: p.Log(), Truncated: true})
	v := fabric.Judge(fabric.Evidence{Expectation: fabric.EFA, Logs: files, GPUs: -1})
	if diff := cmp.Diff(want{"FAIL", "mixed", "mixed-networks"}, wanted(v)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseExpectation(t *testing.T) {
	for _, e := range fabric.Expectations() {
		if got, err := fabric.ParseExpectation(strings.ToUpper(string(e))); err != nil || got != e {
			t.Errorf("ParseExpectation(%q) = %q, %v", e, got, err)
		}
	}
	_, err := fabric.ParseExpectation("eff")
	if want := `parsing expected network "eff": must be one of efa, rdma, ib, socket, any`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestJSON holds the names of the fields: other programs read them.
func TestJSON(t *testing.T) {
	b, err := json.Marshal(fabric.Judge(fabric.Evidence{GPUs: 0}))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"version":1,"verdict":"UNKNOWN","expectation":"any","transport":"none","cause":"no-gpu",` +
		`"summary":"no GPU here, so NCCL carried nothing: nothing to prove","remedy":"run on machines with GPUs to prove a network",` +
		`"ranks":{"expected":0,"seen":0},"processes":[],"communicators":[],"edges":[],"evidence":[],"warnings":[],"attempts":[],"reasoning":[` +
		`{"kind":"given","text":"no network is demanded","evidence":[]},` +
		`{"kind":"given","text":"the cluster says: 0 GPUs","evidence":[]},` +
		`{"kind":"seen","text":"0 files with 0 lines, 0 of them NCCL's, from 0 processes","evidence":[]},` +
		`{"kind":"concluded","text":"UNKNOWN: no edge between nodes, so nothing is proven of the network","evidence":[]},` +
		`{"kind":"concluded","text":"UNKNOWN: no GPU here, so NCCL carried nothing: nothing to prove","evidence":[]}]}`
	if diff := cmp.Diff(want, string(b)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestEveryCauseIsExplained: a verdict never names a cause without a remedy.
func TestEveryCauseIsExplained(t *testing.T) {
	seen := map[fabric.Cause]bool{}
	for _, info := range fabric.Causes() {
		if info.Why == "" || info.Remedy == "" || info.Looks == "" || info.About == "" || info.Fix == "" || seen[info.Cause] {
			t.Errorf("%q: %+v", info.Cause, info)
		}
		seen[info.Cause] = true
	}
	for _, tt := range realLogs {
		if !seen[tt.want.Cause] {
			t.Errorf("%s is not explained", tt.want.Cause)
		}
	}
}

func show(v fabric.Verdict) string {
	b, _ := json.MarshalIndent(v, "", " ")
	return string(b)
}

// TestCausesAreListed: every constant of type Cause is in [fabric.Causes].
func TestCausesAreListed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "cause.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			names = append(names, strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`))
		}
		return true
	})
	var listed []string
	for _, info := range fabric.Causes() {
		listed = append(listed, string(info.Cause))
	}
	slices.Sort(names)
	slices.Sort(listed)
	if diff := cmp.Diff(names, listed); diff != "" {
		t.Errorf("(-constants +listed):\n%s", diff)
	}
}

// TestTornRank: a rank beyond the communicator's size is from a torn line.
func TestTornRank(t *testing.T) {
	s := one(2, 1, 2, "rings")
	s.groups[0].mnnvl = true // edges that have one end
	texts := s.texts()
	for name, text := range texts {
		texts[name] = []byte(strings.NewReplacer("rank 1 n", "rank 91 n", " 1[0]", " 91[0]").Replace(string(text)))
	}
	if v := judge(texts, fabric.EFA); v.Verdict != fabric.Unknown {
		t.Errorf("%s\n%s", v.Verdict, show(v))
	}
}
