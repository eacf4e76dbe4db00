package workflow

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"

	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/kube"
	"github.com/trainyard/trainyard/internal/raycluster"
	"github.com/trainyard/trainyard/internal/runs"
	"github.com/trainyard/trainyard/internal/shell"
	"github.com/trainyard/trainyard/internal/target"
	"github.com/trainyard/trainyard/internal/target/kubernetes"
)

// accessOf is how the settings reach Kubernetes; environment is the value of
// KUBECONFIG, which counts where they name no file.
func accessOf(k config.Kubernetes, environment string) kube.Access {
	return kube.Access{Kubeconfig: cmp.Or(k.Kubeconfig, environment), Context: k.Context, Namespace: k.Namespace}
}

func (w Workspace) access(k config.Kubernetes) kube.Access {
	environment, _ := w.Lookup("KUBECONFIG")
	return accessOf(k, environment)
}

// startPods brings the RayCluster up, or takes the one of before.
func (t *training) startPods(ctx context.Context) error {
	t.Story.Begin("cluster")
	wanted, err := raycluster.Build(t.spec)
	if err != nil {
		return fault.WithCode(fault.Usage, err)
	}
	if err := t.makeWay(ctx, wanted); err != nil {
		return err
	}
	cluster, err := kubernetes.Up(ctx, t.kube, kubernetes.Order{
		RayCluster: wanted, Owner: t.owner(t.spec.Name), Nodes: t.nodes, MayGrow: t.mayGrow,
		PendingTimeout: t.cfg.Cluster.PendingTimeout, Progress: t.Story.Update,
		Down: t.downCommand(runs.Cluster{
			ID: t.kube.Namespace + "/" + t.spec.Name, Kubeconfig: t.cfg.Kubernetes.Kubeconfig, Context: t.cfg.Kubernetes.Context,
		}),
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

// makeWay sees to it that the RayCluster can become as it is wanted: one that has
// other pods is deleted first, for KubeRay leaves those that run as they are. One
// that a job needs as it is stays, and is an error.
func (t *training) makeWay(ctx context.Context, wanted *rayv1.RayCluster) error {
	change, err := kubernetes.ChangeOf(ctx, t.kube, t.owner(wanted.Name), wanted)
	if err != nil || change != kubernetes.Remade && change != kubernetes.Shrunk {
		return err
	}
	job, err := kubernetes.Busy(ctx, t.kube, wanted.Name)
	if err != nil {
		return fault.WithHint("trainyard down --force deletes it all the same", err)
	}
	if job != "" {
		return fault.WithHint("wait for the job's end, or run beside it with --ray-cluster NAME; --diff shows what is different",
			fmt.Errorf("changing RayCluster %q: job %s runs on it, and this run wants other pods", wanted.Name, job))
	}
	if change == kubernetes.Shrunk {
		return nil
	}
	t.Story.Note("the settings of the pods have changed: the RayCluster is made anew")
	return kubernetes.Delete(ctx, t.kube, t.owner(wanted.Name), wanted.Name, t.Story.Update)
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
	if err == nil {
		return cluster, nil
	}
	if there, lookErr := kubernetes.Exists(ctx, k, w.owner(name), name); lookErr == nil && !there {
		run.Info.State = runs.Lost
		err = fault.WithCode(fault.JobFailed, fmt.Errorf("%w: it was deleted, and the job with it", err))
	}
	return nil, err
}

// downCommand is the command that deletes a RayCluster, wherever it is given.
func (w Workspace) downCommand(c runs.Cluster) string {
	namespace, name := namespacedName(c.ID)
	args := []string{"trainyard", "down", "--target", config.TargetKubernetes, "-n", namespace}
	if name != raycluster.DefaultName(w.User) {
		args = append(args, "--ray-cluster", name)
	}
	return strings.TrimSpace(shell.Join(args) + " " + clusterFlags(config.Kubernetes{Kubeconfig: c.Kubeconfig, Context: c.Context}))
}

// owner is whose objects those of a Ray cluster are.
func (w Workspace) owner(name string) kube.Owner {
	return kube.Owner{Cluster: name, User: raycluster.OwnerName(w.User)}
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
// One that is not there is fine. One that a job runs on stays, unless force gives
// up the job.
func (w Workspace) DownKubernetes(ctx context.Context, cfg *config.Config, force bool) error {
	k, err := kube.Connect(w.access(cfg.Kubernetes))
	if err != nil {
		return err
	}
	name := cmp.Or(cfg.Cluster.Name, raycluster.DefaultName(w.User))
	there, err := kubernetes.Exists(ctx, k, w.owner(name), name)
	if err != nil {
		return err
	}
	if !there {
		w.Story.Note(fmt.Sprintf("there is no RayCluster %s/%s", k.Namespace, name))
		return nil
	}
	if !force {
		job, err := kubernetes.Busy(ctx, k, name)
		if err != nil {
			return fault.WithHint("it stays, for a job may run on it; --force deletes it all the same", err)
		}
		if job != "" {
			return fault.WithHint("trainyard stop "+job+" --target kubernetes stops it; --force gives it up",
				fmt.Errorf("deleting RayCluster %s/%s: job %s runs on it", k.Namespace, name, job))
		}
	}
	return w.deleting(k.Namespace+"/"+name, func() error {
		return kubernetes.Delete(ctx, k, w.owner(name), name, w.Story.Update)
	})
}

// deleting tells of the deletion of a RayCluster.
func (w Workspace) deleting(id string, remove func() error) error {
	w.Story.Begin("delete")
	if err := remove(); err != nil {
		w.Story.Failed()
		return err
	}
	w.Story.Done(fmt.Sprintf("RayCluster %s is gone", id))
	return nil
}
