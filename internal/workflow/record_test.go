package workflow

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/internal/ui"
)

func TestLinesOfTheBuiltInTraining(t *testing.T) {
	metrics, err := os.Create(filepath.Join(t.TempDir(), "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer metrics.Close()
	var told heard
	l := &lines{story: ui.NewStory(&told), builtIn: true, metrics: metrics}
	l.began = func() { l.story.Note("began") }
	records := []string{
		`{"trainyard": 1, "event": "rank", "rank": 0, "world_size": 2, "pid": 10, "backend": "gloo"}`,
		`{"trainyard": 1, "event": "start", "model": "tiny", "steps": 4, "first_step": 1, "parallel": "hsdp", "reason": "it fits", "bytes_across_nodes": 3100000000}`,
		`{"trainyard": 1, "event": "step", "step": 1, "steps": 4, "loss": 5.5, "tokens_per_second": 1200, "mfu": 0.583, "elapsed": 2.0}`,
		`{"trainyard": 1, "event": "done", "steps": 4, "first_loss": 5.5, "last_loss": 2.5}`,
	}
	l.take(worker(5, "TrainController", "Requesting resources: {'CPU': 1} * 2"))
	for _, record := range records {
		l.take(worker(10, "RayTrainWorker", record))
	}
	l.take(worker(10, "RayTrainWorker", "a warning of rank 0"))
	l.take(worker(6, "PlacementGroupCleaner", "Ray's own trouble"))
	want := heard{
		"note began", "note hsdp: it fits; each node sends 3.1 GB a step",
		"step 1/4  loss 5.50  1.2k tokens/s  MFU 0.58  6s left", "rank 0: a warning of rank 0",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	kept, err := os.ReadFile(metrics.Name())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Join(records, "\n")+"\n", string(kept)); diff != "" {
		t.Errorf("metrics.jsonl (-want +got):\n%s", diff)
	}
	if l.said.backend != "gloo" || l.World() != 2 {
		t.Errorf("backend %q, world %d, want gloo, 2", l.said.backend, l.World())
	}
}

// announce tells of a worker group as Ray Train's controller does.
func announce(l *lines, pids ...int) {
	for rank, pid := range pids {
		l.take(worker(5, "TrainController", fmt.Sprintf("- (ip=127.0.0.1, pid=%d) world_rank=%d, local_rank=0, node_rank=%d", pid, rank, rank)))
	}
}

// replay feeds what a rank of a real run printed.
func replay(t *testing.T, l *lines, pid int, name string) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for text := range bytes.Lines(data) {
		l.take(worker(pid, "RayTrainWorker", strings.TrimSuffix(string(text), "\n")))
	}
}

func TestARestartOfTheBuiltInTraining(t *testing.T) {
	var told heard
	l := &lines{story: ui.NewStory(&told), builtIn: true}
	announce(l, 10, 11)
	replay(t, l, 10, "attempt-1.rank-0.jsonl")
	replay(t, l, 11, "attempt-1.rank-1.jsonl")
	announce(l, 20, 21)
	replay(t, l, 20, "attempt-2.rank-0.jsonl")
	var got []string
	for _, line := range told {
		if !strings.HasPrefix(line, "step ") {
			got = append(got, line)
		}
	}
	const plan = "note fsdp: sharded over all, gathered once a step; each node sends 8.0 MB a step"
	const data = "note 8 x 64 tokens a worker and step, of stdlib"
	want := []string{
		data,
		plan,
		"warning at step 3 the loss is nan (the last good loss was 5.0000 at step 2): the update is skipped",
		"note checkpoint of step 3, in 0.2s",
		"warning the workers were started again: rank 1 on node worker-1 failed: out of memory; --batch-size is 8 and --seq-len 64:" +
			" try --batch-size 4 --accumulate 2 (as large a batch, in smaller parts), then --activation-checkpointing on," +
			" then --parallel fsdp, then --seq-len 32, or more GPUs",
		data,
		plan,
		"note going on from step 3",
		"note evaluation at step 6: loss 3.500, perplexity 33.12",
		"note checkpoint of step 6, in 0.2s",
		"note the trained model is in /run/model",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if e, _, ok := l.Cause(); ok {
		t.Errorf("a run that recovered has the cause %+v", e)
	}
}

// A process that was killed says nothing: Ray's controller does.
func TestARestartAfterALostProcess(t *testing.T) {
	var told heard
	l := &lines{story: ui.NewStory(&told), builtIn: true}
	announce(l, 10, 11)
	replay(t, l, 20, "attempt-2.rank-0.jsonl")
	told = nil
	l.take(worker(5, "TrainController", "trainyard.train: rank 0: its process is gone: killed: starting workers again"))
	l.take(driver("(raylet) A worker died or was killed while executing a task by an unexpected system error. To troubleshoot"))
	announce(l, 20, 21)
	replay(t, l, 20, "attempt-2.rank-0.jsonl")
	if want := "warning the workers were started again: rank 0: its process is gone: killed"; told[0] != want {
		t.Errorf("told %q, want %q first", told[0], want)
	}
}

func TestTheFirstErrorIsTheCause(t *testing.T) {
	for _, order := range [][2]int{{0, 1}, {1, 0}} { // files are read in any order
		l := &lines{story: ui.NewStory(&heard{}), builtIn: true}
		for _, rank := range order {
			replay(t, l, 10+rank, fmt.Sprintf("attempt-1.rank-%d.jsonl", rank))
		}
		announce(l, 10, 11)
		first, others, ok := l.Cause()
		if !ok || others != 1 {
			t.Fatalf("cause %+v, %d others, %v", first, others, ok)
		}
		got := firstError(first, others)
		if !strings.HasPrefix(got, "rank 1 on node worker-1 failed at step 4: out of memory; --batch-size is 8") ||
			!strings.HasSuffix(got, "\n  1 other rank ended with it") {
			t.Errorf("read in the order %v: %s", order, got)
		}
	}
}

func TestABugShowsItsTraceback(t *testing.T) {
	l := &lines{story: ui.NewStory(&heard{}), builtIn: true}
	replay(t, l, 11, "bug.rank-1.jsonl")
	first, others, ok := l.Cause()
	got := firstError(first, others)
	if !ok || !strings.HasPrefix(got, "rank 1 on node worker-1 failed at step 2: ValueError: boom\n  Traceback (most recent") ||
		!strings.HasSuffix(got, "\n  ValueError: boom") {
		t.Errorf("%t: %s", ok, got)
	}
}

// TestErrorsOfAnEarlierAttempt: a worker of the second attempt was killed and
// said nothing; what the first died of is not why.
func TestErrorsOfAnEarlierAttempt(t *testing.T) {
	l := &lines{story: ui.NewStory(&heard{}), builtIn: true}
	announce(l, 10, 11)
	replay(t, l, 11, "attempt-1.rank-1.jsonl")
	announce(l, 20, 21)
	if e, _, ok := l.Cause(); ok {
		t.Errorf("cause %+v", e)
	}
}

// TestTracebacksOfRay: what Ray and Python say of an error is left out where the
// training has told of it, and shown at the end where it has not.
func TestTracebacksOfRay(t *testing.T) {
	trace := []string{
		"Traceback (most recent call last):",
		`  File "/job/trainyard/launch.py", line 9, in fit`,
		"    raise result.error",
		"ray.train.v2.api.exceptions.WorkerGroupError: Training failed due to worker errors:",
		"[Rank 0 Error Snippet]:",
		"ValueError: boom",
	}
	for _, told := range []bool{false, true} {
		var got heard
		l := &lines{story: ui.NewStory(&got), builtIn: true}
		l.take(driver("before"))
		for _, text := range trace {
			l.take(driver(text))
		}
		l.take(worker(11, "RayTrainWorker", "2026-11-30 10:00:00,000\tERROR util.py:252 -- Error in training function:"))
		l.take(worker(11, "RayTrainWorker", "ValueError: boom"))
		if told {
			replay(t, l, 11, "bug.rank-1.jsonl")
		}
		l.end()
		want := 1
		if !told {
			want += len(trace) + 2
		}
		if len(got) != want {
			t.Errorf("the training told of it: %t: shown %d lines, want %d: %q", told, len(got), want, got)
		}
	}
	var got heard
	l := &lines{story: ui.NewStory(&got)}
	l.take(driver(trace[0]))
	if len(got) != 1 {
		t.Error("a traceback of a user's program was held back")
	}
}

func TestTheDriversConclusion(t *testing.T) {
	var told heard
	l := &lines{story: ui.NewStory(&told), builtIn: true}
	l.take(driver("trainyard.train: no complete checkpoint in '/nowhere'"))
	l.end()
	if got := l.Conclusion(); got != "no complete checkpoint in '/nowhere'" || len(told) > 0 {
		t.Errorf("conclusion %q, told %q", got, told)
	}
	l = &lines{story: ui.NewStory(&told)}
	l.take(driver("trainyard.train: a user's own line"))
	if l.Conclusion() != "" || len(told) != 1 {
		t.Errorf("a user's line was kept: %q, told %q", l.Conclusion(), told)
	}
}
