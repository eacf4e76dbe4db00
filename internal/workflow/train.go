package workflow

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/kube"
	"github.com/trainyard/trainyard/internal/pack"
	"github.com/trainyard/trainyard/internal/pyenv"
	"github.com/trainyard/trainyard/internal/raycluster"
	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/internal/runs"
	"github.com/trainyard/trainyard/internal/shell"
	"github.com/trainyard/trainyard/internal/target"
	"github.com/trainyard/trainyard/internal/ui"
)

// TrainRequest says what to train and how to leave it.
type TrainRequest struct {
	Config    *config.Config
	Arguments []string // trainyard's own, for the record
	Remove    bool     // end the Ray cluster on Kubernetes, which else stays for the next run
	Detach    bool     // return when the job is submitted
}

// training is the state that the steps of one Train hand on.
type training struct {
	Workspace
	cfg      *config.Config
	pkg      pack.Package
	run      *runs.Run
	env      pyenv.Env
	packages string // folder of those that env lacks; may be empty
	cluster  target.Cluster

	// Of a run on Kubernetes.
	kube    *kube.Cluster
	spec    raycluster.Spec
	nodes   []corev1.Node
	mayGrow bool // the cluster makes nodes
}

// Train runs a job on a Ray cluster: environment, cluster, package, job,
// verdict. Unless the run is detached or the cluster kept,
// nothing of it is left at the end but the run's folder. The returned run is
// nil where there is none yet.
func (w Workspace) Train(ctx context.Context, req TrainRequest) (*runs.Run, error) {
	t := &training{Workspace: w, cfg: req.Config}
	if err := t.check(ctx, req.Detach); err != nil {
		return nil, err
	}
	defer t.pkg.Close()
	if err := t.create(ctx, req); err != nil {
		return nil, err
	}
	var err error
	for _, step := range t.steps() {
		if err = step(ctx); err != nil {
			break
		}
	}
	switch {
	case err != nil:
		t.Story.Failed()
	case req.Detach:
		t.Story.Done(t.run.Info.SubmissionID + " submitted")
		return t.run, t.detach()
	default:
		err = t.complete(ctx)
	}
	if errors.Is(err, errDetached) {
		return t.run, t.detach()
	}
	if errors.Is(err, errOutOfReach) {
		t.Story.Failed()
		return t.run, errors.Join(err, t.detach())
	}
	err = t.finish(err)
	return t.run, err
}

// steps are what makes a job run, in order.
func (t *training) steps() []func(context.Context) error {
	if t.cfg.Target == config.TargetKubernetes {
		return []func(context.Context) error{t.preflight, t.startPods, t.submit}
	}
	return []func(context.Context) error{t.environment, t.startLocal, t.submit}
}

// paths are those of the job of the run in dir.
func (t *training) paths(dir string) paths {
	if t.cfg.Target == config.TargetKubernetes {
		return podPaths{run: filepath.Base(dir)}
	}
	return localPaths{run: dir}
}

// check finds what is wrong with the request before anything that takes long,
// and packs the code on the way.
func (t *training) check(ctx context.Context, detach bool) error {
	_, problem := command(t.cfg, t.paths(""))
	if detach {
		problem = errors.Join(problem, checkDetach(t.cfg.Job.Timeout > 0, t.cfg.Verify.FailFast))
	}
	problem = errors.Join(problem, pyenv.CheckRequirements(t.cfg.Job.Pip))
	var err error
	if t.pkg, err = packed(ctx, t.cfg); err == nil && problem != nil {
		err = t.pkg.Close()
	}
	return errors.Join(problem, err)
}

// create makes the run folder and begins to write down what happens.
func (t *training) create(ctx context.Context, req TrainRequest) error {
	keep := t.cfg.Cluster.Keep
	if t.cfg.Target == config.TargetKubernetes {
		keep = !req.Remove
	}
	run, err := t.Runs.Create(runs.Info{
		Target: t.cfg.Target, Command: req.Arguments, BuiltIn: len(t.cfg.Job.Command) == 0,
		Git: gitState(ctx, t.cfg.Job.WorkingDir), Versions: runs.Versions{Trainyard: t.Version},
		Package: runs.Package{Name: t.pkg.Name, Files: t.pkg.Files, Bytes: t.pkg.Bytes},
		Expect:  t.cfg.Verify.Expect, FailFast: t.cfg.Verify.FailFast, Keep: keep,
		TimeoutS: t.cfg.Job.Timeout.Seconds(), PendingTimeoutS: t.cfg.Cluster.PendingTimeout.Seconds(),
	})
	if err != nil {
		return err
	}
	t.run = run
	events, err := run.Events()
	if err != nil {
		return err
	}
	t.Story.Add(events)
	for _, v := range t.cfg.PlainValues() {
		t.Story.Note(fmt.Sprintf("%s = %s, from the %s", v.Key, v.Text, v.Origin))
	}
	if t.cfg.Verify.FailFast && t.cfg.Verify.Expect == config.ExpectAny && t.cfg.Target == config.TargetLocal {
		t.Story.Note("--fail-fast has nothing to fail for: --expect any demands nothing")
	}
	return nil
}

// gitState asks git for the commit that the job's code is from; nil where
// there is no git or no repository.
func gitState(ctx context.Context, dir string) *runs.Git {
	commit, err := exec.CommandContext(ctx, "git", "-C", dir, "rev-parse", "HEAD").Output()
	if err != nil {
		return nil
	}
	status, err := exec.CommandContext(ctx, "git", "-C", dir, "status", "--porcelain", "--untracked-files=no").Output()
	return &runs.Git{Commit: strings.TrimSpace(string(commit)), Dirty: err != nil || len(status) > 0}
}

// submit sends the code and starts the job.
func (t *training) submit(ctx context.Context) error {
	t.Story.Begin("package")
	ray, err := client(t.cluster)
	if err != nil {
		return err
	}
	uri, existed, err := ray.Upload(ctx, t.pkg.Name, t.pkg.Path)
	if err != nil {
		return err
	}
	if err := t.pkg.Close(); err != nil { // Ray has it now
		return err
	}
	text := plural(t.pkg.Files, "file") + ", " + ui.Bytes(t.pkg.Bytes)
	if existed {
		text += ", unchanged"
	}
	t.Story.Done(text)

	t.Story.Begin(ui.JobStep)
	dir, err := filepath.Abs(t.run.Dir)
	if err != nil {
		return fmt.Errorf("naming the run folder: %w", err)
	}
	args, err := command(t.cfg, t.paths(dir))
	if err != nil {
		return err
	}
	info := &t.run.Info
	info.SubmissionID = submissionID(info.ID)
	info.Entrypoint = shell.Join(args)
	t.readCounters(ctx, ray)
	if err := ctx.Err(); err != nil {
		return err
	}
	job := submission(t.cfg, t.run, args, uri, t.lookupThere())
	addPackages(job.RuntimeEnv.EnvVars, t.packages, t.Lookup)
	// Written down first: a run that is killed now can be found and stopped.
	info.State, info.Submitted = runs.Running, now()
	if err := t.run.Save(); err != nil {
		return err
	}
	if err := ray.Submit(ctx, job); err != nil {
		if ctx.Err() != nil && t.takenBack(ray) {
			info.Submitted = nil
		}
		return err
	}
	t.Story.Update("submitted")
	return nil
}

// takenBack stops a job whose submission was interrupted, since the request may have
// arrived, and tells whether none is left.
func (t *training) takenBack(ray *rayjob.Client) bool {
	ctx, cancel := context.WithTimeout(t.Hard, stopPatience)
	defer cancel()
	err := ray.Stop(ctx, t.run.Info.SubmissionID)
	return err == nil || rayjob.IsNotFound(err)
}

// lookupThere reads the variables that a job inherits from its cluster, as far
// as they are known here.
func (t *training) lookupThere() func(string) (string, bool) {
	if t.cfg.Target == config.TargetKubernetes {
		return func(string) (string, bool) { return "", false }
	}
	return t.Lookup
}

// complete follows the job and judges it.
func (t *training) complete(ctx context.Context) error {
	f, err := t.following(t.run, t.cluster)
	if err != nil {
		return err
	}
	end, err := f.follow(ctx, false)
	if err != nil {
		return err
	}
	return f.conclude(end)
}

// detach leaves job and cluster to themselves.
func (t *training) detach() error {
	if err := t.cluster.Detach(); err != nil {
		return err
	}
	t.run.Info.Detached = true
	return t.run.Save()
}

// finish tears the cluster down or keeps it, and writes down how the run
// ended. A request that was refused before anything was started is no run.
func (t *training) finish(err error) error {
	if t.cluster == nil && fault.CodeOf(err) == fault.Usage {
		err = errors.Join(err, os.RemoveAll(t.run.Dir))
		t.run = nil
		return err
	}
	if errors.Is(err, context.Canceled) {
		for _, hint := range fault.HintsOf(err) { // what stays
			t.Story.Note(hint)
		}
		err = fault.WithCode(fault.Interrupted, errors.New("interrupted before the job ran"))
	}
	if t.cluster != nil {
		err = errors.Join(err, t.release(t.cluster, t.run))
	}
	return t.record(t.run, err)
}
