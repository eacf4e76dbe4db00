package kubernetes

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainyard/trainyard/internal/instancetype"
	"github.com/trainyard/trainyard/internal/kube"
)

func TestJudgeHealthy(t *testing.T) {
	findings := Judge(goodState(), goodNeed(t))
	checks := map[string]bool{}
	for _, f := range findings {
		checks[f.Check] = true
		if f.Level != OK {
			t.Errorf("%+v", f)
		}
	}
	for _, check := range []string{
		"kubernetes", "kuberay API", "kuberay operator", "namespace", "ray cluster", "quota", "service account", "secret", "volume", "queue",
		"permissions", "add-ons", "nodes", "gpus", "efa", "driver", "device drivers", "zone", "room", "head",
	} {
		if !checks[check] {
			t.Errorf("nothing is said of %s", check)
		}
	}
}

// TestJudgeWithoutGPUs: where workers ask for no GPUs, any node will do.
func TestJudgeWithoutGPUs(t *testing.T) {
	state, need := goodState(), goodNeed(t)
	need.Type, need.OneZone, need.Worker = instancetype.Type{}, false, podOf(resources("cpu", "1", "memory", "2Gi"))
	state.Nodes.Value = []corev1.Node{systemNode(), systemNode(), systemNode()}
	state.Nodes.Value[1].Name, state.Nodes.Value[2].Name = "system-1", "system-2"
	for _, f := range Judge(state, need) {
		if f.Level != OK || f.Check == "nodes" && f.What != "3 nodes, 3 open to workers, 2 wanted" {
			t.Errorf("%+v", f)
		}
	}
	state.Nodes.Value = state.Nodes.Value[:1]
	found := slices.ContainsFunc(Judge(state, need), func(f Finding) bool {
		return f.Level == Warning && f.Check == "nodes" && f.What == "1 of 1 node open to workers, and 2 wanted"
	})
	if !found {
		t.Errorf("one node for two workers: %+v", Judge(state, need))
	}
}

// each of these breaks one thing, and exactly one finding must say so.
var breaks = []struct {
	name               string
	spoil              func(*State, *Need)
	level              Level
	check, what, where string
	remedy             string
}{
	{"old server", func(s *State, _ *Need) { s.Version.Value.GitVersion = "v1.27.4" }, Warning, "kubernetes", "v1.27.4 is older", "", "upgrade"},
	{"no version", func(s *State, _ *Need) { s.Version.Err = errors.New("EOF") }, Unknown, "kubernetes", "EOF", "", "kubectl version"},

	{"no API", func(s *State, _ *Need) { delete(s.Groups.Value, "ray.io") }, Problem, "kuberay API", "not installed", "", kube.InstallKubeRay},
	{"old API", func(s *State, _ *Need) { s.Groups.Value["ray.io"] = []string{"v1alpha1"} }, Problem, "kuberay API", "only v1alpha1", "", "upgrade"},
	{"old CRD", func(s *State, _ *Need) { s.RayFields.Value = []string{"headGroupSpec"} }, Problem, "kuberay API", "authOptions", "", "kubectl replace"},
	{"unread CRD", func(s *State, _ *Need) { s.RayFields.Err = errors.New("EOF") }, Unknown, "kuberay API", "EOF", "", "authOptions"},

	{"operators unread", func(s *State, _ *Need) { s.Operators.Err = denied("deployments") }, Unknown, "kuberay operator", `user "guest" cannot list`, "", "kubectl get deployments"},
	{"no operator", func(s *State, _ *Need) { s.Operators.Value = nil }, Unknown, "kuberay operator", "no Deployment", "", kube.InstallKubeRay},
	{"operator off", func(s *State, _ *Need) { s.Operators.Value[0].Wanted = 0 }, Problem, "kuberay operator", "scaled to 0", "", "--replicas 1"},
	{"operator down", func(s *State, _ *Need) { s.Operators.Value[0].Ready = 0 }, Problem, "kuberay operator", "not ready", "", "kubectl -n kuberay logs"},
	{"operator new", func(s *State, _ *Need) { s.Operators.Value[0].Image = "quay.io/kuberay/operator:v1.7.1" }, Warning, "kuberay operator", "v1.7.1, not 1.6.x", "", ""},
	{"operator old", func(s *State, _ *Need) { s.Operators.Value[0].Image = "mirror:5000/kuberay/operator:v1.3.0@sha256:00" }, Problem, "kuberay operator", "v1.3.0, which knows no authOptions", "", "upgrade"},
	{"operator by digest", func(s *State, _ *Need) { s.Operators.Value[0].Image = "quay.io/kuberay/operator@sha256:00" }, Unknown, "kuberay operator", "does not tell", "", ""},
	{"operator of others", func(s *State, _ *Need) { s.Operators.Value[0].Watches = []string{"a", "b"} }, Problem, "kuberay operator", "no operator looks after namespace ray-train, only after a, b", "", "--namespace a"},
	{"two operators", func(s *State, _ *Need) {
		s.Operators.Value = append(s.Operators.Value, s.Operators.Value[0])
	}, Warning, "kuberay operator", "several operators", "", ""},
	{"operator on GPUs", func(s *State, _ *Need) { s.Operators.Value[0].Nodes = []string{"gpu-1"} }, Warning, "kuberay operator", "runs on a node with GPUs", "gpu-1", "affinity"},

	{"no namespace", func(s *State, _ *Need) { s.Place.Err = notFound("namespaces", "ray-train") }, Problem, "namespace", "does not exist", "", "kubectl create namespace ray-train"},
	{"namespace unread", func(s *State, _ *Need) { s.Place.Err = denied("namespaces") }, Unknown, "namespace", "cannot", "", "can-i"},
	{"namespace going", func(s *State, _ *Need) { s.Place.Value.Status.Phase = corev1.NamespaceTerminating }, Problem, "namespace", "being deleted", "", "--namespace"},
	{"strict namespace", func(s *State, _ *Need) { s.Place.Value.Labels = map[string]string{securityLevel: "restricted"} }, Warning, "namespace", "restricted", "", "baseline"},

	{"somebody else's name", func(s *State, _ *Need) {
		s.Existing = Part[map[string]string]{Value: kube.Owner{Cluster: "mine", User: "bob"}.Labels()}
	}, Problem, "ray cluster", `mine exists and is not yours: its label trainyard.dev/owner is "bob", not "ada"`, "", "--ray-cluster"},
	{"name of something else", func(s *State, _ *Need) { s.Existing = Part[map[string]string]{} }, Problem, "ray cluster", `managed-by is "", not "trainyard"`, "", "--ray-cluster"},
	{"name unread", func(s *State, _ *Need) { s.Existing.Err = denied("rayclusters") }, Unknown, "ray cluster", "cannot", "", "get raycluster mine"},

	{"quota", func(s *State, _ *Need) {
		s.Quotas.Value = []corev1.ResourceQuota{quota(resources("requests.nvidia.com/gpu", "8"), resources("requests.nvidia.com/gpu", "2"))}
	}, Problem, "quota", "requests.nvidia.com/gpu: 8 wanted, 6 of 8 left", "", "--nodes"},
	{"quota unread", func(s *State, _ *Need) { s.Quotas.Err = denied("resourcequotas") }, Unknown, "quota", "cannot", "", ""},
	{"limits", func(s *State, _ *Need) {
		s.Limits.Value = []corev1.LimitRange{{Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Max: resources("memory", "64Gi")}}}}}
	}, Problem, "quota", "memory of 64Gi; a worker asks for 160Gi", "", "limitrange"},
	{"limits unread", func(s *State, _ *Need) { s.Limits.Err = denied("limitranges") }, Unknown, "quota", "cannot", "", ""},

	{"no account", func(s *State, _ *Need) { s.Account.Err = notFound("serviceaccounts", "x") }, Problem, "service account", "does not exist", "", "create serviceaccount default"},
	{"account unread", func(s *State, _ *Need) { s.Account.Err = denied("serviceaccounts") }, Unknown, "service account", "cannot", "", ""},
	{"no secret", func(s *State, _ *Need) { s.Secrets["wandb"] = notFound("secrets", "wandb") }, Problem, "secret", "wandb does not exist", "", "create secret generic wandb"},
	{"no pull secret", func(s *State, _ *Need) { s.Secrets["pull"] = notFound("secrets", "pull") }, Warning, "secret", "pull, with which images", "", "docker-registry pull"},
	{"secret unread", func(s *State, _ *Need) { s.Secrets["wandb"] = denied("secrets") }, Unknown, "secret", "cannot", "", ""},
	{"no claim", func(s *State, _ *Need) {
		claimIs(s, func(p *Part[corev1.PersistentVolumeClaim]) { p.Err = notFound("pvc", "data") })
	}, Problem, "volume", "data does not exist", "", "get pvc"},
	{"claim of one node", func(s *State, _ *Need) {
		claimIs(s, func(p *Part[corev1.PersistentVolumeClaim]) { p.Value.Spec.AccessModes[0] = corev1.ReadWriteOnce })
	}, Problem, "volume", "one node only (ReadWriteOnce)", "", "FSx"},
	{"claim pending", func(s *State, _ *Need) {
		claimIs(s, func(p *Part[corev1.PersistentVolumeClaim]) { p.Value.Status.Phase = corev1.ClaimPending })
	}, Warning, "volume", "not bound", "", ""},
	{"claim lost", func(s *State, _ *Need) {
		claimIs(s, func(p *Part[corev1.PersistentVolumeClaim]) { p.Value.Status.Phase = corev1.ClaimLost })
	}, Problem, "volume", "lost", "", ""},
	{"claim unread", func(s *State, _ *Need) {
		claimIs(s, func(p *Part[corev1.PersistentVolumeClaim]) { p.Err = denied("pvc") })
	}, Unknown, "volume", "cannot", "", ""},

	{"no Kueue", func(s *State, _ *Need) { delete(s.Groups.Value, kueueGroup) }, Problem, "queue", "not installed", "", "--queue"},
	{"no queue", func(s *State, _ *Need) { s.Queue.Err = notFound("localqueues", "team") }, Problem, "queue", "no LocalQueue team", "", "get localqueues"},
	{"queue closed", func(s *State, _ *Need) { s.Queue.Value = false }, Problem, "queue", "takes no jobs", "", "describe"},
	{"queue unread", func(s *State, _ *Need) { s.Queue.Err = denied("localqueues") }, Unknown, "queue", "cannot", "", ""},

	{"no nodes to read", func(s *State, _ *Need) { s.Nodes = Part[[]corev1.Node]{Err: denied("nodes")} }, Unknown, "nodes", "cannot", "", "list nodes"},
	{"no such nodes", func(s *State, _ *Need) { s.Nodes.Value = []corev1.Node{systemNode(), other("x", "p5.48xlarge")} }, Problem, "nodes", "no node of type g6.12xlarge; there are some of p5.48xlarge", "", "--node-type"},
	{"not ready", func(s *State, _ *Need) {
		third(s).Status.Conditions[0] = corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Reason: "NodeStatusUnknown"}
	}, Warning, "nodes", "NodeStatusUnknown", "gpu-2", "describe node gpu-2"},
	{"cordoned", func(s *State, _ *Need) { third(s).Spec.Unschedulable = true }, Warning, "nodes", "cordoned", "gpu-2", "uncordon gpu-2"},
	{"too few", func(_ *State, n *Need) { n.Nodes = 3 }, Warning, "nodes", "2 of 2 nodes of type g6.12xlarge open to workers, and 3 wanted", "", "add nodes"},

	{"GPU missing, no plugin", func(s *State, _ *Need) { loseGPUs(s, 0); s.DaemonSets.Value = s.DaemonSets.Value[1:] }, Problem, "gpus", "no nvidia.com/gpu: no NVIDIA device plugin is installed", "gpu-0 gpu-1", kube.InstallNVIDIA},
	{"GPU missing, no label", func(s *State, _ *Need) {
		loseGPUs(s, 0)
		delete(s.Nodes.Value[2].Labels, "nvidia.com/gpu.present")
		s.Nodes.Value[1] = gpuNode("gpu-0")
	}, Problem, "gpus", "daemonset kube-system/nvidia passes over the node: node affinity wants", "gpu-1", "kubectl label node gpu-1 nvidia.com/gpu.present=true"},
	{"GPU missing, plugin's taint", func(s *State, _ *Need) { loseGPUs(s, 0); s.DaemonSets.Value[0].Pod.Tolerations = nil }, Problem, "gpus", "taint nvidia.com/gpu:NoSchedule is not tolerated", "gpu-0 gpu-1", `"path":"/spec/template/spec/tolerations","value":[{"key":"nvidia.com/gpu","operator":"Exists"}]`},
	{"GPU missing, plugin fails", func(s *State, _ *Need) { loseGPUs(s, 0); s.DaemonSets.Value[0].Ready = 0 }, Problem, "gpus", "0 of its 2 pods are ready", "", "logs daemonset/nvidia"},
	{"GPU missing, no driver", func(s *State, _ *Need) { loseGPUs(s, 0) }, Problem, "gpus", "finds no GPU", "", "AMI"},
	{"GPU missing, DRA instead", func(s *State, _ *Need) {
		loseGPUs(s, 0)
		s.DaemonSets.Value = s.DaemonSets.Value[1:]
		s.Devices.Value = []Devices{{"gpu.nvidia.com", map[string]int{"gpu-0": 4, "gpu-1": 4}}}
	}, Problem, "gpus", "ResourceClaims", "", kube.InstallNVIDIA},
	{"GPU missing, GPU Operator", func(s *State, _ *Need) {
		loseGPUs(s, 0)
		s.DaemonSets.Value = s.DaemonSets.Value[1:]
		s.Helpers.Value = []Workload{{Role: GPUOperator, Namespace: "gpu-operator"}}
	}, Problem, "gpus", "GPU Operator runs no device plugin", "", "clusterpolicy"},
	{"GPU missing, plugins unread", func(s *State, _ *Need) {
		loseGPUs(s, 0)
		s.DaemonSets = Part[[]Workload]{Err: denied("daemonsets")}
	}, Problem, "gpus", "whether a plugin runs could not be read", "", ""},
	{"GPU missing where it does not matter", func(s *State, _ *Need) {
		third(s)
		s.Nodes.Value[3].Status.Allocatable[gpuResource], s.Nodes.Value[3].Status.Capacity[gpuResource] = resource.Quantity{}, resource.Quantity{}
	}, Warning, "gpus", "finds no GPU", "gpu-2", ""},
	{"fewer GPUs", func(s *State, _ *Need) { loseGPUs(s, 2) }, Problem, "gpus", "2 of 4 GPUs offered", "gpu-0 gpu-1", ""},
	{"unhealthy GPU", func(s *State, _ *Need) { s.Nodes.Value[1].Status.Allocatable[gpuResource] = resource.MustParse("3") }, Problem, "gpus", "3 of 4 GPUs healthy", "gpu-0", "drain gpu-0"},
	{"shared GPUs", func(s *State, _ *Need) { s.Nodes.Value[1].Labels["nvidia.com/gpu.replicas"] = "4" }, Problem, "gpus", "shared", "gpu-0", "sharing"},
	{"too many GPUs", func(_ *State, n *Need) {
		n.Worker.Containers[0].Resources.Requests[gpuResource] = resource.MustParse("8")
	}, Problem, "gpus", "g6.12xlarge has 4 GPUs; a worker asks for 8", "", "--gpus-per-node 4"},

	{"EFA missing, no plugin", func(s *State, _ *Need) { loseEFA(s); s.DaemonSets.Value = s.DaemonSets.Value[:1] }, Problem, "efa", "no vpc.amazonaws.com/efa: no EFA device plugin", "", kube.InstallEFA},
	{"EFA missing, no interface", func(s *State, _ *Need) { loseEFA(s) }, Problem, "efa", "launched without EFA", "gpu-0 gpu-1", "logs daemonset/efa"},
	{"EFA missing, list of types", func(s *State, _ *Need) {
		loseEFA(s)
		s.DaemonSets.Value[1].Pod.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"p4d.24xlarge", "p5.48xlarge", "g5.48xlarge", "g6.48xlarge"},
			}}}},
		}}}
	}, Problem, "efa", "wants node.kubernetes.io/instance-type in p4d.24xlarge, p5.48xlarge, g5.48xlarge and 1 more", "", kube.InstallEFA},
	{"EFA not asked for", func(_ *State, n *Need) { delete(n.Worker.Containers[0].Resources.Requests, efaResource) }, Warning, "efa", "workers ask for none", "gpu-0 gpu-1", "efaPerNode"},
	{"more EFA than the type has", func(_ *State, n *Need) {
		n.Worker.Containers[0].Resources.Requests[efaResource] = resource.MustParse("4")
	}, Problem, "efa", "a worker asks for 4", "", ""},
	{"type without EFA", func(s *State, n *Need) {
		retype(s, n, "g6.xlarge", 1)
		loseEFA(s)
	}, Problem, "efa", "g6.xlarge has no EFA", "", "larger"},

	{"huge pages", func(_ *State, n *Need) {
		n.Worker.Containers[0].Resources.Requests[hugePages] = resource.MustParse("5Gi")
	}, Problem, "huge pages", "0Mi of the 5120Mi", "", "5128"},

	{"driver unknown", func(s *State, _ *Need) { driver(s, "") }, Unknown, "driver", "not known", "gpu-0 gpu-1", "feature discovery"},
	{"driver old", func(s *State, _ *Need) { driver(s, "570.86.15") }, Warning, "driver", "570.86.15 is older than CUDA 13.0.2", "", ""},
	{"driver too old", func(s *State, _ *Need) { driver(s, "525.60.13") }, Problem, "driver", "too old", "", "580"},
	{"CUDA unknown", func(_ *State, n *Need) { n.CUDA = "" }, Unknown, "driver", "which CUDA", "", ""},
	{"GPU too old", func(s *State, _ *Need) {
		s.Nodes.Value[1].Labels["nvidia.com/gpu.compute.major"], s.Nodes.Value[1].Labels["nvidia.com/gpu.compute.minor"] = "7", "0"
	}, Problem, "driver", "older than CUDA 13.0.2 has code for", "gpu-0", "T4"},

	{"two who hand out GPUs", func(s *State, _ *Need) { s.Devices.Value = []Devices{{"gpu.nvidia.com", map[string]int{"gpu-0": 4}}} }, Warning, "device drivers", "GPUs are handed out by a device plugin and by a DRA driver", "gpu-0", "resourceslices"},
	{"two who hand out EFA", func(s *State, _ *Need) { s.Devices.Value = []Devices{{"dra.net", map[string]int{"gpu-0": 1}}} }, Warning, "device drivers", "EFA interfaces", "gpu-0", ""},
	{"two plugins", func(s *State, _ *Need) { s.DaemonSets.Value = append(s.DaemonSets.Value, plugin()) }, Warning, "device drivers", "several of NVIDIA device plugin", "gpu-0 gpu-1", ""},
	{"DRA unread", func(s *State, _ *Need) { s.Devices.Err = denied("resourceslices") }, Unknown, "device drivers", "cannot", "", "resourceslices"},

	{"zones", func(s *State, _ *Need) { s.Nodes.Value[1].Labels[corev1.LabelTopologyZone] = "us-east-1b" }, Warning, "zone", "no zone has 2 nodes, and EFA does not reach beyond one: 1 in us-east-1a, 1 in us-east-1b", "", "add nodes"},
	{"no zone", func(s *State, _ *Need) { delete(s.Nodes.Value[1].Labels, corev1.LabelTopologyZone) }, Unknown, "zone", "1 node without the label", "", "-L topology"},

	{"others hold GPUs", func(s *State, _ *Need) {
		s.Use.Value["gpu-1"] = Use{All: resources("nvidia.com/gpu", "4"), Holders: []string{"other/job-0"}}
	}, Warning, "room", "for 1 worker now, 2 once others end, 2 wanted; GPUs are held by other/job-0", "gpu-1", "--nodes 1"},
	{"room in different zones", func(s *State, _ *Need) {
		third(s)
		s.Nodes.Value = append(s.Nodes.Value, gpuNode("gpu-3"))
		for i, zone := range []string{"a", "a", "b", "b"} {
			s.Nodes.Value[i+1].Labels[corev1.LabelTopologyZone] = zone
		}
		s.Use.Value["gpu-0"], s.Use.Value["gpu-3"] = Use{All: resources("nvidia.com/gpu", "1")}, Use{All: resources("nvidia.com/gpu", "1")}
	}, Warning, "room", "for 1 worker in zone a now, 2 once others end, 2 wanted", "gpu-0", "wait"},
	{"worker too large", func(_ *State, n *Need) {
		n.Worker.Containers[0].Resources.Requests["memory"] = resource.MustParse("181Gi")
	}, Problem, "room", "memory 180Gi of 181Gi", "gpu-0 gpu-1", "workerMemory"},
	{"pods unread", func(s *State, _ *Need) { s.Use.Err = denied("pods") }, Unknown, "room", "cannot", "", "list pods"},
	{"no room for the head", func(s *State, _ *Need) { s.Use.Value["system"] = Use{All: resources("cpu", "3")} }, Problem, "head", "no room for the head (cpu 2, memory 8Gi)", "system", "add a node"},
	{"no node for the head", func(s *State, _ *Need) { s.Nodes.Value = s.Nodes.Value[1:] }, Problem, "head", "no node for the head: taint nvidia.com/gpu:NoSchedule is not tolerated", "", "kubernetes.headOnGPU in"},
}

func TestJudgeFaults(t *testing.T) {
	for _, test := range breaks {
		t.Run(test.name, func(t *testing.T) {
			state, need := goodState(), goodNeed(t)
			test.spoil(&state, &need)
			var bad []Finding
			for _, f := range Judge(state, need) {
				if f.Level != OK && f.Check == test.check {
					bad = append(bad, f)
				}
			}
			if len(bad) != 1 {
				t.Fatalf("%d findings of %q, want 1: %+v", len(bad), test.check, bad)
			}
			f := bad[0]
			if f.Level != test.level || !strings.Contains(f.What, test.what) || strings.Join(f.Where, " ") != test.where && test.where != "" {
				t.Errorf("%+v, want %s with %q at %q", f, test.level, test.what, test.where)
			}
			if f.Remedy == "" || !strings.Contains(f.Remedy, test.remedy) || strings.Contains(f.Remedy, "{") && strings.Contains(f.Remedy, theseNodes) {
				t.Errorf("remedy %q, want one with %q", f.Remedy, test.remedy)
			}
		})
	}
}

// Faults in one place must not be told in another: the findings beside the one
// that is meant are all of these checks.
func TestJudgeSaysItOnce(t *testing.T) {
	follow := map[string][]string{ // what may follow from what
		"gpus": {"room", "efa"}, "efa": {"room", "gpus"}, "kuberay API": {"kuberay operator"}, "nodes": {"zone", "room", "driver", "gpus", "efa"},
		"huge pages": {"room"},
	}
	for _, test := range breaks {
		state, need := goodState(), goodNeed(t)
		test.spoil(&state, &need)
		for _, f := range Judge(state, need) {
			if f.Level != OK && f.Check != test.check && !slices.Contains(follow[test.check], f.Check) && test.name != "GPU missing, plugins unread" {
				t.Errorf("%s: also %+v", test.name, f)
			}
		}
	}
}

func TestJudgeShutOut(t *testing.T) {
	state, need := goodState(), goodNeed(t)
	need.Worker.NodeSelector["role"] = "gpu-worker"
	delete(state.Nodes.Value[1].Labels, "role")
	state.Nodes.Value[2].Spec.Taints = append(state.Nodes.Value[2].Spec.Taints, corev1.Taint{Key: "dedicated", Value: "ml", Effect: corev1.TaintEffectNoSchedule})
	var text []string
	for _, f := range Judge(state, need) {
		if f.Check == "nodes" {
			text = append(text, string(f.Level)+" "+f.What+" @"+strings.Join(f.Where, ",")+" > "+f.Remedy)
		}
	}
	want := []string{
		"warning label role=gpu-worker is missing @gpu-0 > kubectl label node gpu-0 role=gpu-worker",
		`warning taint dedicated=ml:NoSchedule is not tolerated @gpu-1 > in trainyard.yaml, kubernetes.tolerations: [{key: dedicated, operator: Equal, value: "ml", effect: NoSchedule}]; the nodes may be meant for others`,
		"problem 0 of 2 nodes of type g6.12xlarge open to workers, and 2 wanted @ > add nodes, or let these take workers",
	}
	if !slices.Equal(text, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(text, "\n"), strings.Join(want, "\n"))
	}
}

// Where the cluster can make nodes, missing ones are no problem.
func TestJudgeAutoscaler(t *testing.T) {
	for name, scale := range map[string]func(*State){
		"Karpenter":              func(s *State) { s.Groups.Value["karpenter.sh"] = []string{"v1"} },
		"the cluster-autoscaler": func(s *State) { s.Helpers.Value = []Workload{{Role: Autoscaler, Ready: 1}} },
	} {
		state, need := goodState(), goodNeed(t)
		state.Nodes.Value = state.Nodes.Value[:1]
		scale(&state)
		for _, f := range Judge(state, need) {
			if f.Level == Problem || f.Check == "nodes" && !strings.Contains(f.Consequence, name) {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

// What hands out devices is told also where all is well.
func TestJudgeInventory(t *testing.T) {
	state := goodState()
	state.Helpers.Value = []Workload{{Role: GPUOperator, Image: "nvcr.io/nvidia/gpu-operator:v26.3.1"}, {Role: Autoscaler, Ready: 1}}
	state.Devices.Value = []Devices{{"gpu.example.com", map[string]int{"system": 1}}}
	state.Classes.Value = []string{"gpu.example.com"}
	want := "DRA gpu.example.com, DeviceClass gpu.example.com, EFA device plugin v0.5.13, GPU Operator v26.3.1, NVIDIA device plugin v0.17.4"
	for _, f := range Judge(state, goodNeed(t)) {
		if f.Check == "device drivers" && (f.Level != OK || f.What != want) {
			t.Errorf("%+v", f)
		}
	}
}

// Every permission that a job needs is missed by its name.
func TestJudgePermissions(t *testing.T) {
	state := goodState()
	for i, p := range state.Permissions {
		spoilt := goodState()
		spoilt.Permissions[i].Allowed = false
		text := ""
		for _, f := range Judge(spoilt, goodNeed(t)) {
			if f.Check == "permissions" || f.Check == "add-ons" {
				text += string(f.Level) + " " + f.What + " " + f.Remedy + "\n"
			}
		}
		level := map[Purpose]Level{ForTrain: Problem, ForDown: Problem, ForWatch: Warning, ForAddons: OK}[p.Purpose]
		wide := ""
		if p.Namespace == "" {
			wide = "in the whole cluster: "
		}
		if !strings.Contains(text, "you may not "+wide+p.String()) || !strings.Contains(text, string(level)) {
			t.Errorf("%s denied: %s", p, text)
		}
		spoilt.Permissions[i].Err = errors.New("EOF")
		if p.Purpose != ForAddons && !slices.ContainsFunc(Judge(spoilt, goodNeed(t)), func(f Finding) bool {
			return f.Level == Unknown && strings.Contains(f.Consequence, p.String())
		}) {
			t.Errorf("%s unclear, and nobody says so", p)
		}
	}
}

// A command for many nodes names them by their type where others of the type
// may be meant, too, and never otherwise.
func TestNodeArguments(t *testing.T) {
	nodes := []node{{Node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, typeName: "p5.48xlarge"}}
	var names []string
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		nodes = append(nodes, node{Node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, typeName: "g6.12xlarge"})
		names = append(names, name)
	}
	for _, test := range []struct {
		command string
		names   []string
		want    string
	}{
		{"kubectl label node {nodes} a=b", names[:6], "a b c d e f"},
		{"kubectl label node {nodes} a=b", names, "-l node.kubernetes.io/instance-type=g6.12xlarge"},
		{"kubectl drain {nodes}", names, "a b c d e f ..."},
		{"kubectl label node {nodes} a=b", append([]string{"x"}, names...), "x a b c d e ..."},
	} {
		if got := nodeArguments(test.command, test.names, nodes); got != test.want {
			t.Errorf("%s for %v: %q, want %q", test.command, test.names, got, test.want)
		}
	}
}

func TestWithFlags(t *testing.T) {
	findings := []Finding{
		{Remedy: "kubectl -n a get pods; kubectl -n a logs x"},
		{Remedy: "trainyard addons install efa"},
		{Remedy: "trainyard check --namespace a, or add it"},
		{Remedy: "wait"},
	}
	want := []string{
		"kubectl --context b -n a get pods; kubectl --context b -n a logs x",
		"trainyard addons install --context b efa",
		"trainyard check --context b --namespace a, or add it",
		"wait",
	}
	for i, f := range WithFlags(findings, "--context b") {
		if f.Remedy != want[i] {
			t.Errorf("%q, want %q", f.Remedy, want[i])
		}
	}
	if WithFlags(findings, "")[0].Remedy != findings[0].Remedy || findings[0].Remedy != "kubectl -n a get pods; kubectl -n a logs x" {
		t.Error("what was given is changed")
	}
}

// Drivers that could not be seen may hand out a device already: who asks for
// providers is told.
func TestProvidersThatAreNotSeen(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*State)
		seen  bool
	}{
		"all seen":            {func(*State) {}, true},
		"slices forbidden":    {func(s *State) { s.Devices.Err = denied("resourceslices") }, false},
		"slices not served":   {func(s *State) { s.Devices.Err, s.Groups.Value = denied("resourceslices"), nil }, true},
		"slices not known":    {func(s *State) { s.Devices.Err = &meta.NoKindMatchError{} }, true},
		"daemonsets not seen": {func(s *State) { s.DaemonSets.Err = denied("daemonsets") }, false},
	} {
		s := goodState()
		test.spoil(&s)
		for _, p := range []Provision{GPUs, EFA} {
			if _, err := s.Providers(p); (err == nil) != test.seen {
				t.Errorf("%s: %s: error %v", name, p, err)
			}
		}
	}
}
