package workflow

import (
	"errors"
	"os"
	"strings"
	"unicode"

	"github.com/trainyard/trainyard/internal/config"
)

// command is the argument list that Ray runs, with paths as they are where it
// runs. Of the built-in training's settings those are passed on that are not at
// their defaults: the training itself knows what a model needs.
func command(cfg *config.Config, where paths) ([]string, error) {
	if len(cfg.Job.Command) > 0 {
		return cfg.Job.Command, nil
	}
	var problems []error
	model, err := where.model(cfg.Train.Model)
	problems = append(problems, err)
	args := []string{"python", "-m", "trainyard.train", "--model", model}
	if cfg.Train.CheckpointDir == "" {
		args = append(args, where.checkpoints()...)
	}
	for _, value := range cfg.Changed("train") {
		if value.Key == "train.model" {
			continue
		}
		text, err := argument(value, where)
		problems = append(problems, err)
		args = append(args, optionOf(value.Key), text)
	}
	return args, errors.Join(problems...)
}

// argument is a setting as the training takes it, which runs in another folder.
func argument(value config.Value, where paths) (string, error) {
	switch value.Key {
	case "train.data", "train.evalData":
		return where.input(value.Text)
	case "train.resume":
		return where.resumed(value.Text)
	case "train.tokenizer":
		return where.model(value.Text)
	case "train.checkpointDir", "train.export":
		return where.output(value.Text)
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
