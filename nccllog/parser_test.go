package nccllog_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/trainyard/trainyard/nccllog"
)

func parse(pieces ...string) *nccllog.Log {
	p := nccllog.NewParser("test.log")
	for _, piece := range pieces {
		p.Write([]byte(piece))
	}
	p.Close()
	return p.Log()
}

// one parses messages of a single process.
func one(t *testing.T, messages ...string) *nccllog.Process {
	t.Helper()
	var b strings.Builder
	for _, m := range messages {
		b.WriteString("h:1:2 [0] NCCL INFO " + m + "\n")
	}
	log := parse(b.String())
	if len(log.Processes) != 1 {
		t.Fatalf("%d processes", len(log.Processes))
	}
	return log.Processes[0]
}

func load(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPrefixes(t *testing.T) {
	const msg = "Using network Socket"
	tests := []struct {
		name, line string
		host       string
		pid        int
	}{
		{"plain", "vm:599:600 [0] NCCL INFO " + msg, "vm", 599},
		{"time stamp", "[2026-11-29 20:55:48] vm:2363:2363 [0] NCCL INFO " + msg, "vm", 2363},
		{"time stamp of another form", "20:55:48.123 vm:2363:2363 [0] NCCL INFO " + msg, "vm", 2363},
		{"file and line", "vm:1324:1324 [0] bootstrap.cc:114 NCCL WARN " + msg, "vm", 1324},
		{"function with blanks", "[2026-11-29 21:14:44] vm:9460:9460 [0] int nccl_net_ofi_create_plugin(nccl_net_ofi_plugin_t**):294 NCCL WARN " + msg, "vm", 9460},
		{"file, line and function", "vm:7:7 [3] net.cc:12 (init) NCCL WARN " + msg, "vm", 7},
		{"ray", "(RayTrainWorker pid=3360) vm:3360:3706 [0] NCCL INFO " + msg, "vm", 3360},
		{"ray in colour", "\x1b[36m(RayTrainWorker pid=3360, ip=10.0.0.7)\x1b[0m vm:3360:3706 [0] NCCL INFO " + msg, "vm", 3360},
		{"ray with parentheses in the name", "(Actor(index=2) pid=5, ip=10.0.0.7) vm:5:6 [0] NCCL INFO " + msg, "vm", 5},
		{"mpirun", "[1,30]<stdout>:host:27:569 [6] NCCL INFO " + msg, "host", 27},
		{"torchrun", "[default3]:host:27:569 [6] NCCL INFO " + msg, "host", 27},
		{"srun", "3: host:27:569 [6] NCCL INFO " + msg, "host", 27},
		{"kubectl", "[pod/train-0/worker] train-0:27:569 [6] NCCL INFO " + msg, "train-0", 27},
		{"behind a progress bar", " 12%|##   | 3/25\rvm:1:1 [0] NCCL INFO " + msg, "vm", 1},
		{"windows line end", "vm:1:1 [0] NCCL INFO " + msg + "\r", "vm", 1},
		{"no device", "vm:1:1 NCCL INFO " + msg, "vm", 1},
		{"no host", "[0] NCCL INFO " + msg, "", 0},
		{"ray without host", "(RayTrainWorker pid=3360) [0] NCCL INFO " + msg, "", 3360},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			log := parse(tt.line + "\n")
			if len(log.Processes) != 1 {
				t.Fatalf("%d processes", len(log.Processes))
			}
			p := log.Processes[0]
			if p.Host != tt.host || p.PID != tt.pid {
				t.Errorf("process %s:%d, want %s:%d", p.Host, p.PID, tt.host, tt.pid)
			}
			if len(p.Networks) != 1 || p.Networks[0].Name != "Socket" {
				t.Errorf("networks %+v", p.Networks)
			}
		})
	}
}

func TestRealProcess(t *testing.T) {
	log := parse(string(load(t, "nccl-2.28.9/ofi_tcp.rank0.log")))
	if len(log.Processes) != 1 {
		t.Fatalf("%d processes", len(log.Processes))
	}
	p := log.Processes[0]
	want := &nccllog.Process{
		Host: "vm", PID: 9354, Info: 69, Warn: 1, First: 1, Last: 79,
		Starts:    []nccllog.Fact{fact(2, "Bootstrap: Using eth0:192.0.2.2<0>")},
		Version:   nccllog.Version{Major: 2, Minor: 28, Patch: 9, Fact: fact(4, "NCCL version 2.28.9+cuda13.0")},
		Bootstrap: nccllog.Interface{Name: "eth0", Address: "192.0.2.2", Fact: fact(2, "Bootstrap: Using eth0:192.0.2.2<0>")},
		Env: []nccllog.Setting{
			{Name: "NCCL_NET_PLUGIN", Value: "ofi", Fact: fact(6, "NCCL_NET_PLUGIN set by environment to ofi")},
			{Name: "NCCL_HOSTID", Value: "host0", Fact: fact(31, "NCCL_HOSTID set by environment to host0")},
			{Name: "NCCL_NVLS_ENABLE", Value: "0", Fact: fact(37, "NCCL_NVLS_ENABLE set by environment to 0.")},
			{Name: "NCCL_PROTO", Value: "simple", Fact: fact(51, "NCCL_PROTO set by environment to simple")},
		},
		Providers: []nccllog.Provider{{
			Name: "tcp", Fabric: "192.0.2.0/24", NICs: 1,
			Fact: fact(15, "NET/OFI Selected provider is tcp, fabric is 192.0.2.0/24 (found 1 nics)"),
		}},
		OFIVersion: value("1.19.0", 10, "NET/OFI Initializing aws-ofi-nccl 1.19.0"),
		Libfabric:  value("2.4", 11, "NET/OFI Using Libfabric version 2.4"),
		Platform:   value("Default", 13, "NET/OFI Plugin selected platform: Default"),
		Protocol:   value("SENDRECV", 16, "NET/OFI Using transport protocol SENDRECV"),
		NoGDR:      []nccllog.Fact{fact(20, "NET/OFI Need to force simple protocol: GDR not supported")},
		Networks:   []nccllog.Value{value("Libfabric", 28, "Using network Libfabric")},
	}
	ignore := cmpopts.IgnoreFields(nccllog.Process{}, "Unclaimed", "Steps", "Comms", "Edges", "Connected", "Events")
	if diff := cmp.Diff(want, p, ignore); diff != "" {
		t.Errorf("process (-want +got):\n%s", diff)
	}
	var steps []string
	for _, s := range p.Steps {
		steps = append(steps, strings.TrimSpace(fmt.Sprintf("%d %s %s", s.Line, s.Kind, s.Name)))
	}
	if diff := cmp.Diff([]string{"7 loaded Libfabric", "14 no-provider Libfabric", "22 initialized Libfabric", "27 assigned Libfabric"}, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if n := len(p.Edges); n != 4 {
		t.Errorf("%d edges", n)
	}
	c := p.Comms[0]
	if c.Channels != 2 || c.NNodes != 2 || c.Network.Name != "Libfabric" || !c.Done.Seen() {
		t.Errorf("communicator: %+v", c)
	}
	if len(p.Connected) == 0 || p.Connected[0].Comm != c.Ptr || p.Connected[0].Kind != "rings" {
		t.Errorf("connected: %+v, want the rings of %x", p.Connected, c.Ptr)
	}
}

func fact(line int64, text string) nccllog.Fact { return nccllog.Fact{Line: line, Text: text} }

func value(name string, line int64, text string) nccllog.Value {
	return nccllog.Value{Name: name, Fact: fact(line, text)}
}

// TestRunTogether: the output of two processes without a line end between.
func TestRunTogether(t *testing.T) {
	log := parse("a:1:1 [0] NCCL INFO Bootstrap timings b:2:2 [1] NCCL INFO Using network IB\n",
		"a:1:1 [0] NCCL INFO Using network Socket[2026-11-29 21:14:44] c:3:3 [1] x.cc:1 NCCL WARN trouble\n")
	var got []string
	for _, p := range log.Processes {
		for _, n := range p.Networks {
			got = append(got, fmt.Sprintf("%s:%d %s", p.Host, p.PID, n.Name))
		}
	}
	// Socket may be the half of a name: no blank follows it.
	want := []string{"b:2 IB"}
	if diff := cmp.Diff(want, got); diff != "" || log.Warn != 1 || len(log.Processes) != 3 || log.Unparsed.Count != 1 {
		t.Errorf("%d processes, %d warnings, %d lost, networks (-want +got):\n%s", len(log.Processes), log.Warn, log.Unparsed.Count, diff)
	}
}

func TestRepeated(t *testing.T) {
	log := parse(string(load(t, "ray-2.58/ray_socket/job-driver-ray_socket.log")))
	if log.Repeated.Count != 3 || log.Repeated.First.Line != 69 {
		t.Errorf("repeated: %+v", log.Repeated)
	}
	if len(log.Processes) != 2 {
		t.Fatalf("%d processes", len(log.Processes))
	}
	if a, b := len(log.Processes[0].Edges), len(log.Processes[1].Edges); a != 4 || b != 2 {
		t.Errorf("%d and %d edges, want 4 and 2: half are folded", a, b)
	}
}

func TestLongLine(t *testing.T) {
	long := "h:1:2 [0] NCCL INFO Using network Socket" + strings.Repeat(" ", nccllog.MaxLine)
	text := long + "\n" + strings.Repeat("x", 3*nccllog.MaxLine) + "NCCL\nh:1:2 [0] NCCL INFO Using network IB\n"
	log := parse(text)
	if diff := cmp.Diff(log, parse(text[:5], text[5:nccllog.MaxLine+3], text[nccllog.MaxLine+3:])); diff != "" {
		t.Errorf("in pieces (-whole +pieces):\n%s", diff)
	}
	if log.Cut.Count != 2 || log.Cut.First.Line != 1 || log.Lines != 3 {
		t.Errorf("cut %+v, %d lines", log.Cut, log.Lines)
	}
	if n := len(log.Processes[0].Networks); n != 2 {
		t.Errorf("%d networks", n)
	}
}

// TestUnfinishedLine: a line counts once its end has come, or at Close.
func TestUnfinishedLine(t *testing.T) {
	p := nccllog.NewParser("x")
	p.Write([]byte("h:1:2 [0] NCCL INFO Using network Soc"))
	if n := len(p.Log().Processes); n != 0 {
		t.Errorf("%d processes from half a line", n)
	}
	p.Write([]byte("ket"))
	p.Close()
	if got := p.Log().Processes[0].Networks[0]; got.Name != "Socket" || got.Line != 1 {
		t.Errorf("network %+v", got)
	}
}

// TestConstantMemory: a log that repeats itself grows the counts and nothing else.
func TestConstantMemory(t *testing.T) {
	text := load(t, "nccl-2.28.9/ofi_efa_nodevice.rank0.log")
	text = bytes.ReplaceAll(text, []byte("Destroy COMPLETE"), []byte("Destroy"))
	p := nccllog.NewParser("x")
	p.Write(text)
	size := func() [4]int {
		proc := p.Log().Processes[0]
		return [4]int{len(proc.Edges), len(proc.Events), len(proc.Steps), len(proc.Env)}
	}
	before := size()
	for range 100 {
		p.Write(text)
	}
	if after := size(); after != before {
		t.Errorf("facts grew from %v to %v", before, after)
	}
}

// TestManyProcesses: random prefixes do not fill the memory.
func TestManyProcesses(t *testing.T) {
	p := nccllog.NewParser("x")
	for pid := range 70_000 {
		fmt.Fprintf(p, "h:%d:1 [0] NCCL INFO x\n", pid+1)
	}
	if log := p.Log(); len(log.Processes) != 1<<16 || log.Dropped != 70_000-1<<16 {
		t.Errorf("%d processes, %d dropped", len(log.Processes), log.Dropped)
	}
}
