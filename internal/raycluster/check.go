package raycluster

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"
)

// maxName leaves room for what KubeRay adds to the name of a RayJob. Source:
// MaxRayJobNameLength in KubeRay 1.6's validation.
const maxName = 47

// minRay is the first Ray that asks for a token; KubeRay refuses the token
// with an older one.
const minRay = "2.52.0"

// check finds everything that KubeRay or the API server would refuse later.
func (s Spec) check() error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	must := func(what, value string, wrong []string) {
		if len(wrong) > 0 {
			add("%s %q: %s", what, value, strings.Join(wrong, "; "))
		}
	}

	must("cluster name", s.Name, validation.IsDNS1035Label(s.Name))
	if len(s.Name) > maxName {
		add("cluster name %q has %d letters, must have %d or fewer", s.Name, len(s.Name), maxName)
	}
	if s.Namespace != "" {
		must("namespace", s.Namespace, validation.IsDNS1123Label(s.Namespace))
	}
	must("owner", s.Owner, validation.IsValidLabelValue(s.Owner))
	if s.Image == "" {
		add("no image")
	}
	if v, err := version.ParseGeneric(s.RayVersion); err != nil || v.LessThan(version.MustParseGeneric(minRay)) {
		add("Ray version %q, must be %s or newer", s.RayVersion, minRay)
	}
	if s.Workers < 1 {
		add("%d worker nodes, must be 1 or more", s.Workers)
	}
	for _, name := range s.Secrets {
		must("secret", name, validation.IsDNS1123Subdomain(name))
	}
	for _, key := range slices.Sorted(maps.Keys(s.NodeSelector)) {
		must("node label", key, validation.IsQualifiedName(key))
		must("value of node label "+key, s.NodeSelector[key], validation.IsValidLabelValue(s.NodeSelector[key]))
	}
	problems = append(problems, s.Worker.check(), checkVolumes(s.Volumes))
	return errors.Join(problems...)
}

func (n Node) check() error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if n.GPUs < 0 || n.EFA < 0 {
		add("%d GPUs and %d EFA interfaces a worker, must be 0 or more", n.GPUs, n.EFA)
	}
	if n.CPU.Sign() <= 0 {
		add("no CPU for a worker: set kubernetes.workerCPU (--worker-cpu), or cluster.nodeType")
	}
	if n.Memory.Sign() <= 0 {
		add("no memory for a worker: set kubernetes.workerMemory (--worker-memory), or cluster.nodeType")
	}
	if n.HugePages.Sign() < 0 || n.HugePages.Value()%(2<<20) != 0 {
		add("huge pages of %s a worker, must be a multiple of 2Mi", n.HugePages.String())
	}
	for _, name := range slices.Sorted(maps.Keys(n.Resources)) {
		if wrong := validation.IsQualifiedName(name); len(wrong) > 0 || !strings.Contains(name, "/") {
			add("resource %q, must be a name such as rdma/hca", name)
		}
	}
	return errors.Join(problems...)
}

func checkVolumes(all []Volume) error {
	var problems []error
	names, paths := map[string]bool{}, map[string]bool{}
	for i, v := range all {
		if names[v.name(i)] {
			problems = append(problems, fmt.Errorf("two volumes have the name %q", v.name(i)))
		}
		if paths[v.MountPath] {
			problems = append(problems, fmt.Errorf("two volumes are mounted at %q", v.MountPath))
		}
		names[v.name(i)], paths[v.MountPath] = true, true
	}
	return errors.Join(problems...)
}
