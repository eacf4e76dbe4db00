package workflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/kube"
	"github.com/trainyard/trainyard/internal/raycluster"
	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/internal/runs"
	"github.com/trainyard/trainyard/internal/target"
	"github.com/trainyard/trainyard/internal/target/kubernetes"
)

// referenceModel is what the built-in training trains on GPUs of a cluster,
// where nobody says otherwise.
const referenceModel = "Qwen/Qwen2.5-1.5B"

// accessOf is how the settings reach Kubernetes; environment is the value of
// KUBECONFIG, which counts where they name no file.
func accessOf(k config.Kubernetes, environment string) kube.Access {
	return kube.Access{Kubeconfig: cmp.Or(k.Kubeconfig, environment), Context: k.Context, Namespace: k.Namespace}
}

func (w Workspace) access(k config.Kubernetes) kube.Access {
	environment, _ := w.Lookup("KUBECONFIG")
	return accessOf(k, environment)
}

// preflight looks at the Kubernetes cluster and ends the run where something
// stands in the job's way, before anything is made there.
func (t *training) preflight(ctx context.Context) error {
	t.Story.Begin("preflight")
	var err error
	if t.kube, err = kube.Connect(t.access(t.cfg.Kubernetes)); err != nil {
		return err
	}
	if t.spec, err = clusterSpec(t.cfg, t.User); err != nil {
		return err
	}
	t.spec.Namespace = t.kube.Namespace
	need, err := needOf(t.cfg, t.User)
	if err != nil {
		return err
	}
	state, err := kubernetes.Look(ctx, t.kube, need)
	if err != nil {
		return err
	}
	t.nodes = state.Nodes.Value
	if n := kubernetes.WorkersThatFit(state, need); n < t.spec.Workers {
		t.Story.Note(fmt.Sprintf("%s instead of %d: that is how many nodes there are for them", plural(n, "worker"), t.spec.Workers))
		t.spec.Workers = n
	}
	if err := t.tellFindings(kubernetes.WithFlags(kubernetes.Judge(state, need), clusterFlags(t.cfg.Kubernetes))); err != nil {
		return err
	}
	if t.spec.Worker.GPUs > 0 && t.cfg.Origin("train.model").Kind == config.FromDefault {
		t.cfg.Train.Model = referenceModel
	}
	expect, why := expectation(t.cfg, t.spec)
	if t.run.Info.Expect = expect; why != "" {
		t.Story.Note("expecting " + why + "; --expect any demands nothing")
	}
	v := &t.run.Info.Versions
	v.Ray, v.Kubernetes, v.Image = t.cfg.Cluster.RayVersion, state.Version.Value.GitVersion, t.spec.Image
	t.Story.Done(fmt.Sprintf("Kubernetes %s, %s", state.Version.Value.GitVersion, workersText(t.spec)))
	return t.run.Save()
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

// startPods brings the RayCluster up, or takes the one of before.
func (t *training) startPods(ctx context.Context) error {
	t.Story.Begin("cluster")
	wanted, err := raycluster.Build(t.spec)
	if err != nil {
		return fault.WithCode(fault.Usage, err)
	}
	cluster, err := kubernetes.Up(ctx, t.kube, kubernetes.Order{
		RayCluster: wanted, Owner: t.owner(t.spec.Name), Nodes: t.nodes,
		PendingTimeout: t.cfg.Cluster.PendingTimeout, Progress: t.Story.Update,
	})
	if err != nil {
		return err
	}
	t.cluster = cluster
	image, err := kubernetes.ImageOf(ctx, t.kube, t.spec.Name)
	if err != nil {
		return err
	}
	t.run.Info.Versions.Image = cmp.Or(image, t.spec.Image)
	facts := cluster.Facts()
	t.run.Info.Cluster = runs.Cluster{
		ID: cluster.ID(), Kubeconfig: t.cfg.Kubernetes.Kubeconfig, Context: t.kube.Context, Address: cluster.Endpoint().Address,
		Nodes: facts.Nodes, WorkersPerNode: facts.WorkersPerNode, GPUs: facts.GPUs,
	}
	t.Story.Done(fmt.Sprintf("RayCluster %s: head and %s", cluster.ID(), workersText(t.spec)))
	return t.run.Save()
}

// reopen reaches the RayCluster of a run again.
func (w Workspace) reopen(ctx context.Context, run *runs.Run) (target.Cluster, error) {
	c := run.Info.Cluster
	if run.Info.Submitted == nil {
		run.Info.State = runs.Lost
		return nil, fault.WithHint("start it again: the same command goes on with what there is",
			fmt.Errorf("finding the job of run %q: its trainyard was killed before there was one", run.Info.ID))
	}
	namespace, name := namespacedName(c.ID)
	k, err := kube.Connect(w.access(config.Kubernetes{Kubeconfig: c.Kubeconfig, Context: c.Context, Namespace: namespace}))
	if err != nil {
		return nil, err
	}
	cluster, err := kubernetes.Open(ctx, k, w.owner(name), name)
	if apierrors.IsNotFound(err) {
		run.Info.State = runs.Lost
		err = fault.WithCode(fault.JobFailed, fmt.Errorf("%w: it was deleted, and the job with it", err))
	}
	if err != nil {
		return nil, err
	}
	return cluster, nil
}

// owner is whose objects those of a Ray cluster are.
func (w Workspace) owner(name string) kube.Owner {
	return kube.Owner{Cluster: name, User: raycluster.OwnerName(w.User)}
}

// reachPatience is how long the API server, or the network, may be away while a
// job runs: jobs go on without us.
const reachPatience = 5 * time.Minute

// errOutOfReach says that a job may go on, and that nobody here can see it.
var errOutOfReach = errors.New("its cluster does not answer")

// watchHead calls end once the job is lost with the head of its RayCluster, and
// returns then, or when ctx ends.
func (f *following) watchHead(ctx context.Context, end func(error)) {
	if err := f.cluster.Lost(ctx); err != nil {
		end(err)
	}
}

// lostInPods explains that a job can be followed no longer: it is lost where its
// head went away, or a new one does not know it. Else it may go on.
func (f *following) lostInPods(err error) error {
	if rayjob.IsNotFound(err) {
		err = fmt.Errorf("%w: a new one has its place", target.ErrLost)
	}
	info := &f.run.Info
	namespace, name := namespacedName(info.Cluster.ID)
	hint := fmt.Sprintf("see what became of its pods: kubectl get pods,events -n %s; the same command runs the job again", namespace)
	code := fault.JobFailed
	if errors.Is(err, target.ErrLost) {
		info.State = runs.Lost
	} else {
		err = fmt.Errorf("%w: %w", errOutOfReach, err)
		code, hint = fault.Error, fmt.Sprintf("the job may go on in RayCluster %s; trainyard attach %s follows it again", name, info.ID)
	}
	return fault.WithCode(code, fault.WithHint(hint, fmt.Errorf("following job %q: %w", info.SubmissionID, err)))
}

// StatusKubernetes says what there is of anybody's runs in the namespace.
func (w Workspace) StatusKubernetes(ctx context.Context, cfg *config.Config) (kubernetes.Status, error) {
	k, err := kube.Connect(w.access(cfg.Kubernetes))
	if err != nil {
		return kubernetes.Status{}, err
	}
	return kubernetes.StatusOf(ctx, k)
}

// DownKubernetes deletes the user's RayCluster and waits until its pods are gone.
// One that is not there is fine.
func (w Workspace) DownKubernetes(ctx context.Context, cfg *config.Config) error {
	k, err := kube.Connect(w.access(cfg.Kubernetes))
	if err != nil {
		return err
	}
	name := cmp.Or(cfg.Cluster.Name, raycluster.DefaultName(w.User))
	w.Story.Begin("delete")
	if err := kubernetes.Delete(ctx, k, w.owner(name), name, w.Story.Update); err != nil {
		w.Story.Failed()
		return err
	}
	w.Story.Done(fmt.Sprintf("RayCluster %s/%s is gone", k.Namespace, name))
	return nil
}
