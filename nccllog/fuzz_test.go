package nccllog_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/trainyard/trainyard/nccllog"
)

// FuzzSplit: bytes may be cut anywhere; the Log is the same.
func FuzzSplit(f *testing.F) {
	for _, b := range logs(f) {
		f.Add(b, uint(len(b)/2), uint(7))
	}
	for _, text := range []string{
		"h:1:2 [0] NCCL INFO Channel 00/0 : 1[1] -> 0[0] [receive] via NET/a/0",
		"NCCL INFO [\rNCCL WARN ]\x1b[NCCL version 2.1.\x00NCCL INFO NCCL INFO ",
		"2026-11-29T22:41:22Z stdout P h:1:2 [0] NC\n2026-11-29T22:41:22Z stdout F CL INFO x\n",
		`{"log":"h:1:2 [0] NCCL INFO \u003cx\\","stream":"stderr"}` + "\n" + `{"message":"{\"log\":\"NCCL INFO y\\n\"}"}`,
		"# nThread 1 nGpus 1\n#\n  8  2\nNCCL error in: x\nLast error:\ny\n",
		"\xff\xfeN\x00C\x00C\x00L\x00 \x00I\x00N\x00F\x00O\x00 \x00x\x00\x3d\xd8\x00\xde",
	} {
		f.Add([]byte(text), uint(3), uint(1))
	}
	f.Fuzz(func(t *testing.T, b []byte, first, step uint) {
		whole := feed(b)
		if diff := cmp.Diff(whole, feed(cut(b, first)...)); diff != "" {
			t.Errorf("cut at %d (-whole +cut):\n%s", first, diff)
		}
		if diff := cmp.Diff(whole, feed(pieces(b, step)...)); diff != "" {
			t.Errorf("in pieces of %d (-whole +pieces):\n%s", step, diff)
		}
		check(t, whole, len(b))
	})
}

// FuzzWrap: lines say the same in any wrapper. The bytes choose the lines and
// how long lines are cut.
func FuzzWrap(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07"), uint16(40))
	f.Add([]byte("every line of them, in this order"), uint16(0))
	var each []byte
	for i := range 256 {
		each = append(each, byte(i))
	}
	f.Add(each, uint16(100))
	all := lines(f)
	f.Fuzz(func(t *testing.T, b []byte, at uint16) {
		var chosen []string
		for _, c := range b[:min(len(b), 256)] {
			chosen = append(chosen, all[int(c)%len(all)])
		}
		want := feed([]byte(strings.Join(chosen, "")))
		for _, w := range wrappers(int(at)) {
			got := feed([]byte(w.wrap(chosen)))
			if diff := cmp.Diff(want, got, sameFacts()...); diff != "" {
				t.Fatalf("%s (-plain +wrapped):\n%s\n%q", w.name, diff, chosen)
			}
		}
	})
}

// FuzzUTF16: text is the same in UTF-8 and UTF-16.
func FuzzUTF16(f *testing.F) {
	for _, b := range logs(f)[:4] {
		f.Add(string(b), uint(2))
	}
	f.Add("h:1:1 [0] NCCL INFO Using network \U0001f600\u00e9\n", uint(1))
	f.Fuzz(func(t *testing.T, text string, step uint) {
		if !utf8.ValidString(text) || strings.HasPrefix(text, "\ufeff") {
			t.Skip()
		}
		// A mark is needed where the first characters are not ASCII.
		want := feed([]byte("\ufeff" + text))
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			got := feed(pieces([]byte(utf16Text(order, "\ufeff"+text)), step)...)
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(nccllog.Log{}, "Bytes")); diff != "" {
				t.Errorf("%v (-utf-8 +utf-16):\n%s", order, diff)
			}
		}
	})
}

// TestSplitAnywhere cuts a real log at every byte.
func TestSplitAnywhere(t *testing.T) {
	efa := load(t, "nccl-2.28.9/ofi_efa_nodevice.rank0.log")
	for name, b := range map[string][]byte{
		"plain":  efa,
		"stamps": load(t, "nccl-2.28.9/stamps.rank1.log"),
		"docker": []byte(docker(string(efa[:2000]))),
		"utf-16": []byte(utf16Text(binary.LittleEndian, string(efa[:2000]))),
		"cri":    []byte(criText(slices.Collect(strings.Lines(string(efa[:2000]))), 50)),
	} {
		whole := feed(b)
		for at := range b {
			if diff := cmp.Diff(whole, feed(cut(b, uint(at))...)); diff != "" {
				t.Fatalf("%s cut at %d (-whole +cut):\n%s", name, at, diff)
			}
		}
		if diff := cmp.Diff(whole, feed(pieces(b, 1)...)); diff != "" {
			t.Errorf("%s byte by byte (-whole +bytes):\n%s", name, diff)
		}
	}
}

func feed(pieces ...[]byte) *nccllog.Log {
	p := nccllog.NewParser("fuzz")
	for _, piece := range pieces {
		p.Write(piece)
	}
	p.Close()
	return p.Log()
}

func cut(b []byte, at uint) [][]byte {
	at = min(at, uint(len(b)))
	return [][]byte{b[:at], b[at:]}
}

func pieces(b []byte, size uint) [][]byte {
	size = max(size, 1)
	var all [][]byte
	for len(b) > 0 {
		n := min(size, uint(len(b)))
		all = append(all, b[:n])
		b = b[n:]
	}
	return all
}

// logs returns real logs.
func logs(tb testing.TB) [][]byte {
	tb.Helper()
	var all [][]byte
	for _, pattern := range []string{"nccl-2.28.9/*", "ray-2.58/ray_socket/*"} {
		paths, err := filepath.Glob(filepath.Join("testdata", pattern))
		if err != nil || len(paths) == 0 {
			tb.Fatalf("reading seeds: %v", err)
		}
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				tb.Fatal(err)
			}
			all = append(all, b)
		}
	}
	return all
}

// lines returns the distinct lines of real logs that have no wrapper of their
// own, with what other programs print between them.
func lines(tb testing.TB) []string {
	tb.Helper()
	all := []string{
		"step 3 loss 2.71\n",
		"h:1:2 [0] NCCL INFO Channel 00/0 : 1[1] -> 0[0] [rece\n",
		"h:1:2 [0] NCCL INFO Channel 03/1 : 12[4] -> 7[3] [send] via NET/Libfabric/2(5)/GDRDMA(PCI)/Shared\n",
		"g:3:4 [1] NCCL INFO Using network Soch:1:2 [0] NCCL INFO Using network IB\n",
		"torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:93, unhandled system error, NCCL version 2.21.5\n",
		"Last error:\n",
		"socketStartConnect: Connect to 10.0.0.2<4711> failed : No route to host\n",
		"libfabric:17773:1732779731::efa:mr:efa_mr_reg():418<warn> Failed to register CUDA buffer\n",
		strings.Repeat("long ", 8000) + "h:1:2 [0] NCCL INFO Using network Socket\n",
		"NCCL version 2.28.9+cuda13.0\n",
	}
	for _, b := range logs(tb)[:20] {
		for line := range strings.Lines(string(b)) {
			if strings.HasSuffix(line, "\n") && !slices.Contains(all, line) {
				all = append(all, line)
			}
		}
	}
	return all
}

type wrapping struct {
	name string
	wrap func(lines []string) string
}

// wrappers returns all wrappers; long lines are cut after that many bytes where
// the wrapper cuts them.
func wrappers(at int) []wrapping {
	return []wrapping{
		before("ray", "(RayTrainWorker pid=7, ip=10.0.0.7) "),
		before("ray in colour", "\x1b[36m(W(a=1) pid=7)\x1b[0m "),
		before("kubectl", "[pod/train-0/worker] "),
		before("kubectl with time stamps", "2026-11-29T22:41:22.123456789Z "),
		before("mpirun", "[1,30]<stdout>:"),
		before("mpirun in html", "[1,30]&lt;stdout&gt;:"),
		before("pdsh by address", "10.3.35.83: "),
		before("torchrun", "[default3]:"),
		before("srun", " 3: "),
		before("time stamps", "[2026-11-29 22:41:22] "),
		before("cloudwatch", "|   2025-05-16T16:39:55.218-07:00   | "),
		before("github actions", "\ufeff2026-11-29T22:41:22.1234567Z "),
		{"windows", func(lines []string) string { return strings.ReplaceAll(strings.Join(lines, ""), "\n", "\r\n") }},
		{"progress bar", func(lines []string) string { return " 3%|#\r" + strings.Join(lines, "") }},
		{"utf-16", func(lines []string) string { return utf16Text(binary.BigEndian, "\ufeff"+strings.Join(lines, "")) }},
		{"cri", func(lines []string) string { return criText(lines, at) }},
		{"docker", func(lines []string) string { return docker(strings.Join(lines, "")) }},
		object("fluent bit", `{"log":%s,"stream":"stdout","kubernetes":{"pod_name":"train-0"}}`, "\n"),
		object("cloudwatch json", `{"kubernetes":{"pod_name":"train-0"},"message":%s}`, ""),
	}
}

func before(name, text string) wrapping {
	return wrapping{name, func(lines []string) string {
		var b strings.Builder
		for _, line := range lines {
			b.WriteString(text + line)
		}
		return b.String()
	}}
}

func object(name, format, end string) wrapping {
	return wrapping{name, func(lines []string) string {
		var b strings.Builder
		for _, line := range lines {
			text, _ := json.Marshal(strings.TrimSuffix(line, "\n") + end)
			fmt.Fprintf(&b, format+"\n", text)
		}
		return b.String()
	}}
}

// criText cuts NCCL's lines longer than that into pieces, as the container
// runtime does; 0 cuts none.
func criText(lines []string, at int) string {
	var b strings.Builder
	for _, line := range lines {
		text := strings.TrimSuffix(line, "\n")
		for at > 0 && len(text) > at && strings.Contains(line, "] NCCL ") {
			n := max(at, len(text)/8) // not too many pieces
			fmt.Fprintf(&b, "2026-11-29T22:41:22.1Z stdout P %s\n", text[:n])
			text = text[n:]
		}
		fmt.Fprintf(&b, "2026-11-29T22:41:22.1Z stdout F %s\n", text)
	}
	return b.String()
}

// sameFacts compares what logs say and not where they say it.
func sameFacts() cmp.Options {
	return cmp.Options{
		cmpopts.IgnoreFields(nccllog.Log{}, "Lines", "Bytes"),
		cmpopts.IgnoreFields(nccllog.Process{}, "RayIP"),
		linesAside(),
		cmp.FilterPath(func(p cmp.Path) bool {
			return strings.HasSuffix(p.GoString(), ".First") // of a Tally: the whole line
		}, cmp.Ignore()),
	}
}

// linesAside leaves out the numbers of lines.
func linesAside() cmp.Options {
	return cmp.Options{
		cmpopts.IgnoreFields(nccllog.Fact{}, "Line"),
		cmpopts.IgnoreFields(nccllog.Step{}, "Last"),
		cmpopts.IgnoreFields(nccllog.Event{}, "Last"),
		cmpopts.IgnoreFields(nccllog.Process{}, "First", "Last"),
	}
}

// check holds what is true of every Log.
func check(t *testing.T, log *nccllog.Log, size int) {
	t.Helper()
	if log.Bytes != int64(size) {
		t.Errorf("%d bytes of %d", log.Bytes, size)
	}
	for _, p := range log.Processes {
		for _, e := range p.Edges {
			if e.Line < 1 || e.Line > log.Lines || e.Count < 1 || e.Net == "" {
				t.Errorf("edge %+v", e)
			}
		}
		for _, s := range p.Steps {
			if s.Line < 1 || s.Line > log.Lines || len(s.Text) > nccllog.MaxText+len("NCCL WARN ")+3 {
				t.Errorf("step %+v", s)
			}
		}
	}
}

// FuzzInterleave: processes may print at the same time; each says the same. The
// bytes tell whose line comes next.
func FuzzInterleave(f *testing.F) {
	f.Add([]byte("\x00\x01\x01\x00\x02"))
	f.Add([]byte("one after another"))
	var sources [][]string
	for _, name := range []string{"ofi_tcp.rank0", "socket_fsdp.rank1", "nvlink.rank0"} {
		sources = append(sources, slices.Collect(strings.Lines(string(load(f, "nccl-2.28.9/"+name+".log")))))
	}
	var want []*nccllog.Process
	for _, lines := range sources {
		want = append(want, feed([]byte(strings.Join(lines, ""))).Processes...)
	}
	byPID := cmpopts.SortSlices(func(a, b *nccllog.Process) bool { return a.PID < b.PID })
	f.Fuzz(func(t *testing.T, turns []byte) {
		left := slices.Clone(sources)
		var text strings.Builder
		for i := 0; len(left) > 0; i++ {
			who := i % len(left)
			if i < len(turns) {
				who = int(turns[i]) % len(left)
			}
			text.WriteString(left[who][0])
			if left[who] = left[who][1:]; len(left[who]) == 0 {
				left = slices.Delete(left, who, who+1)
			}
		}
		got := feed([]byte(text.String()))
		if diff := cmp.Diff(want, got.Processes, byPID, linesAside()); diff != "" {
			t.Errorf("alone and together (-alone +together):\n%s", diff)
		}
	})
}
