package kubernetes

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

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
