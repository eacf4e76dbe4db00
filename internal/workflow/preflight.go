package workflow

import (
	"context"
	"errors"
	"fmt"

	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/kube"
	"github.com/trainyard/trainyard/internal/raycluster"
	"github.com/trainyard/trainyard/internal/target/kubernetes"
)

// referenceModel is what the built-in training trains on GPUs of a cluster,
// where nobody says otherwise.
const referenceModel = "Qwen/Qwen2.5-1.5B"

// preflight looks at the Kubernetes cluster and ends the run where something
// stands in the job's way, before anything is made there.
func (t *training) preflight(ctx context.Context) error {
	server, err := t.inspect(ctx)
	if err != nil {
		return err
	}
	expect, why := expectation(t.cfg, t.spec)
	if t.run.Info.Expect = expect; why != "" {
		t.Story.Note("expecting " + why + "; --expect any demands nothing")
	}
	v := &t.run.Info.Versions
	v.Ray, v.Kubernetes, v.Image = t.cfg.Cluster.RayVersion, server, t.spec.Image
	return t.run.Save()
}

// inspect looks at the cluster, shapes the run by what is there, and returns the
// version of Kubernetes. Its error joins all that stands in the way.
func (t *training) inspect(ctx context.Context) (version string, err error) {
	t.Story.Begin("preflight")
	if t.kube, err = kube.Connect(t.access(t.cfg.Kubernetes)); err != nil {
		return "", err
	}
	if t.spec, err = clusterSpec(t.cfg, t.User); err != nil {
		return "", err
	}
	t.spec.Namespace = t.kube.Namespace
	need, err := needOf(t.cfg, t.User)
	if err != nil {
		return "", err
	}
	state, err := kubernetes.Look(ctx, t.kube, need)
	if err != nil {
		return "", err
	}
	t.nodes, t.mayGrow = state.Nodes.Value, state.Autoscaler() != ""
	if n := kubernetes.WorkersThatFit(state, need); n < t.spec.Workers {
		t.Story.Note(fmt.Sprintf("%s instead of %d: that is how many nodes there are for them", plural(n, "worker"), t.spec.Workers))
		t.spec.Workers = n
	}
	if err := t.tellFindings(kubernetes.WithFlags(kubernetes.Judge(state, need), clusterFlags(t.cfg.Kubernetes))); err != nil {
		return "", err
	}
	if t.spec.Worker.GPUs > 0 && t.cfg.Origin("train.model").Kind == config.FromDefault {
		t.cfg.Train.Model = referenceModel
	}
	version = state.Version.Value.GitVersion
	t.Story.Done(fmt.Sprintf("Kubernetes %s, %s", version, workersText(t.spec)))
	return version, nil
}

// tellFindings shows what may go wrong, and returns as one error what will.
func (t *training) tellFindings(findings []kubernetes.Finding) error {
	var problems []error
	for _, f := range kubernetes.WorstFirst(findings) {
		text := f.Check + ": " + f.What
		if f.Consequence != "" {
			text += "; " + f.Consequence
		}
		switch f.Level {
		case kubernetes.Problem:
			problems = append(problems, fault.WithHint(f.Remedy, errors.New(text)))
		case kubernetes.Warning, kubernetes.Unknown:
			t.Story.Warn(text)
		case kubernetes.OK:
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return fault.WithHint("trainyard check says more", errors.Join(problems...))
}

func workersText(s raycluster.Spec) string {
	text := plural(s.Workers, "worker")
	if s.Worker.GPUs > 0 {
		text += fmt.Sprintf(" of %s", plural(s.Worker.GPUs, "GPU"))
	}
	if s.Worker.EFA > 0 {
		text += fmt.Sprintf(" and %s", plural(s.Worker.EFA, "EFA interface"))
	}
	return text
}
