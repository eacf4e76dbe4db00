package logfiles

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	worker0 = "worker-00bee97ad0c1-06000000-5763"
	worker1 = "worker-c497b78d9c80-06000000-5765"
	train0  = `{"message": "Setting up process group for: env:// [rank=0, world_size=2]", "process": 5763, "job_id": "06000000", "worker_id": "00bee97ad0c1", "world_rank": 0, "node_rank": 0}` + "\n"
	train1  = `{"message": "no rank yet", "worker_id": "c497b78d9c80"}` + "\n" + `{"message": "x", "job_id": "06000000", "worker_id": "c497b78d9c80", "world_rank": 1, "node_rank": 1}` + "\n"
)

func session() map[string]string {
	return map[string]string{
		"logs/" + worker0 + ".out": "host0:5763:1 [0] NCCL INFO Using network Socket\n",
		"logs/" + worker0 + ".err": "warning\n",
		"logs/" + worker1 + ".out": "host1:5765:1 [0] NCCL INFO Using network Socket\n",
		// Started before its first job.
		"logs/worker-aa11-ffffffff-77.out":                  ":job_id:07000000\n:task_name:f\nhost0:77:1 [0] NCCL INFO Using network Socket\n",
		"logs/job-driver-raysubmit_1.log":                   "(RayTrainWorker pid=5763) host0:5763:1 [0] NCCL INFO Using network Socket\n",
		"logs/job-driver-raysubmit_2.log":                   "nothing of NCCL\n",
		"logs/raylet.out":                                   "x",
		"logs/gcs_server.out":                               "x",
		"logs/python-core-worker-1.log":                     "x",
		"logs/dashboard_agent.log":                          "x",
		"logs/events/event_GCS.log":                         "x",
		"logs/nccl.host0.5763.log":                          "x",
		"logs/train/ray-train-sys-worker-00bee97ad0c1.log":  train0,
		"logs/train/ray-train-app-worker-c497b78d9c80.log":  train1,
		"logs/train/ray-train-sys-controller-50d403fa9.log": `{"message": "x"}`,
	}
}

func TestRaySession(t *testing.T) {
	dir := tree(t, session())
	found := find(t, dir)
	logs, err := ReadAll(t.Context(), found.Logs, &Progress{})
	if err != nil {
		t.Fatal(err)
	}
	type place struct{ Name, Job, Node string }
	var got []place
	for _, log := range logs {
		got = append(got, place{filepath.Base(log.Name), log.Job, log.Node})
	}
	want := []place{
		{"job-driver-raysubmit_1.log", "06000000", ""},
		{"job-driver-raysubmit_2.log", "", ""},
		{"nccl.host0.5763.log", "", ""},
		{worker0 + ".err", "06000000", "node0"},
		{worker0 + ".out", "06000000", "node0"},
		{"worker-aa11-ffffffff-77.out", "07000000", ""},
		{worker1 + ".out", "06000000", "node1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"06000000", "07000000"}, Jobs(logs)); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"06000000": 2}, found.World); diff != "" {
		t.Errorf("world (-want +got):\n%s", diff)
	}
}

// Ray counts jobs from 1 in every session.
func TestSessionsKeepTheirJobsApart(t *testing.T) {
	dir := tree(t, map[string]string{
		"session_2026-11-29_1/logs/" + worker0 + ".out":       "x",
		"session_2026-11-30_1/logs/" + worker0 + ".out":       "x",
		"other/session_2026-11-30_1/logs/" + worker1 + ".out": "x", // another node of it
	})
	jobs := Jobs(read(t, dir))
	want := []string{"session_2026-11-30_1/06000000", "session_2026-11-29_1/06000000"}
	if diff := cmp.Diff(want, jobs); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
}

// Copies have lost the session's name: equal ids in two folders may be two jobs,
// of which one must not pass for a restart of the other.
func TestCopiedFoldersKeepTheirJobsApart(t *testing.T) {
	driver := "job-driver-raysubmit_1.log"
	dir := tree(t, map[string]string{
		"a/" + worker0 + ".out": "x", "b/" + worker0 + ".out": "x", "b/" + driver: "(W pid=5763) host0:5763:1 [0] NCCL INFO Using network Socket\n",
	})
	found := find(t, dir)
	logs, err := ReadAll(t.Context(), found.Logs, &Progress{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, log := range logs {
		job, _ := filepath.Rel(dir, log.Job)
		got = append(got, job)
	}
	if diff := cmp.Diff([]string{"a/06000000", "b/06000000", "b/06000000"}, got); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
}

func TestWorldIn(t *testing.T) {
	for message, want := range map[string]int{"": 0, "world_size=": 0, "[rank=0, world_size=16]": 16, "world_size=99999999999999999999]": 0, "world_size=4": 4} {
		if got := worldIn(message); got != want {
			t.Errorf("worldIn(%q) = %d, want %d", message, got, want)
		}
	}
}

func TestJobInside(t *testing.T) {
	for head, want := range map[string]string{
		"": "", ":job_id:01000000\n": "01000000", "x\n:job_id:02000000\n:task_name:f\n": "02000000",
		"print :job_id:02000000\n": "", ":job_id:0200": "",
	} {
		if got := jobInside([]byte(head)); got != want {
			t.Errorf("jobInside(%q) = %q, want %q", head, got, want)
		}
	}
}
