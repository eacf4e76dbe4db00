package workflow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/process"
	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/internal/runs"
	"github.com/trainyard/trainyard/internal/target"
	"github.com/trainyard/trainyard/internal/target/local"
	"github.com/trainyard/trainyard/internal/ui"
)

// Attach follows a detached run from its first line to its end, judges it, and
// tears its cluster down or keeps it. A run that has ended is answered from its
// folder. Where ctx ends first the run stays detached.
func (w Workspace) Attach(ctx context.Context, run *runs.Run) error {
	if run.Info.State.Final() {
		return ended(run)
	}
	if !run.Info.Detached && run.Info.Owner.Alive() {
		return followed(run)
	}
	if err := w.adopt(run); err != nil {
		return err
	}
	cluster, err := w.clusterOf(ctx, run)
	if err != nil {
		return w.without(run, err)
	}
	return w.followToEnd(ctx, run, cluster)
}

// ended answers for a run that is over, as its own command did.
func ended(run *runs.Run) error {
	code := fault.Error
	if run.Info.ExitCode != nil {
		code = fault.Code(*run.Info.ExitCode)
	}
	if code == fault.Done {
		return nil
	}
	return fault.WithCode(code, fmt.Errorf("run %q ended as %s: %s", run.Info.ID, run.Info.State, run.Info.Message))
}

// clusterOf finds the cluster of a run that has not ended; where it is gone,
// so is the run.
func (w Workspace) clusterOf(ctx context.Context, run *runs.Run) (target.Cluster, error) {
	if run.Info.Target == config.TargetKubernetes {
		return w.reopen(ctx, run)
	}
	record, err := w.Clusters.Get(run.Info.Cluster.ID)
	if errors.Is(err, fs.ErrNotExist) {
		run.Info.State = runs.Lost
		return nil, fmt.Errorf("finding the cluster of run %q: it is gone, and what the job printed with it", run.Info.ID)
	}
	return w.Clusters.Cluster(record), err
}

// without ends a run whose cluster is gone. One that cannot be reached is another
// matter: the run may go on.
func (w Workspace) without(run *runs.Run, err error) error {
	if run.Info.State == runs.Lost {
		return w.record(run, err)
	}
	return err
}

func (w Workspace) followToEnd(ctx context.Context, run *runs.Run, cluster target.Cluster) error {
	f, err := w.following(run, cluster)
	if err != nil {
		return err
	}
	switch claimed, err := run.Claim(); {
	case err != nil:
		return err
	case !claimed && run.Info.State.Final(): // ended by another's hand just now
		return ended(run)
	case !claimed:
		return followed(run)
	}
	events, err := run.Events()
	if err != nil {
		return err
	}
	w.Story.Add(events)
	f.recallCounters(ctx)
	w.Story.Begin(ui.JobStep)
	end, err := f.follow(ctx, true)
	if run.Info.State == runs.Lost {
		return w.record(run, errors.Join(err, w.release(cluster, run)))
	}
	if err != nil {
		run.Info.Owner = process.ID{}
		err = errors.Join(err, run.Save())
		if errors.Is(err, context.Canceled) || errors.Is(err, errDetached) {
			w.Story.Note("the run goes on; trainyard attach " + run.Info.ID + " follows it again, trainyard stop ends it")
		}
		return err
	}
	err = f.conclude(end)
	return w.record(run, errors.Join(err, w.release(cluster, run)))
}

// followed says that another process looks after the run.
func followed(run *runs.Run) error {
	return fault.WithHint("trainyard logs -f "+run.Info.ID+" shows its output, too",
		fmt.Errorf("attaching to run %q: process %d follows it already", run.Info.ID, run.Info.Owner.PID))
}

// Stop asks a run's job to stop. The trainyard that follows the run notices
// and ends it; where none does, Stop gathers logs and verdict itself.
func (w Workspace) Stop(ctx context.Context, run *runs.Run) error {
	if run.Info.State.Final() {
		w.Story.Note(fmt.Sprintf("run %s has ended already: %s", run.Info.ID, run.Info.State))
		return nil
	}
	if run.Info.Submitted == nil && run.Info.Owner.Alive() {
		w.Story.Note(fmt.Sprintf("run %s has no job yet; interrupted the trainyard that prepares it (process %d)", run.Info.ID, run.Info.Owner.PID))
		return run.Info.Owner.Interrupt()
	}
	if err := w.adopt(run); err != nil {
		return err
	}
	cluster, err := w.clusterOf(ctx, run)
	if err != nil {
		return w.without(run, err)
	}
	ray, err := client(cluster)
	if err != nil {
		return err
	}
	if err := ray.Stop(ctx, run.Info.SubmissionID); err != nil && !rayjob.IsNotFound(err) {
		return err
	}
	w.Story.Note("asked job " + run.Info.SubmissionID + " to stop")
	if run.Info.Owner.Alive() {
		return nil
	}
	err = w.followToEnd(ctx, run, cluster)
	if run.Info.State == runs.Stopped { // what was wanted
		return nil
	}
	return err
}

// Down ends the local clusters that wait for a next run, and says of the
// others why they stay.
func (w Workspace) Down(ctx context.Context, force bool) error {
	records, err := w.Clusters.List()
	if err != nil {
		return err
	}
	if len(records) == 0 {
		w.Story.Note("no Ray cluster of trainyard's runs on this machine")
	}
	var problems []error
	for _, r := range records {
		if r, err = w.Clusters.Get(r.ID); err != nil {
			continue // it ended meanwhile
		}
		if stays := w.stays(r); stays != "" && !force {
			w.Story.Note(fmt.Sprintf("cluster %s stays: %s", r.ID, stays))
			continue
		}
		if err := w.Clusters.End(ctx, r); err != nil {
			problems = append(problems, err)
			continue
		}
		w.Story.Note("ended cluster " + r.ID)
		w.markLost(r.RunDir)
	}
	return errors.Join(problems...)
}

func (w Workspace) stays(r local.Record) string {
	name := "a run"
	if run, err := runs.OpenDir(r.RunDir); err == nil {
		name = "run " + run.Info.ID
	}
	switch r.Holder {
	case local.Detached:
		return name + " is detached; attach to it or stop it, or give it up with --force"
	case local.HeldByRun:
		return fmt.Sprintf("%s uses it (process %d)", name, r.Owner.PID)
	case local.KeptForUse:
	}
	return ""
}
