package workflow

import (
	"testing"

	"github.com/trainyard/trainyard/internal/raycluster"
)

// TestWhatIsRenderedIsFoundAgain: the labels of the manifest, which needs no
// client of Kubernetes, are those by which the client finds what is ours.
func TestWhatIsRenderedIsFoundAgain(t *testing.T) {
	w := Workspace{User: "Ada Lovelace"}
	spec, err := clusterSpec(settings(t), w.User)
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := raycluster.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	for name, labels := range map[string]map[string]string{
		"RayCluster": cluster.Labels,
		"head":       cluster.Spec.HeadGroupSpec.Template.Labels,
		"worker":     cluster.Spec.WorkerGroupSpecs[0].Template.Labels,
	} {
		for label, want := range w.owner(spec.Name).Labels() {
			if labels[label] != want {
				t.Errorf("%s: label %s is %q, want %q", name, label, labels[label], want)
			}
		}
	}
}
