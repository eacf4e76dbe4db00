package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
)

// gpus judges whether the nodes offer all GPUs that they have.
func (v view) gpus() []Finding {
	const check = "gpus"
	if len(v.nodes) == 0 {
		return nil // said of the nodes
	}
	all := fold(v.nodes, func(it node) (Finding, bool) {
		f := Finding{Level: Problem, Check: check, Consequence: noWorker}
		have, whole := it.gpus(), count(it.Status.Capacity, gpuResource)
		want := it.typ.GPUs
		if want == 0 {
			want = max(v.gpusAsked(), 1)
		}
		switch {
		case shared(it):
			f.What = fmt.Sprintf("%d nvidia.com/gpu: GPUs are shared (time-slicing, MPS or MIG)", have)
			f.Consequence = "ranks get the same GPU, and NCCL refuses that"
			f.Remedy = "turn sharing off in the device plugin's configuration"
		case v.gpusAsked() > want && it.typ.GPUs > 0:
			f.What = fmt.Sprintf("%s has %s; a worker asks for %d", it.typeName, counted(want, "GPU"), v.gpusAsked())
			f.Remedy = fmt.Sprintf("--gpus-per-node %d, or another --node-type", want)
		case have >= want:
			return f, false
		case whole > have:
			f.What = fmt.Sprintf("%d of %s healthy: the device plugin took the others out", have, counted(whole, "GPU"))
			f.Remedy = "see the node's kernel log for Xid errors, then replace it: kubectl drain {nodes} --ignore-daemonsets --delete-emptydir-data"
		case have == 0:
			f.What, f.Remedy = v.missing(it, gpuTrouble)
		default:
			f.What = fmt.Sprintf("%d of %s offered", have, counted(want, "GPU"))
			f.Remedy = "see what the device plugin says" + v.logsOf(GPUPlugin)
		}
		if have > 0 && have >= v.gpusAsked() && !shared(it) {
			f.Level, f.Consequence = Warning, "a worker finds room, the other GPUs are idle"
		}
		return f, true
	})
	if len(all) > 0 {
		return all
	}
	return ok(check, "%s, and all GPUs of each are offered", counted(len(v.nodes), "node"))
}

// shared tells whether the GPUs of a node are handed out several times.
func shared(it node) bool {
	replicas := it.Labels["nvidia.com/gpu.replicas"]
	return it.typ.GPUs > 0 && it.gpus() > it.typ.GPUs || replicas != "" && replicas != "0" && replicas != "1" ||
		strings.HasSuffix(it.Labels["nvidia.com/gpu.product"], "-SHARED")
}

// efa judges whether the nodes offer the EFA interfaces that workers ask for.
func (v view) efa() []Finding {
	const check = "efa"
	if len(v.nodes) == 0 {
		return nil
	}
	asked := v.efaAsked()
	all := fold(v.nodes, func(it node) (Finding, bool) {
		f := Finding{Level: Problem, Check: check, Consequence: noWorker}
		have := it.efa()
		switch {
		case asked == 0 && (it.typ.EFA > 0 || have > 0):
			f.Level, f.What = Warning, fmt.Sprintf("%s offered, and workers ask for none", counted(max(it.typ.EFA, have), "EFA interface"))
			f.Consequence, f.Remedy = "NCCL uses TCP, at a fraction of the speed", "in trainyard.yaml: cluster.efaPerNode: -1"
		case asked == 0:
			return f, false
		case it.typ.GPUs > 0 && it.typ.EFA == 0:
			f.What, f.Remedy = it.typeName+" has no EFA", "choose a larger --node-type, or cluster.efaPerNode: 0 in trainyard.yaml"
		case it.typ.EFA > 0 && asked > it.typ.EFA:
			f.What = fmt.Sprintf("%s has %s; a worker asks for %d", it.typeName, counted(it.typ.EFA, "EFA interface"), asked)
			f.Remedy = "in trainyard.yaml: cluster.efaPerNode: -1"
		case have == 0:
			f.What, f.Remedy = v.missing(it, efaTrouble)
		case have < max(asked, it.typ.EFA):
			f.What = fmt.Sprintf("%d of %s offered", have, counted(max(asked, it.typ.EFA), "EFA interface"))
			f.Remedy = "interfaces are attached when an instance is launched: launch the nodes with all of them"
			if have >= asked {
				f.Level, f.Consequence = Warning, "the network has less than its full speed"
			}
		default:
			return f, false
		}
		return f, true
	})
	switch {
	case len(all) > 0:
		return all
	case asked == 0:
		return ok(check, "none here, none asked for")
	}
	return ok(check, "%s, and all interfaces of each are offered", counted(len(v.nodes), "node"))
}

// trouble is what there is to say where nodes offer none of a device.
type trouble struct {
	what         string // the devices
	role         Role
	install      string
	isDriver     func(driver string) bool
	finds        string // where the plugin runs and finds nothing
	thenDo       string
	presentLabel string // by which charts choose nodes
}

var gpuTrouble = trouble{
	what: "nvidia.com/gpu", role: GPUPlugin, install: "trainyard addons install nvidia", isDriver: isGPUDriver,
	finds: "finds no GPU: the node has no working NVIDIA driver", thenDo: "use an AMI with the driver, such as AL2023_x86_64_NVIDIA; see",
	presentLabel: "nvidia.com/gpu.present",
}

var efaTrouble = trouble{
	what: "vpc.amazonaws.com/efa", role: EFAPlugin, install: "trainyard addons install efa", isDriver: isEFADriver,
	finds: "finds no interface: the instance was launched without EFA", thenDo: "launch the nodes with EFA interfaces, which cannot be added later; see",
}

func isGPUDriver(driver string) bool { return driver == "gpu.nvidia.com" }

func isEFADriver(driver string) bool {
	return strings.Contains(driver, "efa") || strings.Contains(driver, "dra.net") || strings.Contains(driver, "dranet")
}

// missing says why a node offers none of a device, and what to do.
func (v view) missing(it node, t trouble) (what, remedy string) {
	what = "no " + t.what + ": "
	plugins := v.plugins(t.role)
	switch {
	case v.DaemonSets.Err != nil && len(plugins) == 0:
		return what + "whether a plugin runs could not be read, " + reason(v.DaemonSets.Err), "ask an administrator: kubectl get daemonsets -A"
	case len(plugins) == 0 && driverDevices(v.State, t.isDriver, it.Name) > 0:
		return what + "a DRA driver hands them out as ResourceClaims, which trainyard does not use",
			"on nodes for trainyard, replace the DRA driver by the device plugin: " + t.install
	case len(plugins) == 0 && t.role == GPUPlugin && v.helper(GPUOperator) != nil:
		return what + "the GPU Operator runs no device plugin", "kubectl get clusterpolicy -o yaml; kubectl -n " + v.helper(GPUOperator).Namespace + " get pods"
	case len(plugins) == 0:
		return what + "no " + string(t.role) + " is installed", t.install
	}
	for _, w := range plugins {
		if Between(&w.Pod, it.Node).None() {
			return idle(w, what, t)
		}
	}
	return passedOver(plugins[0], it, what, t)
}

// idle is for a plugin that goes to the node and yet offers nothing.
func idle(w Workload, what string, t trouble) (string, string) {
	name := "daemonset " + w.Namespace + "/" + w.Name
	if w.Ready < w.Wanted || w.Wanted == 0 {
		return what + fmt.Sprintf("%s goes there, and %d of its %s are ready", name, w.Ready, counted(w.Wanted, "pod")),
			"kubectl -n " + w.Namespace + " describe daemonset " + w.Name + "; kubectl -n " + w.Namespace + " logs daemonset/" + w.Name
	}
	return what + name + " " + t.finds, t.thenDo + ": kubectl -n " + w.Namespace + " logs daemonset/" + w.Name
}

// passedOver is for a plugin whose DaemonSet does not choose the node: nothing
// in the cluster says so.
func passedOver(w Workload, it node, what string, t trouble) (string, string) {
	o := Between(&w.Pod, it.Node)
	what += fmt.Sprintf("daemonset %s/%s passes over the node: %s", w.Namespace, w.Name, o)
	switch {
	case len(o.Labels) > 0:
		return what, "kubectl label node {nodes} " + strings.Join(o.Labels, " ")
	case t.presentLabel != "" && strings.Contains(o.Affinity, t.presentLabel):
		return what, "kubectl label node {nodes} " + t.presentLabel + "=true"
	case o.Affinity != "":
		return what, t.install + ", which does not choose by a list; or kubectl -n " + w.Namespace + " edit daemonset " + w.Name
	}
	return what, tolerate(w, o.Taints[0])
}

// tolerate is the command that lets a DaemonSet tolerate a taint, beside what
// it tolerates.
func tolerate(w Workload, taint string) string {
	key, _, _ := strings.Cut(taint, "=")
	key, _, _ = strings.Cut(key, ":")
	path, value := "tolerations/-", fmt.Sprintf(`{"key":%q,"operator":"Exists"}`, key)
	if len(w.Pod.Tolerations) == 0 {
		path, value = "tolerations", "["+value+"]"
	}
	return fmt.Sprintf(`kubectl -n %s patch daemonset %s --type json -p '[{"op":"add","path":"/spec/template/spec/%s","value":%s}]'`, w.Namespace, w.Name, path, value)
}

// plugins are the DaemonSets of a role.
func (v view) plugins(role Role) []Workload {
	var all []Workload
	for _, w := range v.DaemonSets.Value {
		if w.Role == role {
			all = append(all, w)
		}
	}
	return all
}

func (v view) helper(role Role) *Workload {
	for i, w := range v.Helpers.Value {
		if w.Role == role {
			return &v.Helpers.Value[i]
		}
	}
	return nil
}

func (v view) logsOf(role Role) string {
	for _, w := range v.plugins(role) {
		return ": kubectl -n " + w.Namespace + " logs daemonset/" + w.Name
	}
	return ""
}

// driverDevices counts what DRA drivers of a kind offer on a node.
func driverDevices(s State, isDriver func(string) bool, node string) int {
	sum := 0
	for _, d := range s.Devices.Value {
		if isDriver(d.Driver) {
			sum += d.Nodes[node]
		}
	}
	return sum
}

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
	served := v.Groups.Err != nil || slices.Contains(v.Groups.Value["resource.k8s.io"], "v1")
	switch {
	case len(all) > 0:
		return all
	case v.Devices.Err != nil && served && !meta.IsNoMatchError(v.Devices.Err):
		return unseen(check, v.Devices.Err, "a DRA driver may hand out the same devices as a device plugin", "kubectl get resourceslices")
	case v.DaemonSets.Err != nil:
		return unseen(check, v.DaemonSets.Err, "which device plugins run is not known", "kubectl get daemonsets -A")
	}
	return ok(check, "%s", v.inventory())
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
