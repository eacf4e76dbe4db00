package rayjob

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNewAddress(t *testing.T) {
	for _, address := range []string{"", "127.0.0.1:8265", "ray://127.0.0.1:10001", "http://", "http://a b"} {
		if _, err := New(address, "", Options{}); err == nil {
			t.Errorf("New(%q) succeeded", address)
		}
	}
	if _, err := New("http://127.0.0.1:8265/", "", Options{}); err != nil {
		t.Error(err)
	}
}

func TestCondense(t *testing.T) {
	const trace = "Traceback (most recent call last):\n  File \"/x/job_head.py\", line 12, in submit\n    await f()\n"
	tests := []struct{ name, body, want string }{
		{"plain", "Job x does not exist", "Job x does not exist"},
		{"state API", `{"result": false, "msg": "Max number of in-progress requests=100 reached.", "data": {}}`, "Max number of in-progress requests=100 reached"},
		{"traceback", trace + "ValueError: bad runtime_env.\n", "bad runtime_env"},
		{"dotted exception", trace + "ray.exceptions.RuntimeEnvSetupError: no pip\n", "no pip"},
		{
			"an agent's traceback inside the head's",
			trace + "RuntimeError: Request failed with status code 500: " + trace + "ValueError: Job with submission_id a already exists.\n.",
			"Job with submission_id a already exists",
		},
		{"aiohttp's page", "500 Internal Server Error\n\nServer got itself in trouble", "Server got itself in trouble"},
		{"empty", "", ""},
		{"long", strings.Repeat("x", 1000), strings.Repeat("x", messageBytes) + "…"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := condense(test.body); got != test.want {
				t.Errorf("condense = %q, want %q", got, test.want)
			}
		})
	}
}

func TestTemporary(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want bool
	}{
		{"refused", fmt.Errorf("calling: %w", syscall.ECONNREFUSED), true},
		{"reset", syscall.ECONNRESET, true},
		{"cut", io.ErrUnexpectedEOF, true},
		{"busy", &Error{Status: http.StatusTooManyRequests}, true},
		{"behind a gateway", &Error{Status: http.StatusBadGateway}, true},
		{"coming up", &Error{Status: 500, Message: "No available agent to submit job, please try again later"}, true},
		{"bad input", &Error{Status: 500, Message: "Job with submission_id a already exists"}, false},
		{"not found", &Error{Status: http.StatusNotFound}, false},
		{"forbidden", &Error{Status: http.StatusForbidden}, false},
		{"other", errors.New("open x.zip: no such file"), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := temporary(test.err); got != test.want {
				t.Errorf("temporary(%v) = %v, want %v", test.err, got, test.want)
			}
		})
	}
}

func TestDeathCause(t *testing.T) {
	tests := []struct{ json, want string }{
		{`{"death_cause": {"actor_died_error_context": {"error_message": "worker died", "pid": 1}}}`, "worker died"},
		{`{"death_cause": {"creation_task_failure_context": {"formatted_exception_string": "boom"}}}`, "boom"},
		{`{"death_cause": null}`, ""},
		{`{}`, ""},
	}
	for _, test := range tests {
		var a Actor
		if err := json.Unmarshal([]byte(test.json), &a); err != nil {
			t.Fatal(err)
		}
		if string(a.DeathCause) != test.want {
			t.Errorf("%s: cause %q, want %q", test.json, a.DeathCause, test.want)
		}
	}
}

func TestMagic(t *testing.T) {
	const file = ":job_id:02000000\n:actor_name:Trainer(rank=1)\nhello\n:task_name:f\n:jobs are fun\nno end :job_id:x\n:\n\nlast"
	const text = "hello\n:jobs are fun\nno end :job_id:x\n:\n\nlast"
	for step := 1; step <= len(file); step++ {
		var m magic
		var got strings.Builder
		emit := func(offset int64, data []byte) {
			if want := file[offset : offset+int64(len(data))]; string(data) != want {
				t.Errorf("step %d: at %d: %q, want %q", step, offset, data, want)
			}
			got.Write(data)
		}
		for at := 0; at < len(file); at += step {
			piece := []byte(file[at:min(at+step, len(file))])
			m.feed(piece, emit)
			clear(piece) // a reader uses its buffer again
		}
		m.end(emit)
		if got.String() != text {
			t.Fatalf("step %d: text %q, want %q", step, got.String(), text)
		}
		if m.job != "02000000" || m.name != "f" || m.offset != int64(len(file)) {
			t.Errorf("step %d: job %q, name %q, offset %d", step, m.job, m.name, m.offset)
		}
	}
}

func TestMagicUnended(t *testing.T) {
	var m magic
	var got strings.Builder
	emit := func(offset int64, data []byte) { fmt.Fprintf(&got, "%d %s|", offset, data) }
	m.feed([]byte("a\n:job"), emit)
	if got.String() != "0 a\n|" {
		t.Errorf("before the end: %q", got.String())
	}
	m.end(emit)
	if want := "0 a\n|2 :job|"; got.String() != want {
		t.Errorf("got %q, want %q", got.String(), want)
	}
}

func TestCopyFrom(t *testing.T) {
	for offset, want := range map[int64]string{0: "abc", 2: "c", 3: ""} {
		var got strings.Builder
		if err := copyFrom(&got, strings.NewReader("abc"), offset); err != nil || got.String() != want {
			t.Errorf("from %d: %q, %v, want %q", offset, got.String(), err, want)
		}
	}
	if err := copyFrom(io.Discard, strings.NewReader("abc"), 4); !errors.Is(err, ErrShrunk) {
		t.Errorf("from 4: %v, want %v", err, ErrShrunk)
	}
}

func TestWorkerFile(t *testing.T) {
	tests := []struct {
		name string
		want []string // worker, job, pid
	}{
		{"worker-2f41da-02000000-14908.err", []string{"2f41da", "02000000", "14908"}},
		{"worker-2f41da-ffffffff-14908.out", []string{"2f41da", "ffffffff", "14908"}},
		{"worker-2f41da-14908.out", []string{"2f41da", "", "14908"}},
		{"io_worker-2f41da-02000000-1.out", nil},
		{"python-core-worker-2f41da_1.log", nil},
		{"worker-2f41da-02000000-14908.out.1", nil},
	}
	for _, test := range tests {
		var got []string
		if m := workerFile.FindStringSubmatch(test.name); m != nil {
			got = m[1:]
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestRanks(t *testing.T) {
	var r Ranks
	lines := []string{
		"\x1b[36m(TrainController pid=2396)\x1b[0m Started training worker group of size 2: ",
		"\x1b[36m(TrainController pid=2396)\x1b[0m - (ip=10.0.0.1, pid=11) world_rank=1, local_rank=1, node_rank=0",
		"- (node_id=ab, ip=10.0.0.1, pid=10) world_rank=0, local_rank=0, node_rank=0",
		"- (ip=10.0.0.1, pid=11) world_rank=1, local_rank=1, node_rank=0", // shown twice
		"(RayTrainWorker pid=10) world_rank=7",
	}
	var told []bool
	for _, line := range lines {
		told = append(told, r.Observe(7, []byte(line)))
	}
	if diff := cmp.Diff([]bool{false, true, true, true, false}, told); diff != "" {
		t.Errorf("Observe (-want +got):\n%s", diff)
	}
	first := []Rank{{Process{"10.0.0.1", 10}, 0, 0, 0}, {Process{"10.0.0.1", 11}, 1, 1, 0}}
	if diff := cmp.Diff(first, r.Current()); diff != "" {
		t.Errorf("first group (-want +got):\n%s", diff)
	}
	r.Observe(7, []byte("- (ip=10.0.0.2, pid=20) world_rank=0, local_rank=0, node_rank=0"))
	if diff := cmp.Diff([]Rank{{Process{"10.0.0.2", 20}, 0, 0, 0}}, r.Current()); diff != "" {
		t.Errorf("second group (-want +got):\n%s", diff)
	}
	for p, want := range map[Process]int{{"10.0.0.1", 10}: 1, {"10.0.0.1", 11}: 1, {"10.0.0.2", 20}: 2, {"10.0.0.2", 10}: 0} {
		if got := r.Attempt(p); got != want {
			t.Errorf("attempt of process %v is %d, want %d", p, got, want)
		}
	}
	if got, ok := r.Of(Process{"10.0.0.1", 11}); !ok || got != first[1] {
		t.Errorf("Of an earlier process = %v, %v", got, ok)
	}
	if _, ok := r.Of(Process{"10.0.0.9", 11}); ok {
		t.Error("Of an unknown process is known")
	}
}

// TestNoAttempts: the worker groups of several trainers in a job have no order.
func TestNoAttempts(t *testing.T) {
	var r Ranks
	r.Observe(7, []byte("- (ip=10.0.0.1, pid=10) world_rank=0, local_rank=0, node_rank=0"))
	r.Observe(8, []byte("- (ip=10.0.0.1, pid=20) world_rank=0, local_rank=0, node_rank=0"))
	for _, pid := range []int{10, 20} {
		if got := r.Attempt(Process{"10.0.0.1", pid}); got != 0 {
			t.Errorf("attempt of process %d is %d, want 0: %v", pid, got, r.all)
		}
	}
}

// TestSamePIDs: processes of two pods have the same PID.
func TestSamePIDs(t *testing.T) {
	var r Ranks
	for rank, ip := range []string{"10.0.0.1", "10.0.0.2"} {
		r.Observe(7, fmt.Appendf(nil, "- (ip=%s, pid=308) world_rank=%d, local_rank=0, node_rank=%[2]d", ip, rank))
	}
	if len(r.Current()) != 2 || r.Attempt(Process{"10.0.0.2", 308}) != 1 {
		t.Errorf("ranks %v, attempt %d", r.Current(), r.Attempt(Process{"10.0.0.2", 308}))
	}
}
