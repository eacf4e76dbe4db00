package workflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/pack"
	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/internal/runs"
	"github.com/trainyard/trainyard/internal/shell"
	"github.com/trainyard/trainyard/train"
)

// packed is the code of the job, as a zip on disk. A model of the user's own
// comes from the working directory, beside the training that uses it.
func packed(ctx context.Context, cfg *config.Config) (pack.Package, error) {
	job := cfg.Job
	options := pack.Options{IncludeSecrets: job.IncludeSecrets}
	switch {
	case len(job.Command) > 0:
		return pack.Dir(ctx, job.WorkingDir, options)
	case isHook(cfg.Train.Model):
		options.With = train.Package()
		return pack.Dir(ctx, job.WorkingDir, options)
	default:
		return pack.FS(train.Package())
	}
}

// checkCommand looks for the program that a user's command starts, in the
// places where the job will look for it, so that a typing error is known
// before a cluster is.
func checkCommand(job config.Job, interpreter, path string) error {
	if len(job.Command) == 0 {
		return nil
	}
	name := job.Command[0]
	if name == "python" || name == "python3" {
		return scriptExists(job)
	}
	if strings.ContainsRune(name, filepath.Separator) {
		if filepath.IsAbs(name) {
			return executable(name)
		}
		return executable(filepath.Join(job.WorkingDir, name))
	}
	for _, dir := range append([]string{filepath.Dir(interpreter)}, filepath.SplitList(path)...) {
		if executable(filepath.Join(dir, name)) == nil {
			return nil
		}
	}
	return fault.WithCode(fault.Usage, fault.WithHint("check the spelling; --pip PACKAGE brings a program that a Python package has",
		fmt.Errorf("looking for command %q: neither the Python environment nor PATH has it", name)))
}

// scriptExists looks for the file that Python is to run.
func scriptExists(job config.Job) error {
	if len(job.Command) < 2 || strings.HasPrefix(job.Command[1], "-") {
		return nil
	}
	script := job.Command[1]
	if !filepath.IsAbs(script) {
		script = filepath.Join(job.WorkingDir, script)
	}
	if _, err := os.Stat(script); errors.Is(err, fs.ErrNotExist) {
		return fault.WithCode(fault.Usage, fault.WithHint("paths in the command are relative to --working-dir",
			fmt.Errorf("looking for script %q in %q: no such file", job.Command[1], job.WorkingDir)))
	}
	return nil
}

func executable(path string) error {
	if _, err := exec.LookPath(path); err != nil {
		return fault.WithCode(fault.Usage, fmt.Errorf("looking for command %q: %w", path, errors.Unwrap(err)))
	}
	return nil
}

// submissionID names the job of a run to Ray. Runs are told apart within a
// folder only, and a cluster may serve many.
func submissionID(run string) string { return fmt.Sprintf("trainyard-%s-%08x", run, rand.Uint32()) }

// submission is the job as Ray takes it.
func submission(cfg *config.Config, run *runs.Run, args []string, packageURI string, lookup func(string) (string, bool)) rayjob.Submission {
	// Ray Train copies what a worker prints into its own log, and with it once
	// more into the worker's standard error. Ray copies it into the driver's; we
	// read what each worker has written itself.
	env := map[string]string{"RAY_TRAIN_ENABLE_PRINT_PATCH": "0", "RAY_LOG_TO_DRIVER": "0"}
	// Without NCCL's own account of its networks there is nothing to judge.
	if _, set := lookup("NCCL_DEBUG"); !set {
		env["NCCL_DEBUG"] = "INFO"
	}
	if len(cfg.Job.Command) == 0 {
		env["TRAINYARD_METRICS"] = "json"
	}
	maps.Copy(env, cfg.Job.Env)
	var pip []string // a local cluster has them in a folder of ours
	if cfg.Target != config.TargetLocal {
		pip = cfg.Job.Pip
	}
	return rayjob.Submission{
		ID:         run.Info.SubmissionID,
		Entrypoint: shell.Join(args),
		RuntimeEnv: rayjob.RuntimeEnv{WorkingDir: packageURI, EnvVars: env, Pip: pip},
		Metadata:   metadata(run.Info),
	}
}

// addPackages lets a job find the modules and programs of a folder of packages
// before all others; a job's own PYTHONPATH or PATH, else the caller's, comes
// next. Ray puts the working directory before the first and replaces ${PATH}
// by that of each node.
func addPackages(env map[string]string, dir string, lookup func(string) (string, bool)) {
	if dir == "" {
		return
	}
	modules, own := env["PYTHONPATH"]
	if !own {
		modules, _ = lookup("PYTHONPATH")
	}
	env["PYTHONPATH"] = joinPath(dir, modules)
	env["PATH"] = withPrograms(dir, cmp.Or(env["PATH"], "${PATH}"))
}

// withPrograms is the value of PATH that finds the programs of packages first.
func withPrograms(packages, path string) string {
	if packages == "" {
		return path
	}
	return joinPath(filepath.Join(packages, "bin"), path)
}

func joinPath(first, others string) string {
	if others == "" {
		return first
	}
	return first + string(filepath.ListSeparator) + others
}
