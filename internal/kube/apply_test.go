package kube

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/kubetest"
)

// me owns what the tests make.
var me = Owner{Cluster: "gpu", User: "alice"}

func apply(t *testing.T, c *Cluster, objects ...client.Object) {
	t.Helper()
	if _, err := c.Of(me).Apply(t.Context(), Real, objects...); err != nil {
		t.Fatal(err)
	}
}

// get reads a ConfigMap again; nil where there is none.
func get(t *testing.T, c *Cluster, name string) *corev1.ConfigMap {
	t.Helper()
	var found corev1.ConfigMap
	err := c.Get(t.Context(), client.ObjectKey{Namespace: c.Namespace, Name: name}, &found)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return &found
}

func TestApply(t *testing.T) {
	c := newCluster(t)
	unplaced := newSettings(c, "a", "1")
	unplaced.Namespace = ""
	apply(t, c, unplaced)
	apply(t, c, newSettings(c, "a", "2"))
	got := get(t, c, "a")
	if got == nil || got.Data["value"] != "2" || got.Labels[ManagedByLabel] != "trainyard" ||
		got.Labels[ClusterLabel] != "gpu" || got.Labels[OwnerLabel] != "alice" {
		t.Fatalf("applied %+v", got)
	}
	if m := got.ManagedFields; len(m) != 1 || m[0].Manager != Manager || m[0].Operation != metav1.ManagedFieldsOperationApply {
		t.Errorf("managed by %+v", m)
	}
	gone := newSettings(c, "a", "2")
	gone.Data = nil
	apply(t, c, gone)
	if got := get(t, c, "a"); len(got.Data) != 0 {
		t.Errorf("what is no longer applied is still there: %v", got.Data)
	}
}

func TestApplyLeavesOthersAlone(t *testing.T) {
	c := newCluster(t)
	create(t, c, newSettings(c, "theirs", "1"))
	bobs := newSettings(c, "bobs", "1")
	if _, err := c.Of(Owner{Cluster: "gpu", User: "bob"}).Apply(t.Context(), Real, bobs); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []DryRun{Real, Server} {
		_, err := c.Of(me).Apply(t.Context(), mode, newSettings(c, "mine", "2"), newSettings(c, "theirs", "2"), newSettings(c, "bobs", "2"))
		wantError(t, err, `ConfigMap "theirs" in namespace "`+c.Namespace+`" exists and is not ours`, "")
		wantError(t, err, `ConfigMap "bobs" in namespace "`+c.Namespace+`" exists and is not ours: its label trainyard.dev/owner is "bob"`, "")
	}
	if get(t, c, "mine") != nil || get(t, c, "theirs").Data["value"] != "1" || get(t, c, "bobs").Data["value"] != "1" {
		t.Error("something was written although names are taken")
	}
	err := c.Of(me).Delete(t.Context(), 0, nil, newSettings(c, "theirs", ""))
	wantError(t, err, "exists and is not ours", "")
	if get(t, c, "theirs") == nil {
		t.Error("deleted what is not ours")
	}
}

// Between the look at a name and the writing of it somebody may take it.
func TestApplyAtTheSameTime(t *testing.T) {
	bob := Owner{Cluster: "gpu", User: "bob"}
	for name, test := range map[string]struct {
		first, meanwhile func(t *testing.T, c *Cluster)
		want             string // error; empty: none
	}{
		"made by another": {
			first:     func(*testing.T, *Cluster) {},
			meanwhile: func(t *testing.T, c *Cluster) { applyFor(t, c, bob) },
			want:      `its label trainyard.dev/owner is "bob"`,
		},
		"made anew by another": {
			first: func(t *testing.T, c *Cluster) { applyFor(t, c, me) },
			meanwhile: func(t *testing.T, c *Cluster) {
				if err := c.Delete(t.Context(), newSettings(c, "a", "")); err != nil {
					t.Error(err)
				}
				applyFor(t, c, bob)
			},
			want: `its label trainyard.dev/owner is "bob"`,
		},
		"deleted": {
			first: func(t *testing.T, c *Cluster) { applyFor(t, c, me) },
			meanwhile: func(t *testing.T, c *Cluster) {
				if err := c.Delete(t.Context(), newSettings(c, "a", "")); err != nil {
					t.Error(err)
				}
			},
		},
		"made by the same": {
			first:     func(*testing.T, *Cluster) {},
			meanwhile: func(t *testing.T, c *Cluster) { applyFor(t, c, me) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			lab := kubetest.New(t)
			other := connect(t, lab)
			test.first(t, other)
			var once sync.Once
			c, err := Connect(Access{Kubeconfig: lab.Kubeconfig, Namespace: lab.Namespace, Transport: func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					if r.Method == http.MethodPatch {
						once.Do(func() { test.meanwhile(t, other) })
					}
					return next.RoundTrip(r)
				})
			}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Of(me).Apply(t.Context(), Real, newSettings(c, "a", "mine"))
			got := get(t, c, "a")
			switch {
			case test.want != "":
				wantError(t, err, test.want, "")
				if got.Labels[OwnerLabel] != "bob" || got.Data["value"] == "mine" {
					t.Errorf("bob's is now %+v", got)
				}
			case err != nil || got == nil || got.Data["value"] != "mine" || got.Labels[OwnerLabel] != "alice":
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func applyFor(t *testing.T, c *Cluster, owner Owner) {
	t.Helper()
	if _, err := c.Of(owner).Apply(t.Context(), Real, newSettings(c, "a", "1")); err != nil {
		t.Error(err)
	}
}

// roundTripper is a function as http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestApplyConflict(t *testing.T) {
	c := newCluster(t)
	apply(t, c, newSettings(c, "a", "1"))
	edited := get(t, c, "a")
	edited.Data["value"] = "edited"
	if err := c.Update(t.Context(), edited, client.FieldOwner("kubectl-edit")); err != nil {
		t.Fatal(err)
	}
	_, err := c.Of(me).Apply(t.Context(), Real, newSettings(c, "a", "2"))
	wantError(t, err, `others have set fields that we would change: .data.value (conflict with "kubectl-edit"`, "undo that change")
}

func TestDryRun(t *testing.T) {
	c := newCluster(t)
	made, err := c.Of(me).Apply(t.Context(), Server, newSettings(c, "a", "1"))
	if err != nil || len(made) != 1 || made[0].GetLabels()[OwnerLabel] != "alice" {
		t.Errorf("dry run returned %v, %v", made, err)
	}
	if get(t, c, "a") != nil {
		t.Error("a dry run made an object")
	}
}

func TestDiff(t *testing.T) {
	c := newCluster(t)
	apply(t, c, newSettings(c, "a", "1"), newSettings(c, "same", "1"))
	text, err := c.Of(me).Diff(t.Context(), newSettings(c, "a", "2"), newSettings(c, "same", "1"), newSettings(c, "new", "1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(text)
	for _, want := range []string{"--- live ConfigMap/a\n+++ new ConfigMap/a\n", "\n-  value: \"1\"\n+  value: \"2\"\n", "+  name: new\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, no := range []string{"same", "managedFields", "resourceVersion", "uid:"} {
		if strings.Contains(text, no) {
			t.Errorf("%q is in\n%s", no, text)
		}
	}
}

// TestObject leaves out what a typed object says without meaning it.
func TestObject(t *testing.T) {
	c := connectTo(t, "https://127.0.0.1:1", "{}")
	ray := &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Name: "gpu", UID: "1", ResourceVersion: "2"}}
	ray.Spec.HeadGroupSpec.Template.Spec.Containers = []corev1.Container{{Name: "head"}}
	ray.Status.Reason = "because"
	u, err := c.Object(ray, me)
	if err != nil {
		t.Fatal(err)
	}
	text, err := u.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, no := range []string{"status", "creationTimestamp", "null", "uid", "resourceVersion"} {
		if strings.Contains(string(text), no) {
			t.Errorf("%q is in %s", no, text)
		}
	}
	if u.GetKind() != "RayCluster" || u.GetAPIVersion() != "ray.io/v1" || u.GetLabels()[ClusterLabel] != "gpu" {
		t.Errorf("got %s", text)
	}
}

func TestDelete(t *testing.T) {
	c := newCluster(t)
	apply(t, c, newSettings(c, "a", "1"), newSettings(c, "b", "1"))
	for range 2 {
		unknown := &unstructured.Unstructured{}
		unknown.SetAPIVersion("example.com/v1")
		unknown.SetKind("Thing")
		unknown.SetName("x")
		if err := c.Of(me).Delete(t.Context(), 0, nil, newSettings(c, "a", ""), newSettings(c, "b", ""), unknown); err != nil {
			t.Fatal(err)
		}
	}
	if get(t, c, "a") != nil || get(t, c, "b") != nil {
		t.Error("still there")
	}
}

func TestDeleteIsHeld(t *testing.T) {
	c := newCluster(t)
	held := newSettings(c, "held", "1")
	held.Finalizers = []string{"example.com/held"}
	apply(t, c, held)
	defer release(t, c, held)
	ctx, cancel := context.WithCancel(t.Context())
	var said string
	err := c.Of(me).Delete(ctx, 0, func(text string) { said = text; cancel() }, held)
	if want := `ConfigMap "held" in namespace "` + c.Namespace + `" is held by finalizer example.com/held`; err == nil || said != want {
		t.Errorf("said %q, want %q; error %v", said, want, err)
	}
	err = c.Of(me).Delete(t.Context(), time.Nanosecond, nil, held)
	wantError(t, err, "waiting until all is gone: timed out", "goes on where this one stopped")
	// Applied again, it is made anew as soon as the old one is gone.
	c.pause = time.Millisecond
	applied := make(chan error)
	go func() {
		_, err := c.Of(me).Apply(t.Context(), Real, newSettings(c, "held", "2"))
		applied <- err
	}()
	release(t, c, held)
	if err := <-applied; err != nil {
		t.Fatal(err)
	}
	if got := get(t, c, "held"); got == nil || got.Data["value"] != "2" {
		t.Errorf("after applying again: %+v", got)
	}
}

// TestDeleteRayCluster waits for its pods, one of which is on a node that died.
func TestDeleteRayCluster(t *testing.T) {
	lab := kubetest.New(t)
	lab.Nodes(offering("nvidia.com/gpu", "1"), 0)
	c := connect(t, lab)
	ray := newRayCluster(c)
	apply(t, c, ray)
	var pods corev1.PodList
	eventually(t, func() bool {
		err := c.List(t.Context(), &pods, client.InNamespace(c.Namespace), me.Selector())
		return err == nil && len(pods.Items) == 1 && pods.Items[0].Status.Phase == corev1.PodRunning
	})
	pod := pods.Items[0]
	pod.Finalizers = append(pod.Finalizers, "example.com/dead-node")
	if err := c.Update(t.Context(), &pod); err != nil {
		t.Fatal(err)
	}
	want := `RayCluster "gpu" in namespace "` + c.Namespace + `" waits for pod ` + pod.Name + " on node " + lab.Namespace + ", held by finalizer example.com/dead-node"
	var said []string
	err := c.Of(me).Delete(t.Context(), 0, func(text string) {
		if text == want && !slices.Contains(said, want) {
			release(t, c, &pod)
		}
		said = append(said, text)
	}, ray)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
	if err := c.List(t.Context(), &pods, client.InNamespace(c.Namespace), me.Selector()); err != nil || len(pods.Items) != 0 {
		t.Errorf("%d pods are left, %v", len(pods.Items), err)
	}
}

// newRayCluster returns one with a head alone, on the test's own node.
func newRayCluster(c *Cluster) *rayv1.RayCluster {
	ray := &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Name: "gpu", Namespace: c.Namespace}}
	ray.Spec.RayVersion = "2.58.0"
	ray.Spec.HeadGroupSpec.RayStartParams = map[string]string{}
	ray.Spec.HeadGroupSpec.Template.Labels = me.Labels()
	ray.Spec.HeadGroupSpec.Template.Spec = newPod(c, "", nil).Spec
	return ray
}

// TestApplyOutlastsARestart stops the API server and starts it again while
// objects are applied.
func TestApplyOutlastsARestart(t *testing.T) {
	lab := kubetest.New(t)
	c := connect(t, lab)
	create(t, c, newSettings(c, "first", "1")) // the server has answered once
	lab.Control("/stop/apiserver")
	c.patience = time.Nanosecond
	var err error
	eventually(t, func() bool { // the first call may find a connection that ends
		_, err = c.Of(me).Apply(t.Context(), Real, newSettings(c, "a", "1"))
		return err != nil && strings.Contains(err.Error(), "connection refused")
	})
	c.patience = patience
	applied := make(chan error)
	go func() {
		_, err := c.Of(me).Apply(t.Context(), Real, newSettings(c, "a", "1"))
		applied <- err
	}()
	lab.Control("/start/apiserver")
	wantError(t, err, "the API server at "+c.Server+" cannot be reached: connection refused (tried for 1ns)", "VPN")
	if err := <-applied; err != nil {
		t.Fatal(err)
	}
	if get(t, c, "a") == nil {
		t.Error("nothing was made")
	}
}
