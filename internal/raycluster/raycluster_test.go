package raycluster

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainyard/trainyard/internal/instancetype"
)

var update = flag.Bool("update", false, "rewrite golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (make it with go test ./internal/raycluster -update)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs, rewrite it with -update if that is meant (-want +got):\n%s", path, diff)
	}
}

// reference is AWS's sample on nodes of a type.
func reference(t *testing.T, instanceType string) Spec {
	t.Helper()
	kind, err := instancetype.Lookup(instanceType)
	if err != nil {
		t.Fatal(err)
	}
	return Spec{
		Name: "trainyard-ada", Owner: "ada", Workers: 2, Worker: NodeOf(kind),
		Image: "public.ecr.aws/deep-learning-containers/ray:train-ml-cuda-v1.1", RayVersion: "2.58.0",
	}
}

func withoutGPUs() Spec {
	return Spec{
		Name: "trainyard-ada", Owner: "ada", Workers: 3,
		Worker: Node{CPU: resource.MustParse("2"), Memory: resource.MustParse("4Gi")},
		Image:  "registry.example.com/ray:2.58.0", RayVersion: "2.58.0",
	}
}

// everything sets each field of a spec.
func everything(t *testing.T) Spec {
	t.Helper()
	s := reference(t, "p5en.48xlarge")
	s.Namespace = "ray-train"
	s.Image += "@sha256:" + strings.Repeat("0123456789abcdef", 4)
	s.Worker.Resources = map[string]resource.Quantity{"rdma/hca": resource.MustParse("8")}
	s.Zone, s.NodeSelector = "us-east-1a", map[string]string{"role": "gpu-worker"}
	s.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
	s.HeadOnGPU = true
	s.Queue, s.Gang, s.PriorityClass = "team-a", true, "high"
	s.ServiceAccount, s.Secrets = "trainer", []string{"wandb"}
	for _, text := range []string{
		`{"name": "fsx", "mountPath": "/data", "readOnly": true, "persistentVolumeClaim": {"claimName": "fsx"}}`,
		`{"mountPath": "/scratch", "hostPath": {"path": "/mnt/k8s-disks/0", "type": "Directory"}}`,
		`{"mountPath": "/bucket", "subPath": "corpus", "csi": {"driver": "s3.csi.example.com", "volumeAttributes": {"bucketName": "b"}}}`,
		`{"mountPath": "/work", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Ti"}}}}}}`,
	} {
		v, err := ParseVolume(text)
		if err != nil {
			t.Fatal(err)
		}
		s.Volumes = append(s.Volumes, v)
	}
	s.Patches = []string{
		`{"spec": {"headGroupSpec": {"template": {"spec": {"containers": [{"name": "ray-head", "env": [{"name": "RAY_LOG_TO_STDERR", "value": "1"}]}]}}}}}`,
		`{"spec": {"workerGroupSpecs": [{"groupName": "workers", "template": {"spec": {"hostNetwork": true}}}]}}`,
	}
	s.Set = []string{
		`spec.workerGroupSpecs[0].template.spec.terminationGracePeriodSeconds=120`,
		`metadata.annotations.example\.com/ticket=1234`,
	}
	return s
}

func specs(t *testing.T) map[string]Spec {
	t.Helper()
	return map[string]Spec{
		"g6.12xlarge":      reference(t, "g6.12xlarge"),
		"g6.xlarge":        reference(t, "g6.xlarge"), // no EFA
		"p5.48xlarge":      reference(t, "p5.48xlarge"),
		"p6-b200.48xlarge": reference(t, "p6-b200.48xlarge"),
		"no-gpus":          withoutGPUs(),
		"everything":       everything(t),
	}
}

func TestBuild(t *testing.T) {
	for name, spec := range specs(t) {
		t.Run(name, func(t *testing.T) {
			golden(t, name+".yaml", build(t, spec))
		})
	}
}

func build(t *testing.T, s Spec) string {
	t.Helper()
	cluster, err := Build(s)
	if err != nil {
		t.Fatal(err)
	}
	text, err := YAML(cluster)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestBuildJob(t *testing.T) {
	job, err := BuildJob(reference(t, "g6.12xlarge"), Job{
		Entrypoint: "python train.py --lr 1e-4", Env: map[string]string{"EPOCHS": "3"}, Pip: []string{"einops"}, Timeout: 90*60e9 + 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := YAML(job)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "rayjob.yaml", string(text))
}

// What a reviewer would count, whatever the instance type.
func TestEveryTypeIsWhole(t *testing.T) {
	for _, kind := range instancetype.All() {
		cluster, err := Build(reference(t, kind.Name))
		if err != nil {
			t.Errorf("%s: %v", kind.Name, err)
			continue
		}
		group := cluster.Spec.WorkerGroupSpecs[0]
		got := group.Template.Spec.Containers[0].Resources
		if diff := cmp.Diff(got.Requests, got.Limits); diff != "" {
			t.Errorf("%s: requests are not the limits, so the pod is not Guaranteed:\n%s", kind.Name, diff)
		}
		gpus := got.Limits[GPUResource]
		if gpus.String() != group.RayStartParams["num-gpus"] || gpus.Value() != int64(kind.GPUs) {
			t.Errorf("%s: asks for %s GPUs, tells Ray of %s, has %d", kind.Name, gpus.String(), group.RayStartParams["num-gpus"], kind.GPUs)
		}
		efa := got.Limits[EFAResource]
		if efa.Value() != int64(kind.EFA) {
			t.Errorf("%s: asks for %s EFA interfaces, has %d", kind.Name, efa.String(), kind.EFA)
		}
		pages := got.Limits[hugePages]
		if total := got.Limits.Memory().Value() + pages.Value(); total > int64(kind.MemoryMiB)<<20*9/10 {
			t.Errorf("%s: asks for %d MiB of %d, which leaves too little for the node", kind.Name, total>>20, kind.MemoryMiB)
		}
	}
}

func TestShare(t *testing.T) {
	for _, test := range []struct{ cpu, memory, wantCPU, wantMemory string }{
		{"48", "192Gi", "40", "160Gi"},
		{"47810m", "182Gi", "39", "151Gi"},
		{"3920m", "14848Mi", "3", "12Gi"},
		{"1", "1Gi", "833m", "894784853"},
	} {
		cpu, memory := Share(corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(test.cpu), corev1.ResourceMemory: resource.MustParse(test.memory)})
		if cpu.String() != test.wantCPU || memory.String() != test.wantMemory {
			t.Errorf("%s and %s: got %s and %s, want %s and %s", test.cpu, test.memory, cpu.String(), memory.String(), test.wantCPU, test.wantMemory)
		}
	}
}

// m7i.xlarge is the reference's system node: the head must fit on it beside
// what such a node runs anyway.
func TestHeadFitsSystemNode(t *testing.T) {
	// The kubelet's own figures of an m7i.xlarge with EKS's AL2023 image.
	allocatable := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3920m"), corev1.ResourceMemory: resource.MustParse("14848Mi")}
	// Requests as their charts and EKS's add-ons set them; only the system
	// node, so both replicas of each Deployment are here.
	others := map[string][2]string{
		"kuberay-operator":                             {"100m", "512Mi"},
		"aws-node":                                     {"50m", "0"},
		"kube-proxy":                                   {"100m", "0"},
		"eks-pod-identity-agent":                       {"0", "0"},
		"coredns, 2 of 100m":                           {"200m", "140Mi"},
		"metrics-server, 2 of 100m":                    {"200m", "400Mi"},
		"ebs-csi-node, 3 x 10m":                        {"30m", "120Mi"},
		"ebs-csi-controller, 2 x 6":                    {"120m", "480Mi"},
		"wait for a second operator during its update": {"100m", "512Mi"},
	}
	cpu, memory := headRequests()[corev1.ResourceCPU], headRequests()[corev1.ResourceMemory]
	for _, request := range others {
		cpu.Add(resource.MustParse(request[0]))
		memory.Add(resource.MustParse(request[1]))
	}
	if cpu.Cmp(*allocatable.Cpu()) > 0 || memory.Cmp(*allocatable.Memory()) > 0 {
		t.Errorf("head and the rest ask for %s and %s, the node has %s and %s", cpu.String(), memory.String(), allocatable.Cpu(), allocatable.Memory())
	}
	limits := withoutGPUs().head().Template.Spec.Containers[0].Resources.Limits
	if limits.Cpu().Cmp(*allocatable.Cpu()) > 0 || limits.Memory().Cmp(*allocatable.Memory()) > 0 {
		t.Errorf("the head may use %s and %s, which the node has not", limits.Cpu(), limits.Memory())
	}
}

func TestNames(t *testing.T) {
	for user, want := range map[string][2]string{
		"ada":                   {"ada", "trainyard-ada"},
		"Ada.Lovelace":          {"ada.lovelace", "trainyard-ada-lovelace"},
		`CORP\ada_l`:            {"ada-l", "trainyard-ada-l"},
		"":                      {"unknown", "trainyard-unknown"},
		"ünal":                  {"nal", "trainyard-nal"},
		strings.Repeat("x", 99): {strings.Repeat("x", 47), "trainyard-" + strings.Repeat("x", 37)},
	} {
		if got := [2]string{OwnerName(user), DefaultName(user)}; got != want {
			t.Errorf("%q: got %q, want %q", user, got, want)
		}
	}
}
