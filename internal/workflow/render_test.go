package workflow

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/raycluster"
)

func loaded(t *testing.T, file string) *config.Config {
	t.Helper()
	cfg, err := config.Load(config.Sources{File: []byte("version: 1\n" + file), FileName: config.FileName, Remote: true})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// What settings say goes over what the type has.
func TestClusterSpecWorker(t *testing.T) {
	type worker struct {
		Type              string
		GPUs, EFA         int
		CPU, Memory, Huge string
		Resources         map[string]string
	}
	for _, test := range []struct {
		name, file string
		want       worker
	}{
		{"the reference", "", worker{Type: "g6.12xlarge", GPUs: 4, EFA: 1, CPU: "40", Memory: "160Gi", Huge: "0"}},
		{
			"part of a node", "cluster: {nodeType: p5.48xlarge, gpusPerNode: 4, efaPerNode: 16}\nkubernetes: {hugePages: 0}",
			worker{Type: "p5.48xlarge", GPUs: 4, EFA: 16, CPU: "160", Memory: "1706Gi", Huge: "0"},
		},
		{
			"no EFA", "cluster: {efaPerNode: 0}\nkubernetes: {workerCPU: 44, workerMemory: 170Gi}",
			worker{Type: "g6.12xlarge", GPUs: 4, CPU: "44", Memory: "170Gi", Huge: "0"},
		},
		{
			"none of AWS's", "cluster: {nodeType: '', gpusPerNode: 8}\nkubernetes: {workerCPU: 96, workerMemory: 1Ti, resources: {rdma/hca: 8}}",
			worker{GPUs: 8, CPU: "96", Memory: "1Ti", Huge: "0", Resources: map[string]string{"rdma/hca": "8"}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			spec, err := clusterSpec(loaded(t, test.file), "ada")
			if err != nil {
				t.Fatal(err)
			}
			w := spec.Worker
			got := worker{Type: w.InstanceType, GPUs: w.GPUs, EFA: w.EFA, CPU: w.CPU.String(), Memory: w.Memory.String(), Huge: w.HugePages.String()}
			for name, amount := range w.Resources {
				got.Resources = map[string]string{name: amount.String()}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Every setting of the section reaches the manifest.
func TestRenderUsesEverySetting(t *testing.T) {
	manifest, err := Render(RenderRequest{User: "ada", Kind: KindRayCluster, Config: loaded(t, `
cluster: {name: demo, image: "registry.example.com/ray:v1", rayVersion: 2.59.0, nodes: 7}
kubernetes:
  namespace: the-namespace
  zone: the-zone
  nodeSelector: {the-label: the-value}
  tolerations: [{key: the-taint, operator: Exists}]
  headOnGPU: true
  queue: the-queue
  gang: true
  priorityClass: the-priority
  workerCPU: 41
  workerMemory: 161Gi
  hugePages: 6Gi
  resources: {the/resource: 9}
  volumes: [{mountPath: /the-path, persistentVolumeClaim: {claimName: the-claim}}]
  serviceAccount: the-account
  secrets: [the-secret]
  imagePullPolicy: Never
  patches: [{metadata: {annotations: {the-annotation: "yes"}}}]
`)})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"name: demo", "registry.example.com/ray:v1", "rayVersion: 2.59.0", "replicas: 7", "namespace: the-namespace", "the-zone",
		"the-label: the-value", "key: the-taint", "queue-name: the-queue", "gang-scheduling-enabled: \"true\"", "priorityClassName: the-priority",
		`cpu: "41"`, "memory: 161Gi", "hugepages-2Mi: 6Gi", `the/resource: "9"`, "mountPath: /the-path", "claimName: the-claim",
		"serviceAccountName: the-account", "name: the-secret", "imagePullPolicy: Never", `the-annotation: "yes"`,
		raycluster.OwnerLabel + ": ada",
	} {
		if !strings.Contains(string(manifest), want) {
			t.Errorf("nowhere: %s", want)
		}
	}
	if strings.Contains(string(manifest), "NotIn") {
		t.Error("the head is kept off nodes with GPUs")
	}
}

func TestRenderNamesPlaces(t *testing.T) {
	cfg := loaded(t, "cluster: {nodeType: g6.12xlarge, efaPerNode: 2}\nkubernetes:\n  tolerations:\n  - {operator: Exists}\n  - {key: a, effect: Never}\n")
	_, err := Render(RenderRequest{User: "ada", Config: cfg, Set: []string{"spec"}})
	want := "trainyard.yaml:2:46: cluster.efaPerNode is 2, but a node of type g6.12xlarge has 1\n" +
		`trainyard.yaml:6:5: kubernetes.tolerations[1] has effect "Never", must be NoSchedule, PreferNoSchedule or NoExecute` + "\n" +
		`setting "spec" does not apply: must be PATH=VALUE, such as spec.workerGroupSpecs[0].replicas=4`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if code := fault.CodeOf(err); code != fault.Usage {
		t.Errorf("exit code %d, want %d", code, fault.Usage)
	}
}
