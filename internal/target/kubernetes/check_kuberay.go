package kubernetes

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/trainyard/trainyard/internal/kube"
)

const rayGroup = "ray.io"

// oldestServer is the first Kubernetes of which KubeRay 1.6 and the API that we
// use are sure.
const oldestServer = "1.30"

// The KubeRay that trainyard is made for and tested with.
const (
	kubeRaySeries = "1.6"
	installRay    = kube.InstallKubeRay
)

func (v view) server() []Finding {
	if v.Version.Err != nil {
		return unseen("kubernetes", v.Version.Err, "", "kubectl version")
	}
	text := v.Version.Value.GitVersion
	parsed, err := version.ParseGeneric(text)
	if err != nil {
		return unseen("kubernetes", err, "", "kubectl version")
	}
	if parsed.LessThan(version.MustParseGeneric(oldestServer)) {
		return []Finding{{
			Level: Warning, Check: "kubernetes", What: text + " is older than " + oldestServer,
			Consequence: "trainyard is not tested with it", Remedy: "upgrade the cluster; AWS supports 1.35 and newer as standard",
		}}
	}
	return ok("kubernetes", "%s", text)
}

// api judges KubeRay's CustomResourceDefinitions.
func (v view) api() []Finding {
	if v.Groups.Err != nil {
		return unseen("kuberay API", v.Groups.Err, "", "kubectl api-versions")
	}
	served := v.Groups.Value[rayGroup]
	switch {
	case len(served) == 0:
		return []Finding{{
			Level: Problem, Check: "kuberay API", What: "this cluster knows no RayCluster: KubeRay's CRDs are not installed",
			Consequence: "no Ray cluster can be made", Remedy: installRay,
		}}
	case !slices.Contains(served, "v1"):
		return []Finding{{
			Level: Problem, Check: "kuberay API", What: "ray.io/v1 is not served, only " + strings.Join(served, ", ") + ": the CRDs are of KubeRay 0.x",
			Consequence: "no Ray cluster can be made", Remedy: "upgrade KubeRay to " + kubeRaySeries + " and apply its CRDs, which an upgrade by Helm leaves as they are",
		}}
	case v.RayFields.Err != nil:
		return unseen("kuberay API", v.RayFields.Err, "an old CRD drops what it does not know, the dashboard's password among it", "kubectl get crd rayclusters.ray.io -o yaml | grep authOptions")
	case !slices.Contains(v.RayFields.Value, "authOptions"):
		return []Finding{{
			Level: Problem, Check: "kuberay API", What: "the CRD of RayCluster has no authOptions: it is older than KubeRay 1.5",
			Consequence: "Ray's dashboard would run jobs for anybody who reaches it", Remedy: "upgrade the CRDs, which Helm leaves as they are: kubectl replace -k 'github.com/ray-project/kuberay/ray-operator/config/crd?ref=v1.6.2'",
		}}
	}
	return ok("kuberay API", "ray.io/v1 is served")
}

func (v view) operators() []Finding {
	if v.Operators.Err != nil {
		return unseen("kuberay operator", v.Operators.Err, "without it nothing comes of a RayCluster",
			"ask an administrator: kubectl get deployments -A | grep -i kuberay")
	}
	if len(v.Operators.Value) == 0 {
		return absentOperator(v)
	}
	var all []Finding
	for _, o := range v.Operators.Value {
		all = append(all, v.operator(o)...)
	}
	return append(all, v.responsible()...)
}

// absentOperator judges where no Deployment is of the operator. It may run
// elsewhere, as those of managed services do; without its CRDs it runs nowhere.
func absentOperator(v view) []Finding {
	f := Finding{
		Level: Unknown, Check: "kuberay operator", What: "no Deployment of the KubeRay operator in any namespace",
		Consequence: "unless it runs outside the cluster, nothing comes of a RayCluster", Remedy: installRay,
	}
	if v.Groups.Err == nil && len(v.Groups.Value[rayGroup]) == 0 {
		f.Level, f.Consequence = Problem, "nothing comes of a RayCluster"
	}
	return []Finding{f}
}

// operator judges one installation by itself.
func (v view) operator(o Operator) []Finding {
	name := "deployment " + o.Namespace + "/" + o.Name
	switch {
	case o.Wanted == 0:
		return []Finding{{
			Level: Problem, Check: "kuberay operator", What: name + " is scaled to 0",
			Consequence: "nothing comes of a RayCluster", Remedy: "kubectl -n " + o.Namespace + " scale deployment " + o.Name + " --replicas 1",
		}}
	case o.Ready == 0:
		return []Finding{{
			Level: Problem, Check: "kuberay operator", What: name + " is not ready",
			Consequence: "nothing comes of a RayCluster", Remedy: "kubectl -n " + o.Namespace + " describe deployment " + o.Name + "; kubectl -n " + o.Namespace + " logs deployment/" + o.Name,
		}}
	}
	all := v.operatorVersion(o, name)
	for _, it := range v.nodes {
		if it.hasGPUs && slices.Contains(o.Nodes, it.Name) {
			all = append(all, Finding{
				Level: Warning, Check: "kuberay operator", What: name + " runs on a node with GPUs", Where: []string{it.Name},
				Consequence: "it takes CPU and memory there, and goes when that node does",
				Remedy:      "give it a node selector or affinity for other nodes: kubectl -n " + o.Namespace + " edit deployment " + o.Name,
			})
		}
	}
	return all
}

func (v view) operatorVersion(o Operator, name string) []Finding {
	found, err := version.ParseGeneric(o.Tag())
	wanted := version.MustParseGeneric(kubeRaySeries)
	switch {
	case err != nil:
		return []Finding{{
			Level: Unknown, Check: "kuberay operator", What: name + " is ready; its image " + o.Image + " does not tell the version",
			Consequence: "versions before 1.5 leave the dashboard open to anybody", Remedy: "kubectl -n " + o.Namespace + " get deployment " + o.Name + " -o yaml",
		}}
	case found.LessThan(version.MustParseGeneric("1.5")):
		return []Finding{{
			Level: Problem, Check: "kuberay operator", What: name + " is " + o.Tag() + ", which knows no authOptions",
			Consequence: "Ray's dashboard would run jobs for anybody who reaches it", Remedy: "upgrade it to " + kubeRaySeries + ".x, with its CRDs",
		}}
	case found.Major() != wanted.Major() || found.Minor() != wanted.Minor():
		return []Finding{{
			Level: Warning, Check: "kuberay operator", What: name + " is " + o.Tag() + ", not " + kubeRaySeries + ".x",
			Consequence: "trainyard is not tested with it", Remedy: "go on, or take " + kubeRaySeries + ".x",
		}}
	}
	return ok("kuberay operator", "%s is ready, %s", name, o.Tag())
}

// responsible judges whether exactly one operator looks after the namespace.
func (v view) responsible() []Finding {
	var names, elsewhere []string
	for _, o := range v.Operators.Value {
		if len(o.Watches) == 0 || slices.Contains(o.Watches, v.Namespace) {
			names = append(names, o.Namespace+"/"+o.Name)
			continue
		}
		elsewhere = append(elsewhere, o.Watches...)
	}
	switch {
	case len(names) == 0:
		return []Finding{{
			Level: Problem, Check: "kuberay operator", What: "no operator looks after namespace " + v.Namespace + ", only after " + few(elsewhere, manyNodes),
			Consequence: "nothing comes of a RayCluster here", Remedy: "trainyard check --namespace " + elsewhere[0] + ", or add the namespace to the operator's --watch-namespace",
		}}
	case len(names) > 1:
		return []Finding{{
			Level: Warning, Check: "kuberay operator", What: "several operators look after namespace " + v.Namespace + ": " + strings.Join(names, ", "),
			Consequence: "both make pods for one RayCluster", Remedy: "keep one of them: kubectl get deployments -A | grep -i kuberay",
		}}
	}
	return nil
}
