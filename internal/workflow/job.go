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
	"slices"
	"strings"
	"unicode"

	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/pack"
	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/internal/runs"
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

// command is the argument list that Ray runs; checkpoints is the folder for
// those of the built-in training, where no other was asked for. Of its
// settings those are passed on that are not at their defaults: the training
// itself knows what a model needs.
func command(cfg *config.Config, checkpoints string) ([]string, error) {
	if len(cfg.Job.Command) > 0 {
		return cfg.Job.Command, nil
	}
	var problems []error
	model, err := modelName(cfg.Train.Model)
	problems = append(problems, err)
	args := []string{"python", "-m", "trainyard.train", "--model", model}
	if cfg.Train.CheckpointDir == "" {
		args = append(args, "--checkpoint-dir", checkpoints)
	}
	for _, value := range cfg.Changed("train") {
		if value.Key == "train.model" {
			continue
		}
		text, err := argument(value)
		problems = append(problems, err)
		args = append(args, optionOf(value.Key), text)
	}
	return args, errors.Join(problems...)
}

// argument is a setting as the training takes it, which runs in another
// folder.
func argument(value config.Value) (string, error) {
	switch value.Key {
	case "train.data", "train.evalData", "train.resume":
		return existing(value.Text)
	case "train.tokenizer":
		return modelName(value.Text)
	case "train.checkpointDir", "train.export":
		return absolute(value.Text)
	default:
		return value.Text, nil
	}
}

// optionOf is the training's own flag of a setting: --seq-len of train.seqLen.
func optionOf(key string) string {
	_, name, _ := strings.Cut(key, ".")
	var option strings.Builder
	option.WriteString("--")
	for _, r := range name {
		if unicode.IsUpper(r) {
			option.WriteByte('-')
		}
		option.WriteRune(unicode.ToLower(r))
	}
	return option.String()
}

// isHook tells whether a model is a function of the user's own, as
// module:function.
func isHook(model string) bool {
	_, err := os.Stat(model)
	return strings.Contains(model, ":") && !strings.Contains(model, "://") && err != nil
}

// modelName is a model or tokenizer: a folder here where it is one or looks
// like one, else a name that the training knows or asks Hugging Face for.
func modelName(name string) (string, error) {
	info, err := os.Stat(name)
	if err == nil && info.IsDir() || filepath.IsAbs(name) || strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") {
		return existing(name)
	}
	return name, nil
}

// existing makes the path of something that must be there absolute.
func existing(path string) (string, error) {
	name, err := absolute(path)
	if err != nil || name == path && !filepath.IsAbs(path) {
		return name, err
	}
	if _, err := os.Stat(name); err != nil {
		return "", fault.WithCode(fault.Usage, fmt.Errorf("looking for %q: %w", path, errors.Unwrap(err)))
	}
	return name, nil
}

// sources are the data sets that are no files.
var sources = []string{"stdlib", "random"}

// absolute makes a path absolute; URIs and names of data sets stay.
func absolute(path string) (string, error) {
	if strings.Contains(path, "://") || slices.Contains(sources, path) {
		return path, nil
	}
	name, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("naming %q: %w", path, err)
	}
	return name, nil
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
	// more into the worker's standard error.
	env := map[string]string{"RAY_TRAIN_ENABLE_PRINT_PATCH": "0"}
	// Without NCCL's own account of its networks there is nothing to judge.
	if _, set := lookup("NCCL_DEBUG"); !set {
		env["NCCL_DEBUG"] = "INFO"
	}
	if len(cfg.Job.Command) == 0 {
		env["TRAINYARD_METRICS"] = "json"
	}
	maps.Copy(env, cfg.Job.Env)
	return rayjob.Submission{
		ID:         run.Info.SubmissionID,
		Entrypoint: shellJoin(args),
		RuntimeEnv: rayjob.RuntimeEnv{WorkingDir: packageURI, EnvVars: env},
		Metadata:   map[string]string{"trainyard_run": run.Info.ID},
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

// shellJoin writes an argument list so that a shell reads the same list. Words
// that need no quotes have none, for those who read them.
func shellJoin(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = arg
		if arg == "" || strings.ContainsFunc(arg, needsQuotes) {
			words[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

func needsQuotes(r rune) bool {
	plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,@%+", r)
	return !plain
}
