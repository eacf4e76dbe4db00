package workflow

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/internal/fault"
)

// paths says what the names of files in settings mean where the job runs. URIs
// and names of models and data sets mean the same everywhere.
type paths interface {
	model(name string) (string, error)   // a model or a tokenizer
	input(name string) (string, error)   // what must be there
	output(name string) (string, error)  // what the job makes
	resumed(name string) (string, error) // the checkpoints that a run goes on from
	checkpoints() []string               // arguments that say where to keep them, if the user does not
}

// localPaths are those of a job on this machine, which sees all that we see.
type localPaths struct{ run string } // the run's folder, absolute

func (p localPaths) checkpoints() []string {
	return []string{"--checkpoint-dir", filepath.Join(p.run, "checkpoints")}
}

// model is a folder here where the name is that of one or looks like it, else a
// name that the training knows or asks Hugging Face for.
func (localPaths) model(name string) (string, error) {
	if isFolder(name) {
		return existing(name)
	}
	return name, nil
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir() || filepath.IsAbs(name) || strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../")
}

func (localPaths) input(name string) (string, error)  { return existing(name) }
func (localPaths) output(name string) (string, error) { return absolute(name) }

// resumed takes a path, a run's folder, or the name of a run.
func (p localPaths) resumed(name string) (string, error) {
	for _, dir := range []string{name, filepath.Join(filepath.Dir(p.run), name)} {
		if _, err := os.Stat(filepath.Join(dir, "run.json")); err == nil {
			return absolute(filepath.Join(dir, "checkpoints"))
		}
	}
	return existing(name)
}

// podPaths are those of a job in pods, which see their image and what they
// mount, and nothing of this machine.
type podPaths struct{ run string } // id of the run

// checkpoints are not saved without a folder that all pods share.
func (p podPaths) checkpoints() []string {
	return []string{"--checkpoint-dir", "/tmp/trainyard/" + p.run, "--keep", "0"}
}

func (p podPaths) model(name string) (string, error) {
	if isFolder(name) {
		return p.output(name)
	}
	return name, nil
}

func (p podPaths) input(name string) (string, error)   { return p.output(name) }
func (p podPaths) resumed(name string) (string, error) { return p.output(name) }

func (podPaths) output(name string) (string, error) {
	if isURI(name) || path.IsAbs(name) {
		return name, nil
	}
	return "", fault.WithCode(fault.Usage, fault.WithHint("name an absolute path that the pods mount (kubernetes.volumes in the run file), or s3://bucket/path",
		fmt.Errorf("naming %q: pods do not see this machine's files", name)))
}

// existing makes the path of something that must be there absolute.
func existing(file string) (string, error) {
	name, err := absolute(file)
	if err != nil || name == file && !filepath.IsAbs(file) {
		return name, err
	}
	if _, err := os.Stat(name); err != nil {
		return "", fault.WithCode(fault.Usage, fmt.Errorf("looking for %q: %w", file, errors.Unwrap(err)))
	}
	return name, nil
}

// sources are the data sets that are no files.
var sources = []string{"stdlib", "random"}

// absolute makes a path absolute; URIs and names of data sets stay.
func absolute(file string) (string, error) {
	if isURI(file) {
		return file, nil
	}
	name, err := filepath.Abs(file)
	if err != nil {
		return "", fmt.Errorf("naming %q: %w", file, err)
	}
	return name, nil
}

func isURI(name string) bool {
	return strings.Contains(name, "://") || slices.Contains(sources, name)
}
