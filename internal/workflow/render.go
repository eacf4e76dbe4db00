package workflow

import (
	"errors"
	"strings"

	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/raycluster"
	"github.com/trainyard/trainyard/internal/shell"
)

// The kinds of manifest that Render writes.
const (
	KindRayCluster = "raycluster"
	KindRayJob     = "rayjob"
)

// RenderRequest says what to write a manifest of.
type RenderRequest struct {
	Config *config.Config
	User   string   // who the cluster is for
	Kind   string   // KindRayCluster or KindRayJob
	Set    []string // PATH=VALUE, changes of the RayCluster
}

// Render writes the manifest of the cluster that the settings ask for, as
// YAML. It asks no cluster: sizes are those of the instance type.
func Render(req RenderRequest) ([]byte, error) {
	spec, wrong := clusterSpec(req.Config, req.User)
	spec.Set = req.Set
	var manifest any
	var err error
	if req.Kind == KindRayJob {
		wrong = errors.Join(wrong, checkRayJob(req.Config))
		manifest, err = raycluster.BuildJob(spec, rayJob(req.Config.Job))
	} else {
		manifest, err = raycluster.Build(spec)
	}
	if err := errors.Join(wrong, err); err != nil {
		return nil, fault.WithCode(fault.Usage, err)
	}
	return raycluster.YAML(manifest)
}

// checkRayJob refuses what needs somebody who sends files to Ray.
func checkRayJob(cfg *config.Config) error {
	var problems []error
	if len(cfg.Job.Command) == 0 {
		problems = append(problems, fault.WithHint("put it behind --: trainyard render --kind rayjob -- python /app/train.py",
			errors.New("a RayJob needs a command: nobody sends it the built-in training")))
	}
	if o := cfg.Origin("job.workingDir"); o.Kind == config.FromFlag {
		problems = append(problems, fault.WithHint("have the program in the image, or on a volume",
			&config.Problem{Origin: o, Message: "job.workingDir does nothing in a RayJob: nobody sends it files"}))
	}
	return errors.Join(problems...)
}

func rayJob(job config.Job) raycluster.Job {
	return raycluster.Job{Entrypoint: shell.Join(job.Command), Env: job.Env, Pip: job.Pip, Timeout: job.Timeout}
}

// oneLine joins the lines of an error that stands for several.
func oneLine(err error) string {
	return strings.ReplaceAll(err.Error(), "\n", ", and ")
}
