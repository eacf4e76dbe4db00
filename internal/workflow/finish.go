package workflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/trainyard/trainyard/fabric"
	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/internal/runs"
	"github.com/trainyard/trainyard/internal/target"
	"github.com/trainyard/trainyard/internal/ui"
)

// following prepares to follow a run's job on its cluster.
func (w Workspace) following(run *runs.Run, cluster target.Cluster) (*following, error) {
	endpoint, options := cluster.Endpoint(), rayjob.Options{}
	if run.Info.Target == config.TargetKubernetes {
		options.Patience = reachPatience
	}
	ray, err := rayjob.New(endpoint.Address, endpoint.Token, options)
	if err != nil {
		return nil, err
	}
	return &following{Workspace: w, run: run, client: ray, cluster: cluster, facts: cluster.Facts()}, nil
}

// conclude says what came out of a job that has ended, and returns the error
// that the command ends with: nil where the job succeeded and nothing that was
// demanded of the transport is missing.
func (f *following) conclude(end ending) error {
	info := &f.run.Info
	info.State = end.state
	f.keepVerdict(end.verdict)
	f.Story.Done(f.transportText(end.verdict))
	for _, warning := range end.verdict.Warnings {
		f.Story.Warn(warning.Text)
	}
	switch {
	case end.failedFast:
		return f.stoppedFor(end.verdict)
	case end.noRoom != nil:
		return fault.WithCode(fault.JobFailed, fault.WithHint("ask for fewer or smaller workers, or for more nodes; --pending-timeout says how long they may wait",
			fmt.Errorf("running job %q: %w", info.SubmissionID, end.noRoom)))
	case end.state == runs.Succeeded:
		return Demanded(end.verdict)
	case end.state == runs.Interrupted:
		return fault.WithCode(fault.Interrupted, errors.New("interrupted; the job was stopped"))
	case end.state == runs.TimedOut:
		limit := time.Duration(info.TimeoutS * float64(time.Second))
		return fault.WithCode(fault.JobFailed, fmt.Errorf("running job %q: not done after %s and stopped", info.SubmissionID, limit))
	case end.state == runs.Stopped:
		return fault.WithCode(fault.JobFailed, fmt.Errorf("running job %q: somebody stopped it", info.SubmissionID))
	default:
		return f.failure(end.job)
	}
}

// keepVerdict writes the verdict into the run's folder.
func (f *following) keepVerdict(v fabric.Verdict) {
	f.run.Info.Verdict = verdictWord(v)
	if err := f.run.SaveVerdict(v); err != nil {
		f.Story.Warn(err.Error())
	}
}

func verdictWord(v fabric.Verdict) string {
	if v.Cause == "" {
		return string(v.Verdict)
	}
	return string(v.Verdict) + " " + string(v.Cause)
}

// transportText is the verdict in one line. Where there was no GPU, it names
// what the ranks talked over instead.
func (f *following) transportText(v fabric.Verdict) string {
	if v.Cause == fabric.NoGPU {
		text := "no GPU here, nothing to prove"
		if f.lines.said.backend != "" {
			text = f.lines.said.backend + " over TCP between " + plural(f.facts.Nodes, "node") + ": " + text
		}
		return text
	}
	return fmt.Sprintf("%s  %s", v.Verdict, v.Summary)
}

// stoppedFor is the error of a job that --fail-fast ended. Its last lines may
// have changed the verdict; that the job was stopped has not.
func (f *following) stoppedFor(v fabric.Verdict) error {
	if err := Demanded(v); err != nil && v.Verdict == fabric.Fail {
		return err
	}
	return fault.WithCode(fault.FabricFail, fmt.Errorf("checking for %s: stopped at a FAIL, and in the end %s (%s)", v.Expectation, v.Verdict, v.Cause))
}

// release keeps a run's cluster for the next one where that was asked for, the
// job is known to have ended, and the cluster is whole. Else it ends it.
func (w Workspace) release(cluster target.Cluster, run *runs.Run) error {
	// What tidies up must not be stopped by the interrupt that asked for it.
	ctx := context.WithoutCancel(w.Hard)
	if run.Info.Target == config.TargetKubernetes {
		why := "for the next run"
		if !run.Info.Keep {
			why = staysFor(ctx, cluster, run)
		}
		if why != "" {
			return w.leave(ctx, cluster, run, why)
		}
		return w.deleting(run.Info.Cluster.ID, func() error { return cluster.End(ctx, w.Story.Update) })
	}
	if !run.Info.Keep || w.Hard.Err() != nil {
		return cluster.End(ctx, nil)
	}
	err := errMayRun
	if run.Info.State.Final() {
		err = cluster.Keep(ctx)
	}
	if err != nil {
		w.Story.Warn("the cluster is not kept: " + err.Error())
		return cluster.End(ctx, nil)
	}
	w.Story.Note("the cluster is kept for the next run; trainyard down ends it")
	return nil
}

// leave is release of a RayCluster that stays, whatever became of the job.
func (w Workspace) leave(ctx context.Context, cluster target.Cluster, run *runs.Run, why string) error {
	if run.Info.Submitted != nil && !run.Info.State.Final() {
		w.Story.Warn("the job may still run in RayCluster " + run.Info.Cluster.ID)
	}
	w.Story.Note(fmt.Sprintf("RayCluster %s stays %s; %s deletes it", run.Info.Cluster.ID, why, w.downCommand(run.Info.Cluster)))
	return cluster.Keep(ctx)
}

// staysFor says for what a RayCluster must stay that was to be deleted with its run:
// another job, or one that there may be. With its head all jobs are lost.
func staysFor(ctx context.Context, cluster target.Cluster, run *runs.Run) string {
	if run.Info.State == runs.Lost {
		return ""
	}
	endpoint := cluster.Endpoint()
	ray, err := rayjob.New(endpoint.Address, endpoint.Token, rayjob.Options{})
	if err != nil {
		return "for what may run on it: " + err.Error()
	}
	jobs, err := ray.Jobs(ctx)
	if err != nil {
		return "for what may run on it: " + err.Error()
	}
	for _, j := range jobs {
		if !j.Status.Terminal() && j.SubmissionID != run.Info.SubmissionID && j.Metadata[rayjob.SurveyKey] == "" {
			return "for job " + cmp.Or(j.SubmissionID, j.ID) + ", which runs on it"
		}
	}
	return ""
}

var errMayRun = errors.New("the job may still run on it")

// record writes down how the run ended and says it.
func (w Workspace) record(run *runs.Run, err error) error {
	info := &run.Info
	info.Detached = false
	info.Ended = now()
	code := fault.CodeOf(err)
	exit := int(code)
	info.ExitCode = &exit
	if err != nil {
		info.Message = err.Error()
	}
	if !info.State.Final() {
		info.State = runs.Failed
		if code == fault.Interrupted {
			info.State = runs.Interrupted
		}
	}
	err = errors.Join(err, run.Save())
	outcome, text := Summary(run)
	w.Story.Finished(outcome, text, run.Dir)
	return err
}

// Summary is a finished run in one line: what came of it, and how long it
// took. It reads the run's own records.
func Summary(run *runs.Run) (outcome, text string) {
	took := ""
	if run.Info.Submitted != nil && run.Info.Ended != nil {
		took = " in " + ui.Seconds(run.Info.Ended.Sub(*run.Info.Submitted).Seconds())
	}
	steps := run.Steps()
	switch {
	case run.Info.State != runs.Succeeded && len(steps) > 0:
		last := steps[len(steps)-1]
		text = fmt.Sprintf("at step %d of %d, loss %.2f%s", last.Step, last.Steps, last.Loss, took)
	case len(steps) > 0:
		last := steps[len(steps)-1]
		text = fmt.Sprintf("%d steps, loss %.2f -> %.2f%s", last.Step, steps[0].Loss, last.Loss, took)
	case run.Info.Entrypoint == "":
		text = "before the job began"
	case run.Info.BuiltIn:
		text = "the built-in training" + took
	default:
		text = run.Info.Entrypoint + took
	}
	return outcomeWord(run.Info), text
}

// outcomeWord is the outcome in a word: of a job that succeeded, the verdict
// where that is what failed the run.
func outcomeWord(info runs.Info) string {
	if info.State != runs.Succeeded {
		return string(info.State)
	}
	if info.ExitCode != nil && (*info.ExitCode == int(fault.FabricFail) || *info.ExitCode == int(fault.Unproven)) {
		word, _, _ := strings.Cut(info.Verdict, " ")
		return word
	}
	return "done"
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
