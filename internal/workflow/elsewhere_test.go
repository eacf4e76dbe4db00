package workflow

import (
	"testing"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/internal/runs"
	"github.com/trainyard/trainyard/internal/target/kubernetes"
)

func TestPick(t *testing.T) {
	job := func(owner, id, run string, status rayjob.Status) kubernetes.FoundJob {
		return kubernetes.FoundJob{Owner: owner, Job: rayjob.Job{
			SubmissionID: id, Status: status, Metadata: metadata(runs.Info{ID: run}),
		}}
	}
	jobs := []kubernetes.FoundJob{ // the newest first
		job("bob", "b2", "20261130-0002", rayjob.Running),
		job("ada", "a3", "20261130-0003", rayjob.Failed),
		job("ada", "a2", "20261130-0002", rayjob.Running),
		job("ada", "a1", "20261130-0001", rayjob.Running),
		{Owner: "ada", Job: rayjob.Job{SubmissionID: "raysubmit_x", Status: rayjob.Succeeded}},
	}
	for _, test := range []struct {
		name, me string
		want     string // submission id
		wrong    string // error
	}{
		{"", "ada", "a2", ""},
		{"", "bob", "b2", ""},
		{"", "eve", "", "no job of yours"},
		{"a3", "ada", "a3", ""},
		{"b2", "ada", "b2", ""},
		{"20261130-0001", "bob", "a1", ""},
		{"raysubmit_x", "ada", "raysubmit_x", ""},
		{"20261130-0002", "ada", "", `job "20261130-0002" may be b2 or a2`},
		{"20261130", "ada", "", `no job "20261130"`},
	} {
		got, err := pick(jobs, test.name, test.me)
		if got.SubmissionID != test.want || (err == nil) != (test.wrong == "") || err != nil && err.Error() != test.wrong {
			t.Errorf("pick(%q) of %s = %s, %v; want %s %s", test.name, test.me, got.SubmissionID, err, test.want, test.wrong)
		}
		if err != nil && test.name != "" && fault.CodeOf(err) != fault.Usage {
			t.Errorf("pick(%q): code %d, want a usage error", test.name, fault.CodeOf(err))
		}
	}
	if got, err := pick(jobs[1:2], "", "ada"); err != nil || got.SubmissionID != "a3" {
		t.Errorf("where nothing goes on: %s, %v; want the newest, a3", got.SubmissionID, err)
	}
}

// TestTermsTravel: what a job says of its run is what its folder would say.
func TestTermsTravel(t *testing.T) {
	info := runs.Info{ID: "20261130-abcd", BuiltIn: true, Expect: "efa", FailFast: true, TimeoutS: 60, PendingTimeoutS: 900}
	got := infoOf(kubernetes.FoundJob{Job: rayjob.Job{SubmissionID: "s", Metadata: metadata(info)}})
	if got.ID != info.ID || !got.BuiltIn || got.Expect != "efa" || !got.FailFast || got.TimeoutS != 60 || got.PendingTimeoutS != 900 || !got.Keep || !got.Detached {
		t.Errorf("infoOf = %+v, want what %+v says, kept and detached", got, info)
	}
	if got := infoOf(kubernetes.FoundJob{Job: rayjob.Job{SubmissionID: "raysubmit_x"}}); got.ID != "raysubmit_x" || got.Expect != "any" {
		t.Errorf("infoOf a job of others = %+v, want its submission id and to expect anything", got)
	}
}
