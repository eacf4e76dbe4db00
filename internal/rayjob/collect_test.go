package rayjob

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// collected is what a Collector gave out, put together again.
type collected struct {
	files   map[string]*bytes.Buffer
	ends    map[string]int64 // offset after the last chunk
	sources map[string]Source
	gaps    []string
	wrong   []string
}

// collect runs a Collector on the job.
func collect(t *testing.T, c Collector) *collected {
	t.Helper()
	got := &collected{files: map[string]*bytes.Buffer{}, ends: map[string]int64{}, sources: map[string]Source{}}
	c.Emit = func(chunk Chunk) {
		if got.files[chunk.File] == nil {
			got.files[chunk.File] = &bytes.Buffer{}
		}
		got.files[chunk.File].Write(chunk.Data)
		if chunk.Offset < got.ends[chunk.File] {
			got.wrong = append(got.wrong, fmt.Sprintf("%s: at %d after %d", chunk.File, chunk.Offset, got.ends[chunk.File]))
		}
		got.ends[chunk.File] = chunk.Offset + int64(len(chunk.Data))
		got.sources[chunk.File] = chunk.Source
	}
	c.Gap = func(g Gap) { got.gaps = append(got.gaps, fmt.Sprintf("%s %s: %v", g.NodeName, g.File, g.Err)) }
	if err := c.Run(deadline(t)); err != nil {
		t.Fatal(err)
	}
	if got.wrong != nil || got.gaps != nil {
		t.Errorf("chunks out of order %q, gaps %q", got.wrong, got.gaps)
	}
	return got
}

// actorsProgram prints from an actor on each of two nodes, from tasks, and
// from the driver. Every print tells who wrote it, by Ray's own account.
const actorsProgram = `
import os, sys, time, ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On
ray.init()
def me():
    c = ray.get_runtime_context()
    return f"{c.get_node_id()} {c.get_worker_id()} {os.getpid()}"
class Printer:
    def __init__(self, i): self.i = i
    def run(self, n):
        print("I am", me(), flush=True)
        for i in range(n):
            print(f"actor {self.i} out {i} " + "x" * 200, flush=True)
            print(f"actor {self.i} err {i}", file=sys.stderr, flush=True)
            if i % 500 == 0: time.sleep(0.5)
        print("no line end", end="", flush=True)
def work(i):
    print("I am", me(), flush=True)
    print(f"task {i}", flush=True)
nodes = [n["NodeID"] for n in ray.nodes() if n["Alive"] and n["Resources"].get("CPU")][:2]
assert len(nodes) == 2, nodes
actors = [ray.remote(num_cpus=1)(Printer).options(scheduling_strategy=On(n, soft=False)).remote(i) for i, n in enumerate(nodes)]
ray.get([a.run.remote(3000) for a in actors])
for a in actors: ray.kill(a)
ray.get([ray.remote(num_cpus=1)(work).options(scheduling_strategy=On(n, soft=False)).remote(i) for i, n in enumerate(nodes)])
print("driver is done")
`

var iAm = regexp.MustCompile(`I am ([0-9a-f]+) ([0-9a-f]+) (\d+)\n`)

// checkActors compares what was collected with what actorsProgram wrote.
func checkActors(t *testing.T, got *collected, id string) {
	t.Helper()
	var texts []string
	nodes := map[string]bool{}
	for file, buf := range got.files {
		text := buf.String()
		source := got.sources[file]
		if file == driverFile(id) {
			if !strings.Contains(text, "driver is done\n") || source.NodeID == "" || source.NodeName == "" {
				t.Errorf("driver: source %+v, text ends in %q", source, text[max(0, len(text)-200):])
			}
			continue
		}
		if m := iAm.FindStringSubmatch(text); m != nil {
			nodes[source.NodeID] = true
			if want := []string{source.NodeID, source.WorkerID, fmt.Sprint(source.PID)}; !cmp.Equal(want, m[1:]) {
				t.Errorf("%s: attributed to %q, written by %q", file, want, m[1:])
			}
			text = iAm.ReplaceAllString(text, "")
		}
		if text != "" {
			texts = append(texts, fmt.Sprintf("%s: %s", source.Name, text))
		}
	}
	var want []string
	for actor := range 2 {
		var out, errs strings.Builder
		for i := range 3000 {
			fmt.Fprintf(&out, "actor %d out %d %s\n", actor, i, strings.Repeat("x", 200))
			fmt.Fprintf(&errs, "actor %d err %d\n", actor, i)
		}
		want = append(want, "Printer: "+out.String()+"no line end", "Printer: "+errs.String(), fmt.Sprintf("work: task %d\n", actor))
	}
	for _, w := range want {
		found := 0
		for _, text := range texts {
			if text == w {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%.60q… is there %d times", w, found)
		}
	}
	if len(nodes) != 2 {
		t.Errorf("files of %d nodes, want 2", len(nodes))
	}
	for _, text := range texts {
		if !strings.HasPrefix(text, "Printer: actor") && !strings.HasPrefix(text, "work: task") {
			t.Errorf("unexpected: %.200q", text)
		}
	}
}

func TestRayCollect(t *testing.T) {
	direct := newRay(t)
	address, token := rayAddress(t)
	id := submitPython(t, direct, actorsProgram)
	t.Run("while it runs, over a bad line", func(t *testing.T) {
		proxy, through := newCuttingProxy(t, address, 200<<10)
		checkActors(t, collect(t, Collector{Client: newClient(t, through, token), SubmissionID: id}), id)
		if proxy.cuts.Load() == 0 {
			t.Fatal("the proxy cut no connection: nothing was tested")
		}
		t.Logf("%d cuts", proxy.cuts.Load())
	})
	t.Run("late", func(t *testing.T) {
		checkActors(t, collect(t, Collector{Client: direct, SubmissionID: id}), id)
	})
	t.Run("late, from the agent", func(t *testing.T) {
		job, err := direct.Job(deadline(t), id)
		if err != nil {
			t.Fatal(err)
		}
		agent := AgentLogs{Client: direct, Agent: agentOf(job)}
		checkActors(t, collect(t, Collector{Client: direct, SubmissionID: id, Reader: agent}), id)
	})
	t.Run("capped", func(t *testing.T) {
		var gaps []Gap
		kept := map[string]int64{}
		c := Collector{
			Client: direct, SubmissionID: id, MaxFileBytes: 1000,
			Emit: func(c Chunk) { kept[c.File] = c.Offset + int64(len(c.Data)) },
			Gap:  func(g Gap) { gaps = append(gaps, g) },
		}
		if err := c.Run(deadline(t)); err != nil {
			t.Fatal(err)
		}
		if len(gaps) < 4 {
			t.Errorf("%d gaps, want one for each long file: %v", len(gaps), gaps)
		}
		for _, g := range gaps {
			if kept[g.File] != 1000 {
				t.Errorf("%d bytes kept of %s (%v), want 1000", kept[g.File], g.File, g.Err)
			}
		}
	})
}

// agentOf knows the agent of the driver's node; the dashboard answers for the
// others.
func agentOf(job Job) func(Node) string {
	return func(n Node) string {
		if n.ID == job.DriverNodeID {
			return job.DriverAgent
		}
		return ""
	}
}

func TestRayCollectAgentWhileRunning(t *testing.T) {
	c := newRay(t)
	id := submitPython(t, c, actorsProgram)
	var job Job
	job, err := c.Job(deadline(t), id)
	for err == nil && job.DriverAgent == "" && !job.Status.Terminal() {
		job, err = c.Job(deadline(t), id)
	}
	if err != nil || job.DriverAgent == "" {
		t.Fatalf("no agent: %v, %+v", err, job)
	}
	agent := AgentLogs{Client: c, Agent: agentOf(job)}
	checkActors(t, collect(t, Collector{Client: c, SubmissionID: id, Reader: agent}), id)
}

func TestRayCollectCancelled(t *testing.T) {
	c := newRay(t)
	id := submit(t, c, "echo started; sleep 600", RuntimeEnv{})
	ctx, cancel := context.WithCancel(deadline(t))
	defer cancel()
	collector := Collector{Client: c, SubmissionID: id, Emit: func(chunk Chunk) {
		if bytes.Contains(chunk.Data, []byte("started")) {
			cancel()
		}
	}}
	err := collector.Run(ctx)
	if err == nil || ctx.Err() == nil {
		t.Errorf("error %v, want a cancelled context", err)
	}
}

func TestRayActors(t *testing.T) {
	c := newRay(t)
	const program = `
import ray
ray.init()
@ray.remote(num_cpus=1)
class Frail:
    def ping(self): return 1
    def die(self): import os; os._exit(3)
a = Frail.remote()
ray.get(a.ping.remote())
try: ray.get(a.die.remote())
except ray.exceptions.RayActorError: print("it died")
`
	id := submitPython(t, c, program)
	job, err := c.WaitForEnd(deadline(t), id, nil)
	if err != nil {
		t.Fatal(err)
	}
	actors, err := c.Actors(deadline(t), job.ID)
	if err != nil {
		t.Fatal(err)
	}
	if len(actors) != 1 || actors[0].Class != "Frail" || actors[0].State != "DEAD" || actors[0].PID == 0 ||
		actors[0].NodeID == "" || !strings.Contains(string(actors[0].DeathCause), "worker process has died") {
		t.Errorf("actors %+v of job %+v", actors, job)
	}
	jobs, err := c.Jobs(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, j := range jobs {
		found = found || j.SubmissionID == id && j.ID == job.ID
	}
	if !found {
		t.Errorf("job %q is not listed", id)
	}
}
