package workflow

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/pyenv"
	"github.com/trainyard/trainyard/internal/runs"
	"github.com/trainyard/trainyard/internal/target"
	"github.com/trainyard/trainyard/internal/target/local"
	"github.com/trainyard/trainyard/internal/ui"
	"github.com/trainyard/trainyard/train"
)

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

// startLocal takes a kept cluster that fits, or starts one.
func (t *training) startLocal(ctx context.Context) error {
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
