package workflow

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/pack"
	"github.com/trainyard/trainyard/internal/pyenv"
	"github.com/trainyard/trainyard/internal/runs"
	"github.com/trainyard/trainyard/internal/target"
	"github.com/trainyard/trainyard/internal/target/local"
	"github.com/trainyard/trainyard/internal/ui"
	"github.com/trainyard/trainyard/train"
)

// TrainRequest says what to train and how to leave it.
type TrainRequest struct {
	Config    *config.Config
	Arguments []string // trainyard's own, for the record
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
}

// Train runs a job on a Ray cluster of this machine: environment, cluster,
// package, job, verdict. Unless the run is detached or the cluster kept,
// nothing of it is left at the end but the run's folder. The returned run is
// nil where there is none yet.
func (w Workspace) Train(ctx context.Context, req TrainRequest) (*runs.Run, error) {
	t := &training{Workspace: w, cfg: req.Config}
	if err := t.check(ctx, req.Detach); err != nil {
		return nil, err
	}
	defer t.pkg.Close()
	if err := t.create(ctx, req.Arguments); err != nil {
		return nil, err
	}
	var err error
	for _, step := range []func(context.Context) error{t.environment, t.bringUp, t.submit} {
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
	err = t.finish(err)
	return t.run, err
}

// check finds what is wrong with the request before anything that takes long,
// and packs the code on the way.
func (t *training) check(ctx context.Context, detach bool) error {
	_, problem := command(t.cfg, "")
	problem = errors.Join(problem, t.checkDetach(detach), pyenv.CheckRequirements(t.cfg.Job.Pip))
	var err error
	if t.pkg, err = packed(ctx, t.cfg); err == nil && problem != nil {
		err = t.pkg.Close()
	}
	return errors.Join(problem, err)
}

// checkDetach refuses what needs somebody to watch the job.
func (t *training) checkDetach(detach bool) error {
	var what string
	switch {
	case !detach:
		return nil
	case t.cfg.Job.Timeout > 0:
		what = "a time limit"
	case t.cfg.Verify.FailFast:
		what = "--fail-fast"
	default:
		return nil
	}
	return fault.WithCode(fault.Usage, fault.WithHint("leave one of the two out",
		fmt.Errorf("detaching with %s: nobody would be there to stop the job", what)))
}

// create makes the run folder and begins to write down what happens.
func (t *training) create(ctx context.Context, arguments []string) error {
	run, err := t.Runs.Create(runs.Info{
		Target: t.cfg.Target, Command: arguments, BuiltIn: len(t.cfg.Job.Command) == 0,
		Git: gitState(ctx, t.cfg.Job.WorkingDir), Versions: runs.Versions{Trainyard: t.Version},
		Package: runs.Package{Name: t.pkg.Name, Files: t.pkg.Files, Bytes: t.pkg.Bytes},
		Expect:  t.cfg.Verify.Expect, FailFast: t.cfg.Verify.FailFast, Keep: t.cfg.Cluster.Keep, TimeoutS: t.cfg.Job.Timeout.Seconds(),
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
	if t.cfg.Verify.FailFast && t.cfg.Verify.Expect == config.ExpectAny {
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

// environment finds or makes the Python that the job runs in, and what the job
// needs beside it.
func (t *training) environment(ctx context.Context) error {
	t.Story.Begin("environment")
	spec := pyenv.Spec{Lock: train.Lock(), CacheDir: t.CacheDir, TorchIndex: t.cfg.Python.TorchIndex, Environ: t.Environ}
	progress := t.tellProgress
	var err error
	if t.cfg.Python.Interpreter != "" {
		t.env, err = pyenv.Inspect(ctx, t.cfg.Python.Interpreter, t.Environ)
	} else {
		t.env, err = pyenv.Ensure(ctx, spec, progress)
	}
	if err != nil {
		return err
	}
	if t.run.Info.BuiltIn && (t.env.TorchVersion == "" || t.env.TransformersVersion == "") {
		return fault.WithHint("install torch and transformers there, or leave out --python",
			fmt.Errorf("checking %q: the built-in training needs torch and transformers", t.env.Python))
	}
	if t.packages, err = pyenv.EnsurePackages(ctx, spec, t.env, t.cfg.Job.Pip, progress); err != nil {
		return err
	}
	path, _ := t.Lookup("PATH")
	if err := checkCommand(t.cfg.Job, t.env.Python, withPrograms(t.packages, path)); err != nil {
		return err
	}
	v := &t.run.Info.Versions
	v.Python, v.Ray, v.Torch = t.env.PythonVersion, t.env.RayVersion, t.env.TorchVersion
	t.Story.Done(versionsText(t.env))
	return t.run.Save()
}

// tellProgress shows what the environment waits for. That another process has
// it in hand is told once, and so must not be passed over.
func (t *training) tellProgress(p pyenv.Progress) {
	if strings.HasPrefix(p.Text, "waiting for another") {
		t.Story.Note(p.Text)
	}
	t.Story.Update(progressText(p))
}

func progressText(p pyenv.Progress) string {
	text := p.Text
	switch {
	case p.Done == 0:
	case p.Unit == pyenv.Bytes && p.Total > 0:
		text += fmt.Sprintf(", %s of %s", ui.Bytes(p.Done), ui.Bytes(p.Total))
	case p.Unit == pyenv.Bytes:
		text += ", " + ui.Bytes(p.Done)
	case p.Total > 0:
		text += fmt.Sprintf(", %d of %d %s", p.Done, p.Total, p.Unit)
	default:
		text += fmt.Sprintf(", %d %s", p.Done, p.Unit)
	}
	return text
}

func versionsText(env pyenv.Env) string {
	text := "ray " + env.RayVersion
	if env.TorchVersion != "" {
		text += ", torch " + env.TorchVersion
	}
	text += ", python " + env.PythonVersion
	if env.Explicit {
		text += ", your own"
	}
	return text
}

// bringUp takes a kept cluster that fits, or starts one.
func (t *training) bringUp(ctx context.Context) error {
	t.Story.Begin("cluster")
	visible, isSet := t.Lookup("CUDA_VISIBLE_DEVICES")
	gpus, err := local.GPUs(ctx, visible, isSet)
	if err != nil {
		return err
	}
	layout, note, err := local.Deal(t.cfg.Cluster.Nodes, t.cfg.Cluster.WorkersPerNode, gpus)
	if err != nil {
		return err
	}
	layout.AsHosts = t.cfg.Cluster.AsHosts
	if note != "" {
		t.Story.Note(note)
	}
	if err := t.checkWorkers(layout); err != nil {
		return err
	}
	runDir, err := filepath.Abs(t.run.Dir)
	if err != nil {
		return fmt.Errorf("naming the run folder: %w", err)
	}
	spec := local.Spec{Interpreter: t.env.Python, Layout: layout, RunDir: runDir}
	record, reused, err := t.Clusters.TakeKept(ctx, spec)
	if err == nil && !reused {
		record, err = t.Clusters.Start(ctx, spec, t.Story.Update)
	}
	if err != nil {
		return err
	}
	t.cluster = t.Clusters.Cluster(record)
	facts := record.Facts()
	t.run.Info.Cluster = runs.Cluster{
		ID: record.ID, Address: record.Endpoint.Address,
		Nodes: facts.Nodes, WorkersPerNode: facts.WorkersPerNode, GPUs: facts.GPUs,
	}
	t.Story.Done(clusterText(facts, reused))
	return t.run.Save()
}

func (t *training) checkWorkers(layout local.Layout) error {
	want, have := t.cfg.Train.NumWorkers, layout.Nodes()*layout.WorkersPerNode
	if !t.run.Info.BuiltIn || want <= have {
		return nil
	}
	return fault.WithCode(fault.Usage, fault.WithHint("use more --nodes or --workers-per-node, or fewer --num-workers",
		fmt.Errorf("placing %d workers: the cluster has room for %d", want, have)))
}

func clusterText(facts target.Facts, reused bool) string {
	nodes := "1 node"
	if facts.Nodes != 1 {
		nodes = fmt.Sprintf("%d nodes", facts.Nodes)
	}
	text := "head and " + nodes + " on this machine"
	switch {
	case facts.GPUs == 1:
		text += ", 1 GPU"
	case facts.GPUs > 1:
		text += fmt.Sprintf(", %d GPUs", facts.GPUs)
	case facts.WorkersPerNode > 1:
		text += fmt.Sprintf(", %d workers each", facts.WorkersPerNode)
	}
	if reused {
		text += ", kept from before"
	}
	return text
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
	checkpoints, err := filepath.Abs(t.run.CheckpointDir())
	if err != nil {
		return fmt.Errorf("naming the checkpoint folder: %w", err)
	}
	args, err := command(t.cfg, checkpoints)
	if err != nil {
		return err
	}
	info := &t.run.Info
	info.SubmissionID = submissionID(info.ID)
	info.Entrypoint = shellJoin(args)
	// Written down first: a run that is killed now can be found and stopped.
	info.State, info.Submitted = runs.Running, now()
	if err := t.run.Save(); err != nil {
		return err
	}
	t.readCounters()
	job := submission(t.cfg, t.run, args, uri, t.Lookup)
	addPackages(job.RuntimeEnv.EnvVars, t.packages, t.Lookup)
	if err := ray.Submit(ctx, job); err != nil {
		return err
	}
	t.Story.Update("submitted")
	return nil
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
		err = fault.WithCode(fault.Interrupted, errors.New("interrupted before the job ran"))
	}
	if t.cluster != nil {
		err = errors.Join(err, t.release(t.cluster, t.run))
	}
	return t.record(t.run, err)
}
