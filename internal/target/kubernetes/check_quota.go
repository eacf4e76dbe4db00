package kubernetes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

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
