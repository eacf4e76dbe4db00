package raycluster

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainyard/trainyard/internal/instancetype"
)

// NodeOf is the worker for an instance type: all its GPUs and EFA interfaces,
// and 5/6 of its CPUs and memory. The rest is for the system, the kubelet and
// what runs on every node: on the largest types far more than they need, on the
// smallest just enough.
func NodeOf(t instancetype.Type) Node {
	cpu, memory := Share(corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(t.VCPUs), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(int64(t.MemoryMiB)<<20, resource.BinarySI),
	})
	return Node{
		InstanceType: t.Name, GPUs: t.GPUs, EFA: t.EFA, CPU: cpu, Memory: memory,
		HugePages: *resource.NewQuantity(int64(t.HugePagesMiB)<<20, resource.BinarySI),
	}
}

// Share is 5/6 of what a node has, in whole CPUs and GiB where there is at
// least one: 40 CPUs and 160 GiB of g6.12xlarge, as in AWS's sample.
func Share(node corev1.ResourceList) (cpu, memory resource.Quantity) {
	milli := whole(node.Cpu().MilliValue()*5/6, 1000)
	bytes := whole(node.Memory().Value()*5/6, 1<<30)
	return *resource.NewMilliQuantity(milli, resource.DecimalSI), *resource.NewQuantity(bytes, resource.BinarySI)
}

func whole(n, unit int64) int64 {
	if n < unit {
		return n
	}
	return n / unit * unit
}
