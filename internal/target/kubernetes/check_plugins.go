package kubernetes

import (
	"fmt"
	"strings"

	"github.com/trainyard/trainyard/internal/kube"
)

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
	what: "nvidia.com/gpu", role: GPUPlugin, install: kube.InstallNVIDIA, isDriver: isGPUDriver,
	finds: "finds no GPU: the node has no working NVIDIA driver", thenDo: "use an AMI with the driver, such as AL2023_x86_64_NVIDIA; see",
	presentLabel: "nvidia.com/gpu.present",
}

var efaTrouble = trouble{
	what: "vpc.amazonaws.com/efa", role: EFAPlugin, install: kube.InstallEFA, isDriver: isEFADriver,
	finds: "finds no interface: the instance was launched without EFA", thenDo: "launch the nodes with EFA interfaces, which cannot be added later; see",
	presentLabel: "vpc.amazonaws.com/efa.present",
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
		return what, "add the type to its list, kubectl -n " + w.Namespace + " edit daemonset " + w.Name + ", or put ours in its place, which has it: remove it, then " + t.install
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
