package binaries

// A set is what is built, all or nothing, from one folder of pins.
type set struct {
	name     string
	pin      string            // the folder with go.mod and go.sum
	module   string            // the module that the set is made for; its version names the set
	commands map[string]string // name of the program: its package
	files    map[string]string // name in the set: file or pattern in the module, copied
	stamp    string            // package of k8s.io/component-base that is told the version
}

// sets is the table of everything that every cluster of tests is made of.
var sets = []set{
	{
		name:     "etcd",
		pin:      "etcd",
		module:   "go.etcd.io/etcd/server/v3",
		commands: map[string]string{"etcd": "go.etcd.io/etcd/server/v3"},
	},
	{
		name:   "kubernetes",
		pin:    "kubernetes",
		module: "k8s.io/kubernetes",
		commands: map[string]string{
			"kube-apiserver":          "k8s.io/kubernetes/cmd/kube-apiserver",
			"kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
			"kube-scheduler":          "k8s.io/kubernetes/cmd/kube-scheduler",
		},
		stamp: "k8s.io/component-base/version",
	},
	{
		name:     "kubectl",
		pin:      "kubernetes",
		module:   "k8s.io/kubernetes",
		commands: map[string]string{"kubectl": "k8s.io/kubernetes/cmd/kubectl"},
		stamp:    "k8s.io/component-base/version",
	},
	{
		name:     "kuberay",
		pin:      "kuberay",
		module:   "github.com/ray-project/kuberay/ray-operator",
		commands: map[string]string{"kuberay-operator": "github.com/ray-project/kuberay/ray-operator"},
		files:    map[string]string{"crds": "config/crd/bases/*.yaml"},
	},
	{
		name:     "kwok",
		pin:      "kwok",
		module:   "sigs.k8s.io/kwok",
		commands: map[string]string{"kwok": "sigs.k8s.io/kwok/cmd/kwok"},
		files: map[string]string{
			"crds":             "kustomize/crd/bases/*.yaml",
			"stages/node":      "kustomize/stage/node/fast/node-*.yaml",
			"stages/heartbeat": "kustomize/stage/node/heartbeat-with-lease/node-*.yaml",
			"stages/pod":       "kustomize/stage/pod/fast/pod-*.yaml",
		},
	},
}

// nodeSets are what real nodes need beside it, and KubeRay's own client, for
// which there is more to see in real pods.
var nodeSets = []set{
	{
		name:     "kubectl-ray",
		pin:      "kubectl-ray",
		module:   "github.com/ray-project/kuberay",
		commands: map[string]string{"kubectl-ray": "github.com/ray-project/kuberay/kubectl-plugin/cmd"},
	},
	{
		name:     "kubelet", // apart from the control plane, which most runs make do with
		pin:      "kubernetes",
		module:   "k8s.io/kubernetes",
		commands: map[string]string{"kubelet": "k8s.io/kubernetes/cmd/kubelet"},
		stamp:    "k8s.io/component-base/version",
	},
	{
		name:   "containerd",
		pin:    "containerd",
		module: "github.com/containerd/containerd/v2",
		commands: map[string]string{
			"containerd":              "github.com/containerd/containerd/v2/cmd/containerd",
			"containerd-shim-runc-v2": "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
			"ctr":                     "github.com/containerd/containerd/v2/cmd/ctr",
		},
	},
	{
		name:   "cni",
		pin:    "cni",
		module: "github.com/containernetworking/plugins",
		commands: map[string]string{
			"bridge":     "github.com/containernetworking/plugins/plugins/main/bridge",
			"loopback":   "github.com/containernetworking/plugins/plugins/main/loopback",
			"host-local": "github.com/containernetworking/plugins/plugins/ipam/host-local",
		},
	},
	{
		name:     "coredns",
		pin:      "coredns",
		module:   "github.com/coredns/coredns",
		commands: map[string]string{"coredns": "github.com/coredns/coredns"},
	},
}
