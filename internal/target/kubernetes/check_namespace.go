package kubernetes

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainyard/trainyard/internal/kube"
)

const (
	kueueGroup    = "kueue.x-k8s.io"
	securityLevel = "pod-security.kubernetes.io/enforce"
)

func (v view) namespace() []Finding {
	switch err := v.Place.Err; {
	case apierrors.IsNotFound(err):
		return []Finding{{
			Level: Problem, Check: "namespace", What: v.Namespace + " does not exist",
			Consequence: "nothing can be made in it", Remedy: "kubectl create namespace " + v.Namespace,
		}}
	case err != nil:
		return unseen("namespace", err, "it may not exist, or be going", "kubectl auth can-i get namespace "+v.Namespace)
	case v.Place.Value.DeletionTimestamp != nil || v.Place.Value.Status.Phase == corev1.NamespaceTerminating:
		return []Finding{{
			Level: Problem, Check: "namespace", What: v.Namespace + " is being deleted" + heldBy(v.Place.Value),
			Consequence: "nothing can be made in it", Remedy: "take another with --namespace, or wait: kubectl get namespace " + v.Namespace + " -o yaml",
		}}
	case v.Place.Value.Labels[securityLevel] == "restricted":
		return []Finding{{
			Level: Warning, Check: "namespace", What: v.Namespace + " admits restricted pods only, and the container runs as root",
			Consequence: "no pod comes into being", Remedy: "kubectl label --overwrite namespace " + v.Namespace + " " + securityLevel + "=baseline",
		}}
	}
	return ok("namespace", "%s", v.Namespace)
}

// name judges whether the RayCluster's name is free, or taken by our own.
func (v view) name() []Finding {
	const check = "ray cluster"
	switch err := v.Existing.Err; {
	case apierrors.IsNotFound(err):
		return ok(check, "the name %s is free", v.need.Cluster)
	case meta.IsNoMatchError(err):
		return nil // said of the API
	case err != nil:
		return unseen(check, err, "somebody else's may have the name", "kubectl -n "+v.Namespace+" get raycluster "+v.need.Cluster)
	}
	for _, label := range []string{kube.ManagedByLabel, kube.OwnerLabel} {
		if want, got := v.need.Labels[label], v.Existing.Value[label]; got != want {
			return []Finding{{
				Level: Problem, Check: check, What: fmt.Sprintf("%s exists and is not yours: its label %s is %q, not %q", v.need.Cluster, label, got, want),
				Consequence: "trainyard does not touch it", Remedy: "choose another name with --ray-cluster; see it by: kubectl -n " + v.Namespace + " get raycluster " + v.need.Cluster,
			}}
		}
	}
	return ok(check, "%s is there already, and yours", v.need.Cluster)
}

// heldBy says what keeps a namespace from going, in Kubernetes' words.
func heldBy(namespace corev1.Namespace) string {
	for _, c := range namespace.Status.Conditions {
		if c.Status == corev1.ConditionTrue && c.Type == corev1.NamespaceContentRemaining {
			return ": " + c.Message
		}
	}
	return ""
}

func (v view) queue() []Finding {
	if v.need.Queue == "" {
		return nil
	}
	f := Finding{Level: Problem, Check: "queue", Consequence: "the Ray cluster would wait for ever, or start without it"}
	switch {
	case v.Groups.Err == nil && len(v.Groups.Value[kueueGroup]) == 0:
		f.What, f.Remedy = "Kueue is not installed, and queue "+v.need.Queue+" is asked for", "leave --queue out, or install Kueue: https://kueue.sigs.k8s.io/docs/installation/"
	case apierrors.IsNotFound(v.Queue.Err):
		f.What, f.Remedy = "there is no LocalQueue "+v.need.Queue+" in namespace "+v.Namespace, "kubectl -n "+v.Namespace+" get localqueues"
	case v.Queue.Err != nil:
		return unseen("queue", v.Queue.Err, f.Consequence, "kubectl -n "+v.Namespace+" get localqueue "+v.need.Queue)
	case !v.Queue.Value:
		f.What, f.Remedy = "LocalQueue "+v.need.Queue+" takes no jobs", "kubectl -n "+v.Namespace+" describe localqueue "+v.need.Queue
	default:
		return ok("queue", "LocalQueue %s takes jobs", v.need.Queue)
	}
	return []Finding{f}
}

// counted is a number of things: "1 worker", "3 workers".
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
