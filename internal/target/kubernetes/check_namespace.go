package kubernetes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

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

// quotas judges what the namespace may still use, and how large its pods may be.
func (v view) quotas() []Finding {
	all := v.largestPod()
	if v.Quotas.Err != nil {
		return append(all, unseen("quota", v.Quotas.Err, "", "kubectl -n "+v.Namespace+" get resourcequota")...)
	}
	wanted := v.wholeRequest()
	for _, quota := range v.Quotas.Value {
		var short []string
		for _, name := range slices.Sorted(maps.Keys(quota.Status.Hard)) {
			hard, used := quota.Status.Hard[name], quota.Status.Used[name]
			left := hard.DeepCopy()
			left.Sub(used)
			if want, asked := wanted[name]; asked && left.Cmp(want) < 0 {
				short = append(short, fmt.Sprintf("%s: %s wanted, %s of %s left", name, &want, &left, &hard))
			}
		}
		if len(short) > 0 {
			all = append(all, Finding{
				Level: Problem, Check: "quota", What: "ResourceQuota " + quota.Name + " is too small: " + strings.Join(short, "; "),
				Consequence: "the pods beyond it do not come into being", Remedy: "ask for fewer with --nodes, or for more: kubectl -n " + v.Namespace + " describe resourcequota " + quota.Name,
			})
		}
	}
	switch {
	case len(all) > 0:
		return all
	case len(v.Quotas.Value) == 0:
		return ok("quota", "none on namespace %s", v.Namespace)
	}
	return ok("quota", "room for %s", counted(v.need.Nodes, "worker"))
}

// wholeRequest is what all pods ask for beyond those that the Ray cluster has
// already, under the names that quotas have.
func (v view) wholeRequest() corev1.ResourceList {
	pods := corev1.ResourceList{}
	for range v.need.Nodes {
		add(pods, v.ask)
	}
	if len(v.need.Head.Containers) > 0 {
		add(pods, requests(&v.need.Head))
	}
	whole := corev1.ResourceList{}
	for name, amount := range without(pods, v.Own.Value) {
		switch name {
		case corev1.ResourcePods:
			whole["count/pods"] = amount
		case corev1.ResourceCPU, corev1.ResourceMemory:
			whole[corev1.DefaultResourceRequestsPrefix+name] = amount
			whole["limits."+name] = amount // workers ask for as much as they may use
		default:
			whole[corev1.DefaultResourceRequestsPrefix+name] = amount
		}
		whole[name] = amount
	}
	return whole
}

func (v view) largestPod() []Finding {
	if v.Limits.Err != nil {
		return unseen("quota", v.Limits.Err, "", "kubectl -n "+v.Namespace+" get limitrange")
	}
	var all []Finding
	for _, limits := range v.Limits.Value {
		for _, limit := range limits.Spec.Limits {
			if limit.Type != corev1.LimitTypePod && limit.Type != corev1.LimitTypeContainer {
				continue
			}
			for _, name := range slices.Sorted(maps.Keys(limit.Max)) {
				most, ask := limit.Max[name], v.ask[name]
				if ask.Cmp(most) > 0 {
					all = append(all, Finding{
						Level: Problem, Check: "quota", What: fmt.Sprintf("LimitRange %s allows a %s %s of %s; a worker asks for %s", limits.Name, strings.ToLower(string(limit.Type)), name, &most, &ask),
						Consequence: "no worker comes into being", Remedy: "kubectl -n " + v.Namespace + " edit limitrange " + limits.Name,
					})
				}
			}
		}
	}
	return all
}

func (v view) account() []Finding {
	name := cmp.Or(v.need.ServiceAccount, "default")
	switch err := v.Account.Err; {
	case err == nil:
		return ok("service account", "%s", name)
	case apierrors.IsNotFound(err) && apierrors.IsNotFound(v.Place.Err):
		return nil // said of the namespace
	case apierrors.IsNotFound(err):
		return []Finding{{
			Level: Problem, Check: "service account", What: name + " does not exist in namespace " + v.Namespace,
			Consequence: "no pod comes into being", Remedy: "kubectl -n " + v.Namespace + " create serviceaccount " + name,
		}}
	default:
		return unseen("service account", err, "which Secrets pull the image is not known", "kubectl -n "+v.Namespace+" get serviceaccount "+name)
	}
}

func (v view) secrets() []Finding {
	var all []Finding
	for _, name := range slices.Sorted(maps.Keys(v.Secrets)) {
		use := "pull the image"
		if slices.Contains(v.need.Secrets, name) {
			use = "give variables"
		}
		switch err := v.Secrets[name]; {
		case err == nil:
			all = append(all, ok("secret", "%s, to %s", name, use)...)
		case apierrors.IsNotFound(err) && use == "pull the image":
			all = append(all, Finding{
				Level: Warning, Check: "secret", What: name + ", with which images are to be pulled, does not exist in namespace " + v.Namespace,
				Consequence: "a private image is not pulled", Remedy: "kubectl -n " + v.Namespace + " create secret docker-registry " + name + " --docker-server=... --docker-username=... --docker-password=...",
			})
		case apierrors.IsNotFound(err):
			all = append(all, Finding{
				Level: Problem, Check: "secret", What: name + " does not exist in namespace " + v.Namespace,
				Consequence: "no pod starts", Remedy: "kubectl -n " + v.Namespace + " create secret generic " + name + " --from-literal=NAME=VALUE",
			})
		default:
			all = append(all, unseen("secret", err, "pods do not start where it is missing", "kubectl -n "+v.Namespace+" get secret "+name)...)
		}
	}
	return all
}

func (v view) claims() []Finding {
	var all []Finding
	for _, name := range slices.Sorted(maps.Keys(v.Claims)) {
		all = append(all, v.claim(name)...)
	}
	return all
}

func (v view) claim(name string) []Finding {
	claim, err := v.Claims[name].Value, v.Claims[name].Err
	check := "volume"
	switch {
	case apierrors.IsNotFound(err):
		return []Finding{{
			Level: Problem, Check: check, What: "PersistentVolumeClaim " + name + " does not exist in namespace " + v.Namespace,
			Consequence: "pods stay Pending", Remedy: "kubectl -n " + v.Namespace + " get pvc",
		}}
	case err != nil:
		return unseen(check, err, "pods stay Pending where it is missing", "kubectl -n "+v.Namespace+" get pvc "+name)
	case claim.DeletionTimestamp != nil, claim.Status.Phase == corev1.ClaimLost:
		return []Finding{{
			Level: Problem, Check: check, What: "PersistentVolumeClaim " + name + " is lost or being deleted",
			Consequence: "pods stay Pending", Remedy: "kubectl -n " + v.Namespace + " describe pvc " + name,
		}}
	case !slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteMany) && !slices.Contains(claim.Spec.AccessModes, corev1.ReadOnlyMany):
		return []Finding{{
			Level: Problem, Check: check, What: "PersistentVolumeClaim " + name + " can be mounted on one node only (" + modes(claim) + ")",
			Consequence: "the pods of all other nodes stay Pending", Remedy: "use a claim that is ReadWriteMany, such as one of FSx for Lustre or EFS",
		}}
	case claim.Status.Phase != corev1.ClaimBound:
		return []Finding{{
			Level: Warning, Check: check, What: "PersistentVolumeClaim " + name + " is not bound yet (" + string(claim.Status.Phase) + ")",
			Consequence: "pods wait for its volume", Remedy: "kubectl -n " + v.Namespace + " describe pvc " + name,
		}}
	}
	return ok(check, "PersistentVolumeClaim %s, %s", name, modes(claim))
}

func modes(claim corev1.PersistentVolumeClaim) string {
	var names []string
	for _, mode := range claim.Spec.AccessModes {
		names = append(names, string(mode))
	}
	return strings.Join(names, ", ")
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
