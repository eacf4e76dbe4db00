package kubernetes

import (
	"fmt"
	"strings"
)

// gpus judges whether the nodes offer all GPUs that they have.
func (v view) gpus() []Finding {
	const check = "gpus"
	switch {
	case len(v.nodes) == 0:
		return nil // said of the nodes
	case v.gpusAsked() == 0 && v.need.Type.GPUs == 0:
		return ok(check, "none asked for")
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
		case asked == 0 && v.gpusAsked() > 0 && (it.typ.EFA > 0 || have > 0):
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
