package binaries

// A set is what is built from one folder of pins.
type set struct {
	pin      string            // the folder with go.mod and go.sum
	module   string            // the module that the set is made for; its version names the set
	commands map[string]string // name of the program: its package
	files    map[string]string // name in the set: file or pattern in the module, copied
	stamp    string            // package of k8s.io/component-base that is told the version
}

// sets is the table of everything that a cluster of tests is made of.
var sets = []set{
	{
		pin:      "etcd",
		module:   "go.etcd.io/etcd/server/v3",
		commands: map[string]string{"etcd": "go.etcd.io/etcd/server/v3"},
	},
	{
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
		pin:      "kuberay",
		module:   "github.com/ray-project/kuberay/ray-operator",
		commands: map[string]string{"kuberay-operator": "github.com/ray-project/kuberay/ray-operator"},
		files:    map[string]string{"crds": "config/crd/bases/*.yaml"},
	},
	{
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
