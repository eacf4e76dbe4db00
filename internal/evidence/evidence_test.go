package evidence

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/fabric"
	"github.com/trainyard/trainyard/internal/rayjob"
)

// logs is where real NCCL logs of two ranks lie, which fell back to TCP.
const logs = "../../nccllog/testdata"

func source(file string, pid int) rayjob.Source {
	return rayjob.Source{NodeName: "worker-0", File: file, PID: pid, Name: "RayTrainWorker"}
}

func send(g *Gatherer, s rayjob.Source, pieces ...string) {
	for _, piece := range pieces {
		g.Chunk(rayjob.Chunk{Source: s, Data: []byte(piece)})
	}
}

func TestLinesAreCutAndKept(t *testing.T) {
	dir := t.TempDir()
	var got []string
	g := &Gatherer{Dir: dir, OnLine: func(l Line) { got = append(got, l.File+" "+string(l.Text)) }}
	a, b := source("worker-a-1.out", 1), source("worker-b-2.err", 2)
	send(g, a, "one\ntw", "o\r\nthr")
	send(g, b, "other\n")
	send(g, a, "ee", "\n\nlast")
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"worker-a-1.out one", "worker-a-1.out two", "worker-b-2.err other",
		"worker-a-1.out three", "worker-a-1.out ", "worker-a-1.out last",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	kept, err := os.ReadFile(filepath.Join(dir, "worker-a-1.out"))
	if err != nil || string(kept) != "one\ntwo\r\nthree\n\nlast" {
		t.Errorf("kept %q, %v", kept, err)
	}
}

func TestOnlyTheHeadIsKept(t *testing.T) {
	dir := t.TempDir()
	lines := 0
	g := &Gatherer{Dir: dir, KeepBytes: 10, OnLine: func(Line) { lines++ }}
	send(g, source("w.out", 1), "12345\n", "67890\n", "more\n")
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(filepath.Join(dir, "w.out"))
	if err != nil || string(kept) != "12345\n6789" {
		t.Errorf("kept %q, %v, want the first 10 bytes", kept, err)
	}
	if lines != 3 {
		t.Errorf("%d lines passed on, want all 3", lines)
	}
	var index []Kept
	data, err := os.ReadFile(filepath.Join(dir, "sources.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &index); err != nil {
		t.Fatal(err)
	}
	want := []Kept{{File: "w.out", Node: "worker-0", PID: 1, Name: "RayTrainWorker", Bytes: 10, Truncated: true}}
	if diff := cmp.Diff(want, index); diff != "" {
		t.Errorf("index (-want +got):\n%s", diff)
	}
}

func TestEndlessLine(t *testing.T) {
	var lengths []int
	g := &Gatherer{OnLine: func(l Line) { lengths = append(lengths, len(l.Text)) }}
	piece := strings.Repeat("x", 40<<10)
	send(g, source("w.out", 1), piece, piece, "\n")
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{80 << 10, 0}, lengths); diff != "" {
		t.Errorf("lengths of lines (-want +got):\n%s", diff)
	}
}

func TestJudge(t *testing.T) {
	g := &Gatherer{}
	for _, rank := range []string{"rank0", "rank1"} {
		data, err := os.ReadFile(filepath.Join(logs, "nccl-2.28.9", "ofi_efa_nodevice."+rank+".log"))
		if err != nil {
			t.Fatal(err)
		}
		send(g, source("worker-"+rank+".out", 1), string(data[:len(data)/2]), string(data[len(data)/2:]))
	}
	facts := Facts{Ranks: 2, Nodes: 2, GPUs: 2}
	v := g.Judge(fabric.EFA, facts)
	if v.Verdict != fabric.Fail || v.Transport != fabric.TransportSocket || v.Cause != "no-efa-device" || !v.Blocks() {
		t.Errorf("verdict = %s %s %s, want FAIL socket no-efa-device", v.Verdict, v.Transport, v.Cause)
	}

	// Three ranks were there, and two are seen: nothing is proven of the job.
	facts.Ranks = 3
	if v := g.Judge(fabric.Socket, facts); v.Verdict != fabric.Unknown {
		t.Errorf("verdict with a rank missing = %s, want UNKNOWN", v.Verdict)
	}

	facts.Ranks = 2
	if v := g.Judge(fabric.Socket, facts); v.Verdict != fabric.Pass {
		t.Errorf("verdict = %s %s, want PASS", v.Verdict, v.Cause)
	}
	g.Gap(rayjob.Gap{Source: source("worker-rank1.out", 1), Err: errors.New("node died")})
	v = g.Judge(fabric.Socket, facts)
	if v.Verdict != fabric.Unknown {
		t.Errorf("verdict with a part of a log missing = %s, want UNKNOWN", v.Verdict)
	}
	want := `a part of worker-rank1.out of node "worker-0" could not be read: node died`
	if len(v.Warnings) == 0 || v.Warnings[len(v.Warnings)-1].Text != want {
		t.Errorf("warnings = %+v, want %q last", v.Warnings, want)
	}
}

func TestTails(t *testing.T) {
	g := &Gatherer{}
	for range 20 {
		send(g, source("a.out", 7), "line\n")
	}
	send(g, source("a.err", 7), "why\n"+`{"trainyard": 1, "event": "step", "step": 1}`+"\n")
	send(g, source("b.out", 8), "other\n")
	tails := g.Tails(rayjob.Process{PID: 7})
	if len(tails) != 2 || tails[0].File != "a.err" || !slices.Equal(tails[0].Lines, []string{"why"}) || len(tails[1].Lines) != tailLines {
		t.Errorf("Tails of process 7 = %+v", tails)
	}
}

func TestFullDiskIsTold(t *testing.T) {
	g := &Gatherer{Dir: filepath.Join(t.TempDir(), "gone")}
	send(g, source("a.out", 1), "line\n")
	if err := g.Close(); err == nil || !strings.Contains(err.Error(), `keeping log "a.out"`) {
		t.Errorf("error = %v, want one that names the log", err)
	}
}
