package workflow

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/internal/evidence"
	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/internal/ui"
)

// heard keeps what a story tells, a line an event.
type heard []string

func (h *heard) Event(e ui.Event) {
	switch e.Kind {
	case ui.JobOutput:
		*h = append(*h, e.Source+": "+e.Text)
	case ui.JobProgress:
		*h = append(*h, strings.TrimSpace(e.Progress.String()))
	default:
		*h = append(*h, string(e.Kind)+" "+e.Text)
	}
}

func worker(pid int, name, text string) evidence.Line {
	return evidence.Line{Source: rayjob.Source{IP: "127.0.0.1", PID: pid, Name: name, File: fmt.Sprintf("worker-%d.out", pid)}, Text: []byte(text)}
}

func driver(text string) evidence.Line {
	return evidence.Line{Source: rayjob.Source{File: "job-driver-x.log"}, Text: []byte(text)}
}

func TestLinesOfAUsersProgram(t *testing.T) {
	var told heard
	l := &lines{story: ui.NewStory(&told)}
	for _, line := range []evidence.Line{
		driver("2026-11-29 22:41:22,389\tINFO job_manager.py:583 -- Runtime env is setting up."),
		driver("Running entrypoint for job x: python3 train.py"),
		driver("hello"),
		driver("(step pid=12) my own line"),
		driver("2026-11-29 22:41:22,389\tINFO trainer.py:12 -- mine"),
		worker(3360, "RayTrainWorker", "early line of rank 0"),
		worker(7, "Counter", "one"),
		worker(3273, "TrainController", "Requesting resources: {'CPU': 1} * 2"),
		worker(3273, "TrainController", "Attempting to start training worker group of size 2 with the following resources: [{'CPU': 1}] * 2"),
		worker(3273, "TrainController", "[2026-11-30 08:12:42,366 E 3273 23365] core_worker.cc:2330: Actor with class name: 'PreemptionWatcher' and ID: '41cc' has constructor arguments in the object store"),
		worker(3273, "TrainController", "Started training worker group of size 2: "),
		worker(3273, "TrainController", "- (ip=127.0.0.1, pid=3360) world_rank=0, local_rank=0, node_rank=0"),
		worker(3273, "TrainController", "- (ip=127.0.0.1, pid=3361) world_rank=1, local_rank=0, node_rank=1"),
		worker(3273, "TrainController", "Error: Training failed, as the driver says as well"),
		worker(3361, "RayTrainWorker", "hello"),
		worker(3361, "RayTrainWorker", "vm:3361:3706 [0] NCCL INFO Bootstrap: Using lo:127.0.0.1<0>"),
		worker(3361, "RayTrainWorker", "vm:3361:3706 [0] a.cc:1 NCCL WARN something"),
		worker(3360, "RayTrainWorker", "Moving model to device: cpu"),
		worker(3360, "RayTrainWorker", "Wrapping provided model in DistributedDataParallel."),
		worker(3360, "RayTrainWorker", "Checkpoint successfully created at: Checkpoint(filesystem=local, path=/r/c)"),
		worker(3361, "RayTrainWorker", "Checkpoint successfully created at: Checkpoint(filesystem=local, path=/r/c)"),
		worker(3360, "RayTrainWorker", "Reporting training result 1: TrainingReport(metrics={'loss': 1.5}) from rank 0"),
		worker(3361, "RayTrainWorker", "Reporting training result 1: TrainingReport(metrics={'loss': 2.5}) from rank 1"),
		worker(99, "RayTrainWorker", "never announced"),
	} {
		l.take(line)
	}
	l.flush()
	want := heard{
		"driver: hello",
		"driver: (step pid=12) my own line",
		"driver: 2026-11-29 22:41:22,389\tINFO trainer.py:12 -- mine",
		"Counter 7: one",
		"TrainController 3273: Requesting resources: {'CPU': 1} * 2",
		"rank 0: early line of rank 0",
		"rank 1: hello",
		"rank 1: vm:3361:3706 [0] a.cc:1 NCCL WARN something",
		"rank 0: Checkpoint successfully created at: Checkpoint(filesystem=local, path=/r/c)",
		"rank 0: Reporting training result 1: TrainingReport(metrics={'loss': 1.5}) from rank 0",
		"RayTrainWorker 99: never announced",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if l.World() != 2 {
		t.Errorf("World() = %d, want 2", l.World())
	}
}

// TestSamePIDs: processes of two pods have the same PID.
func TestSamePIDs(t *testing.T) {
	var told heard
	l := &lines{story: ui.NewStory(&told)}
	for rank, ip := range []string{"10.0.0.1", "10.0.0.2"} {
		l.take(worker(5, "TrainController", fmt.Sprintf("- (ip=%s, pid=308) world_rank=%d, local_rank=0, node_rank=%[2]d", ip, rank)))
	}
	for _, ip := range []string{"10.0.0.2", "10.0.0.1"} {
		line := worker(308, "RayTrainWorker", "I am at "+ip)
		line.IP = ip
		l.take(line)
	}
	if diff := cmp.Diff(heard{"rank 1: I am at 10.0.0.2", "rank 0: I am at 10.0.0.1"}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestReason(t *testing.T) {
	job := rayjob.Job{Message: "Job entrypoint command failed with exit code 1, last available logs (truncated to 20,000 chars):\n" +
		strings.Repeat("a line\n", 20) + "ValueError: boom\n"}
	got := reason(job)
	if !strings.HasPrefix(got, "Job entrypoint command failed with exit code 1") || !strings.HasSuffix(got, "ValueError: boom") {
		t.Errorf("reason = %q", got)
	}
	if n := strings.Count(got, "\n"); n != 8 {
		t.Errorf("reason has %d quoted lines, want 8", n)
	}
	job.Message = "Job entrypoint command failed with exit code 1, last available logs (truncated to 20,000 chars):\n" +
		"2026-11-30 08:20:07,682\tINFO job_manager.py:583 -- Runtime env is setting up.\n" +
		"Running entrypoint for job x: python train.py\nValueError: boom\n"
	if got, want := reason(job), "Job entrypoint command failed with exit code 1, last available logs (truncated to 20,000 chars):\n    ValueError: boom"; got != want {
		t.Errorf("reason = %q, want %q", got, want)
	}
	if got := reason(rayjob.Job{Status: rayjob.Failed}); got != "FAILED" {
		t.Errorf("reason of a silent job = %q", got)
	}
}

func TestAdvice(t *testing.T) {
	for text, want := range map[string]string{
		"ValueError: boom": "all output is in LOGS",
		"ModuleNotFoundError: No module named 'lightning.pytorch'":                                   "--pip lightning brings a package of that name, --working-dir modules of your own; all output is in LOGS",
		"ImportError: the Trainer requires accelerate: Please run `pip install 'accelerate>=1.1.0'`": "--pip PACKAGE brings what is missing; all output is in LOGS",
	} {
		if got := advice("running job \"x\": failed\n    "+text, "LOGS"); got != want {
			t.Errorf("advice on %q = %q, want %q", text, got, want)
		}
	}
}

// TestStackOfAStoppedDriver: what Ray prints of a signal that we sent says
// nothing; the same of somebody else's does.
func TestStackOfAStoppedDriver(t *testing.T) {
	stack := []string{
		"*** SIGTERM received at time=1796008843 on cpu 0 ***",
		"PC: @     0x7f7d1069af16  (unknown)  (unknown)",
		"    @     0x7f7d10651050  (unknown)  (unknown)",
		"    @           0x5499b5         32  PyObject_Vectorcall",
		"[2026-11-30 03:20:43,698 E 30039 30039] logging.cc:474: *** SIGTERM received at time=1796008843 on cpu 0 ***",
		"[2026-11-30 03:20:43,698 E 30039 30039] logging.cc:474:     @     0x7f7d10651050  (unknown)  (unknown)",
	}
	for _, stopping := range []bool{false, true} {
		var told heard
		l := &lines{story: ui.NewStory(&told)}
		l.stopping.Store(stopping)
		for _, text := range append(slices.Clone(stack), "my last words @ home") {
			l.take(driver(text))
		}
		want := len(stack) + 1
		if stopping {
			want = 1
		}
		if len(told) != want {
			t.Errorf("stopping %t: told %d lines, want %d: %q", stopping, len(told), want, told)
		}
	}
}
