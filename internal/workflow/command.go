package workflow

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
)

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
		text, err := argument(value, filepath.Dir(filepath.Dir(checkpoints)))
		problems = append(problems, err)
		args = append(args, optionOf(value.Key), text)
	}
	return args, errors.Join(problems...)
}

// argument is a setting as the training takes it, which runs in another
// folder; runs is the folder of all runs.
func argument(value config.Value, runs string) (string, error) {
	switch value.Key {
	case "train.data", "train.evalData":
		return existing(value.Text)
	case "train.resume":
		return resumed(value.Text, runs)
	case "train.tokenizer":
		return modelName(value.Text)
	case "train.checkpointDir", "train.export":
		return absolute(value.Text)
	default:
		return value.Text, nil
	}
}

// resumed is where the checkpoints are that a run is to go on from: a path, a
// run's folder, or the name of a run.
func resumed(name, runs string) (string, error) {
	for _, dir := range []string{name, filepath.Join(runs, name)} {
		if _, err := os.Stat(filepath.Join(dir, "run.json")); err == nil {
			return absolute(filepath.Join(dir, "checkpoints"))
		}
	}
	return existing(name)
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
