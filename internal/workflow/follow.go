package workflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trainyard/trainyard/fabric"
	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/evidence"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/internal/runs"
	"github.com/trainyard/trainyard/internal/target"
)

const (
	// stopPatience is how long a job that was asked to stop may take; Ray ends
	// it by force after a few seconds.
	stopPatience = 30 * time.Second
	// drainPatience is how long reading the last lines of all logs may take
	// after a job's end.
	drainPatience = 60 * time.Second
)

var errTimeUp = errors.New("time is up")

// following is one job being followed to its end.
type following struct {
	Workspace
	run      *runs.Run
	client   *rayjob.Client
	cluster  target.Cluster
	facts    target.Facts
	lines    *lines
	gatherer *evidence.Gatherer
	machines []fabric.Machine       // known once the job has ended
	room     atomic.Pointer[string] // what the job's workers last waited for room for
}

// ending is how a job ended.
type ending struct {
	job     rayjob.Job
	state   runs.State
	verdict fabric.Verdict
	// failedFast tells that the job was stopped for the verdict.
	failedFast bool
	// noRoom is why the job was stopped that had no workers; nil where it had.
	noRoom *noRoomError
}

// follow shows the job's output and gathers its evidence until it has ended.
// Where ctx ends first, or the run's time is up, the job is stopped, unless
// leave is set or the user says so: then follow returns errDetached or
// context.Canceled, and the job goes on.
func (f *following) follow(ctx context.Context, leave bool) (ending, error) {
	metrics, err := os.Create(filepath.Join(f.run.Dir, "metrics.jsonl"))
	if err != nil {
		return ending{}, fmt.Errorf("writing metrics of run %q: %w", f.run.Info.ID, err)
	}
	defer metrics.Close()
	f.lines = &lines{
		story: f.Story, builtIn: f.run.Info.BuiltIn, metrics: metrics,
		began: func() { f.Story.Done(f.run.Info.SubmissionID + " running") },
	}
	f.gatherer = &evidence.Gatherer{Dir: f.run.LogDir(), OnLine: f.lines.take}

	logs := f.collect(context.WithoutCancel(ctx))
	defer logs.stop()

	var end ending
	job, state, err := f.await(ctx, leave)
	switch {
	case errors.Is(err, errFabricFail):
		end.failedFast = true
		job, err = f.stop()
		state = runs.Stopped
	case errors.As(err, &end.noRoom):
		job, err = f.stop()
		state = runs.Failed
	}
	if err != nil {
		logs.stop()
		<-logs.done
		err = errors.Join(err, f.gatherer.Close())
		if fault.CodeOf(err) == fault.JobFailed { // the cluster is gone: what it showed still counts
			f.keepVerdict(f.verdict())
		}
		return ending{}, err
	}
	f.lines.start() // a job may end without a word
	f.Story.Begin("transport")
	f.Story.Update("reading the last lines of all logs")
	f.drain(logs)
	if err := f.gatherer.Close(); err != nil {
		f.Story.Warn(err.Error())
	}
	f.lines.end()
	f.machines = f.readMachines(f.unlessInterrupted(ctx, state))
	end.job, end.state, end.verdict = job, state, f.verdict()
	return end, nil
}

// unlessInterrupted is the context of what looks at a job that has ended. One that
// ended by itself while its user, after a Ctrl-C, was asked what becomes of it is as
// good as any.
func (f *following) unlessInterrupted(ctx context.Context, state runs.State) context.Context {
	if ctx.Err() != nil && state != runs.Interrupted {
		return f.Hard
	}
	return ctx
}

// collecting is the reading of all logs, which goes on beside everything else.
type collecting struct {
	stop context.CancelFunc
	done chan struct{}
	err  error // valid once done is closed
}

func (f *following) collect(ctx context.Context) *collecting {
	ctx, cancel := context.WithCancel(ctx)
	logs := &collecting{stop: cancel, done: make(chan struct{})}
	all := collector(f.cluster, f.client, f.run.Info.SubmissionID)
	all.Emit, all.Gap = f.gatherer.Chunk, f.gatherer.Gap
	go func() {
		defer close(logs.done)
		logs.err = all.Run(ctx)
	}()
	return logs
}

// await waits for the job's end and says what the end is called.
func (f *following) await(ctx context.Context, leave bool) (rayjob.Job, runs.State, error) {
	waiting, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	if limit := f.run.Info.TimeoutS; limit > 0 && f.run.Info.Submitted != nil {
		deadline := f.run.Info.Submitted.Add(time.Duration(limit * float64(time.Second)))
		timer := time.AfterFunc(time.Until(deadline), func() { cancel(errTimeUp) })
		defer timer.Stop()
	}
	var watchers sync.WaitGroup
	watchers.Go(func() { f.watchUser(waiting, ctx.Done(), leave, cancel) })
	for _, watch := range []func(context.Context, func(error)){f.watch, f.watchHead, f.watchRoom} {
		watchers.Go(func() { watch(waiting, cancel) })
	}
	defer func() {
		cancel(nil)
		watchers.Wait()
	}()
	job, err := f.client.WaitForEnd(waiting, f.run.Info.SubmissionID, f.pending)
	if err == nil {
		return job, stateOf(job), nil
	}
	cause := context.Cause(waiting)
	switch {
	case cause == nil:
		return rayjob.Job{}, "", f.lost(err)
	case errors.Is(cause, target.ErrLost):
		return rayjob.Job{}, "", f.lost(cause)
	case errors.Is(cause, errFabricFail):
		f.Story.Warn("stopping the job: the wrong network carries it, and --fail-fast was asked for")
		return rayjob.Job{}, "", errFabricFail
	case errors.As(cause, new(*noRoomError)):
		f.Story.Warn("stopping the job: " + cause.Error())
		return rayjob.Job{}, "", cause
	case errors.Is(cause, errTimeUp):
		f.Story.Warn(fmt.Sprintf("stopping the job: its time of %s is up", time.Duration(f.run.Info.TimeoutS*float64(time.Second))))
		job, err = f.stop()
		return job, runs.TimedOut, err
	case !errors.Is(cause, errInterrupted):
		return rayjob.Job{}, "", cause
	default:
		f.Story.Warn("stopping the job; press Ctrl-C again to end at once")
		job, err = f.stop()
		if err != nil && f.Hard.Err() != nil { // the second Ctrl-C: nothing more to wait for
			return job, runs.Interrupted, nil
		}
		return job, runs.Interrupted, err
	}
}

// lost explains that the cluster went away under the job.
func (f *following) lost(err error) error {
	if f.run.Info.Target == config.TargetKubernetes {
		return f.lostInPods(err)
	}
	return fault.WithCode(fault.JobFailed, fault.WithHint("something ended Ray's processes: a machine short of memory is the usual reason",
		fmt.Errorf("following job %q: %w", f.run.Info.SubmissionID, err)))
}

func stateOf(job rayjob.Job) runs.State {
	switch job.Status {
	case rayjob.Succeeded:
		return runs.Succeeded
	case rayjob.Stopped:
		return runs.Stopped
	default:
		return runs.Failed
	}
}

// pending shows what a job waits for that has not been heard of yet.
func (f *following) pending(job rayjob.Job) {
	if f.lines.Began() {
		return
	}
	switch job.Status {
	case rayjob.Pending:
		f.Story.Update(cmp.Or(job.Message, "waiting for Ray to start it"))
	case rayjob.Running:
		text := "the driver runs, its workers are starting"
		if room := f.room.Load(); room != nil {
			text = "waiting for room: " + *room
		}
		f.Story.Update(text)
	case rayjob.Stopped, rayjob.Succeeded, rayjob.Failed:
	}
}

// stop asks Ray to stop the job and waits for it, however the command's own
// context stands.
func (f *following) stop() (rayjob.Job, error) {
	ctx, cancel := context.WithTimeout(f.Hard, stopPatience)
	defer cancel()
	f.lines.stopping.Store(true)
	if err := f.client.Stop(ctx, f.run.Info.SubmissionID); err != nil {
		return rayjob.Job{}, err
	}
	return f.client.WaitForEnd(ctx, f.run.Info.SubmissionID, nil)
}

// drain waits for the last lines of all logs.
func (f *following) drain(logs *collecting) {
	timer := time.NewTimer(drainPatience)
	defer timer.Stop()
	select {
	case <-logs.done:
	case <-timer.C:
		f.gatherer.Gap(rayjob.Gap{Err: fmt.Errorf("reading the last lines took longer than %s", drainPatience)})
	case <-f.Hard.Done():
	}
	logs.stop()
	<-logs.done
	if logs.err != nil {
		f.gatherer.Gap(rayjob.Gap{Err: logs.err})
	}
}

func (f *following) verdict() fabric.Verdict {
	expect, err := fabric.ParseExpectation(f.run.Info.Expect)
	if err != nil { // a run folder of another version
		expect = fabric.Any
	}
	facts := evidence.Facts{
		Ranks: f.lines.World(), GPUs: f.facts.GPUs, Machines: f.machines, Attempt: f.lines.Attempt,
		BytesPerNode: f.lines.BytesPerNode(),
	}
	if facts.Ranks == f.facts.Workers() { // else some nodes may have no rank
		facts.Nodes = f.facts.Hosts
	}
	return f.gatherer.Judge(expect, facts)
}
