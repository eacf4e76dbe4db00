package raycluster

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func lines(err error) []string {
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

func TestBuildNamesAllProblems(t *testing.T) {
	s := reference(t, "g6.12xlarge")
	s.Name, s.Namespace, s.Owner = strings.Repeat("A", 48), "a.b", "a b"
	s.Image, s.RayVersion, s.Workers = "", "2.51.9", 0
	s.Secrets = []string{"A"}
	s.NodeSelector = map[string]string{"role": "a b"}
	s.Worker.HugePages = resource.MustParse("1Mi")
	s.Worker.CPU = resource.Quantity{}
	s.Worker.Resources = map[string]resource.Quantity{"hca": {}}
	s.Volumes = []Volume{{Name: "a", MountPath: "/a"}, {Name: "a", MountPath: "/a"}}
	_, err := Build(s)
	golden(t, "problems.golden", strings.Join(lines(err), "\n")+"\n")
}

func TestParseVolume(t *testing.T) {
	for text, want := range map[string][]string{
		`{"mountPath": "/a", "emptyDir": {}}`: nil,
		`{"mountPath": "/a"}`:                 {"0 volume sources, must have one, such as persistentVolumeClaim, hostPath, csi, ephemeral, nfs"},
		`{"mountPath": "a", "emptyDir": {}, "hostPath": {"path": "/x"}}`: {
			"2 volume sources, must have one, such as persistentVolumeClaim, hostPath, csi, ephemeral, nfs",
			`mountPath "a", must be a folder such as /data`,
		},
		`{"mountPath": "/", "nfs": {}, "name": "A"}`: {
			`mountPath "/", must be a folder such as /data`,
			`name "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
		},
		`{"mountPath": "/a", "pvc": "data"}`:                      {`unknown field "pvc"`},
		`{"mountPath": "/a", "readOnly": "yes", "emptyDir": {}}`:  {"readOnly is a string, must be of type bool"},
		`{"mountPath": ["/a"], "emptyDir": {}}`:                   {"mountPath is a array, must be of type string"},
		`{"mountPath": "/a", "hostPath": {"paht": "/x"}}`:         {`unknown field "paht"`},
		`{"mountPath": "/a", "emptyDir": {"sizeLimit": "large"}}`: {"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
	} {
		_, err := ParseVolume(text)
		if diff := cmp.Diff(want, lines(err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestParseToleration(t *testing.T) {
	for text, want := range map[string][]string{
		`{"operator": "Exists"}`:                             nil,
		`{"key": "a", "value": "b", "effect": "NoSchedule"}`: nil,
		`{}`: {"no key, must have one or the operator Exists"},
		`{"key": "a", "operator": "In", "effect": "Never"}`:     {`operator "In", must be Equal or Exists`, `effect "Never", must be NoSchedule, PreferNoSchedule or NoExecute`},
		`{"key": "a", "operator": "Exists", "value": "b"}`:      {`value "b" with the operator Exists, must be left out`},
		`{"key": "a", "tolerationSeconds": "5", "value": true}`: {"tolerationSeconds is a string, must be of type int64"},
	} {
		_, err := ParseToleration(text)
		if diff := cmp.Diff(want, lines(err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// KubeRay starts Ray in the first container, wherever a patch puts its own.
func TestPatchThatAddsContainers(t *testing.T) {
	s := reference(t, "g6.12xlarge")
	s.Patches = []string{
		`{"spec": {"headGroupSpec": {"template": {"spec": {"containers": [{"name": "logs", "image": "fluent-bit"}]}}}}}`,
		`{"spec": {"workerGroupSpecs": [{"groupName": "workers", "template": {"spec": {"containers": [{"name": "logs", "image": "fluent-bit"}]}}}]}}`,
	}
	cluster, err := Build(s)
	if err != nil {
		t.Fatal(err)
	}
	for want, pod := range map[string]corev1.PodSpec{
		"ray-head":   cluster.Spec.HeadGroupSpec.Template.Spec,
		"ray-worker": cluster.Spec.WorkerGroupSpecs[0].Template.Spec,
	} {
		if c := pod.Containers; len(c) != 2 || c[0].Name != want || c[1].Name != "logs" {
			t.Errorf("containers %v, want %s, then logs", c, want)
		}
	}
}

func TestPatchesThatDoNotApply(t *testing.T) {
	s := reference(t, "g6.12xlarge")
	s.Patches = []string{
		`{"spec": {"headGroup": {}}}`,
		`{"spec": {"rayVersion": 2}}`,
		`{"metadata": {"name": "other"}}`,
		`{"metadata": {"labels": {"trainyard.dev/owner": "eve"}}}`,
		`{"spec": {"suspend": true}}`,
		`{"spec": {"workerGroupSpecs": [{"replicas": 3}]}}`,
		`[]`,
		`{"spec": {"headGroupSpec": {"template": {"metadata": {"labels": null}}}}}`,
		`{"spec": {"headGroupSpec": null}}`,
	}
	s.Set = []string{
		"spec.suspend", "spec.workerGroupSpecs[2].replicas=3", "spec.workerGroupSpecs[x]=3", "spec.rayVersion.minor=1",
		"spec[0]=1", "spec.headGroupSpec.serviceType.x=1", "spec.suspend=maybe", "spec.nothing=1", "kind=Pod", "spec.workerGroupSpecs[0].template.metadata.labels=null",
	}
	_, err := Build(s)
	golden(t, "patches.golden", strings.Join(lines(err), "\n")+"\n")
}

func TestSet(t *testing.T) {
	s := reference(t, "g6.12xlarge")
	s.Set = []string{
		"spec.workerGroupSpecs[0].replicas=4",
		"spec.rayVersion=3",                // text, though it looks like a number
		`metadata.annotations.a\.b/c=true`, // text in a map of text
		"spec.headGroupSpec.template.spec.tolerations=[{key: a, operator: Exists}]",
		"spec.headGroupSpec.template.spec.tolerations[1]={operator: Exists}",
		"spec.headGroupSpec.template.spec.affinity=null",
	}
	cluster, err := Build(s)
	if err != nil {
		t.Fatal(err)
	}
	head := cluster.Spec.HeadGroupSpec.Template.Spec
	switch {
	case *cluster.Spec.WorkerGroupSpecs[0].Replicas != 4,
		cluster.Spec.WorkerGroupSpecs[0].GroupName != WorkerGroup,
		cluster.Spec.RayVersion != "3",
		cluster.Annotations["a.b/c"] != "true",
		len(head.Tolerations) != 2 || head.Tolerations[0].Key != "a",
		head.Affinity != nil:
		text, err := YAML(cluster)
		t.Errorf("%s%v", text, err)
	}
}
