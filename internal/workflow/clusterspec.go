package workflow

import (
	"cmp"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/instancetype"
	"github.com/trainyard/trainyard/internal/raycluster"
)

// clusterSpec is the Ray cluster that the settings ask for, of a user who may
// have given it no name. Its error joins every wrong setting with its place.
func clusterSpec(cfg *config.Config, user string) (raycluster.Spec, error) {
	k := cfg.Kubernetes
	r := settingReader{cfg: cfg}
	s := raycluster.Spec{
		Name:            cmp.Or(cfg.Cluster.Name, raycluster.DefaultName(user)),
		Namespace:       k.Namespace,
		Owner:           raycluster.OwnerName(user),
		Image:           cfg.Cluster.Image,
		ImagePullPolicy: corev1.PullPolicy(k.ImagePullPolicy),
		RayVersion:      cfg.Cluster.RayVersion,
		Workers:         cfg.Cluster.Nodes,
		Worker:          r.worker(),
		Zone:            k.Zone,
		NodeSelector:    k.NodeSelector,
		HeadOnGPU:       k.HeadOnGPU,
		Queue:           k.Queue,
		Gang:            k.Gang,
		PriorityClass:   k.PriorityClass,
		ServiceAccount:  k.ServiceAccount,
		Secrets:         k.Secrets,
	}
	s.Tolerations = parsed(&r, "kubernetes.tolerations", k.Tolerations, raycluster.ParseToleration)
	s.Volumes = parsed(&r, "kubernetes.volumes", k.Volumes, raycluster.ParseVolume)
	for _, patch := range k.Patches {
		s.Patches = append(s.Patches, string(patch))
	}
	return s, fault.WithCode(fault.Usage, errors.Join(r.problems...))
}

// settingReader turns settings into values and keeps what is wrong with them.
type settingReader struct {
	cfg      *config.Config
	problems []error
}

func (r *settingReader) wrong(key, format string, args ...any) {
	r.problems = append(r.problems, &config.Problem{Origin: r.cfg.Origin(key), Message: key + " " + fmt.Sprintf(format, args...)})
}

// worker is a node of the instance type, as far as no setting says otherwise.
func (r *settingReader) worker() raycluster.Node {
	node := r.node()
	r.quantity(&node.CPU, "kubernetes.workerCPU", r.cfg.Kubernetes.WorkerCPU)
	r.quantity(&node.Memory, "kubernetes.workerMemory", r.cfg.Kubernetes.WorkerMemory)
	r.quantity(&node.HugePages, "kubernetes.hugePages", r.cfg.Kubernetes.HugePages)
	for name, text := range r.cfg.Kubernetes.Resources {
		if node.Resources == nil {
			node.Resources = map[string]resource.Quantity{}
		}
		var amount resource.Quantity
		r.quantity(&amount, "kubernetes.resources."+name, text)
		node.Resources[name] = amount
	}
	return node
}

func (r *settingReader) node() raycluster.Node {
	c := r.cfg.Cluster
	if c.NodeType == "" {
		return raycluster.Node{GPUs: c.GPUsPerNode, EFA: max(c.EFAPerNode, 0)}
	}
	kind, err := instancetype.Lookup(c.NodeType)
	if err != nil {
		r.wrong("cluster.nodeType", "is an %s", err)
		return raycluster.Node{CPU: resource.MustParse("1"), Memory: resource.MustParse("1Gi")} // nothing more to say of it
	}
	node := raycluster.NodeOf(kind)
	if c.GPUsPerNode > 0 {
		node.GPUs = c.GPUsPerNode
	}
	if c.EFAPerNode >= 0 {
		node.EFA = c.EFAPerNode
	}
	if node.GPUs > kind.GPUs {
		r.wrong("cluster.gpusPerNode", "is %d, but a node of type %s has %d", node.GPUs, kind.Name, kind.GPUs)
	}
	if node.EFA > kind.EFA {
		r.wrong("cluster.efaPerNode", "is %d, but a node of type %s has %d", node.EFA, kind.Name, kind.EFA)
	}
	return node
}

func (r *settingReader) quantity(to *resource.Quantity, key, text string) {
	if text == "" {
		return
	}
	amount, err := resource.ParseQuantity(text)
	if err != nil {
		r.wrong(key, "is %q, must be a quantity", text)
		return
	}
	*to = amount
}

// parsed reads each element of a list with Kubernetes' own fields.
func parsed[T any](r *settingReader, key string, texts []config.JSON, parse func(string) (T, error)) []T {
	var all []T
	for i, text := range texts {
		value, err := parse(string(text))
		if err != nil {
			r.wrong(fmt.Sprintf("%s[%d]", key, i), "has %s", oneLine(err))
			continue
		}
		all = append(all, value)
	}
	return all
}
