package kubernetes

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
)

// rivals judges whether the same devices are handed out by two who do not know
// of each other.
func (v view) rivals() []Finding {
	const check = "device drivers"
	all := fold(v.nodes, func(it node) (Finding, bool) {
		f := Finding{
			Level: Warning, Check: check, Consequence: "the same device may be given to two pods",
			Remedy: "keep one of the two for each device: kubectl get daemonsets -A; kubectl get resourceslices",
		}
		switch {
		case it.gpus() > 0 && driverDevices(v.State, isGPUDriver, it.Name) > 0:
			f.What = "GPUs are handed out by a device plugin and by a DRA driver"
		case it.efa() > 0 && driverDevices(v.State, isEFADriver, it.Name) > 0:
			f.What = "EFA interfaces are handed out by a device plugin and by a DRA driver"
		default:
			f.What = v.twice(it)
		}
		return f, f.What != ""
	})
	switch err := v.devicesUnseen(); {
	case len(all) > 0:
		return all
	case err != nil:
		return unseen(check, err, "a DRA driver may hand out the same devices as a device plugin", "kubectl get resourceslices")
	case v.DaemonSets.Err != nil:
		return unseen(check, v.DaemonSets.Err, "which device plugins run is not known", "kubectl get daemonsets -A")
	}
	return ok(check, "%s", v.inventory())
}

// devicesUnseen is why the devices of DRA drivers could not be read; nil where they
// were, and where the cluster does not serve such.
func (s State) devicesUnseen() error {
	served := s.Groups.Err != nil || slices.Contains(s.Groups.Value["resource.k8s.io"], "v1")
	if !served || meta.IsNoMatchError(s.Devices.Err) {
		return nil
	}
	return s.Devices.Err
}

// twice names device plugins of one kind that go to the same node.
func (v view) twice(it node) string {
	for _, role := range []Role{GPUPlugin, EFAPlugin} {
		var names []string
		for _, w := range v.plugins(role) {
			if w.Wanted > 0 && Between(&w.Pod, it.Node).None() {
				names = append(names, w.Namespace+"/"+w.Name)
			}
		}
		if len(names) > 1 {
			return "several of " + string(role) + " go there: " + strings.Join(names, ", ")
		}
	}
	return ""
}

// inventory lists what hands out devices in this cluster.
func (v view) inventory() string {
	var parts []string
	for _, w := range slices.Concat(v.DaemonSets.Value, v.Helpers.Value) {
		if w.Role != Autoscaler {
			parts = append(parts, strings.TrimSpace(string(w.Role)+" "+w.Tag()))
		}
	}
	for _, d := range v.Devices.Value {
		parts = append(parts, "DRA "+d.Driver)
	}
	if len(v.Classes.Value) > 0 {
		parts = append(parts, "DeviceClass "+few(v.Classes.Value, manyValues))
	}
	if len(parts) == 0 {
		return "none seen; the nodes may have them built in"
	}
	slices.Sort(parts)
	return strings.Join(slices.Compact(parts), ", ")
}
