package addons_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/addons"
	"github.com/trainyard/trainyard/internal/kube"
	"github.com/trainyard/trainyard/internal/target/kubernetes"
	"github.com/trainyard/trainyard/test/charts"
	"github.com/trainyard/trainyard/test/kubetest"
)

// Add-ons are one of a kind in a cluster: each test leaves none behind.
func newLab(t *testing.T) (*kubetest.Lab, *kube.Cluster) {
	t.Helper()
	lab := kubetest.New(t)
	cluster := as(lab, lab.Kubeconfig)
	t.Cleanup(func() {
		for _, name := range addons.Names() {
			if _, err := addons.Remove(context.WithoutCancel(t.Context()), cluster, name, true, nil); err != nil {
				t.Error(err)
			}
		}
	})
	return lab, cluster
}

func as(lab *kubetest.Lab, kubeconfig string) *kube.Cluster {
	lab.Helper()
	cluster, err := kube.Connect(kube.Access{Kubeconfig: kubeconfig, Namespace: addons.Namespace})
	lab.Must(err)
	return cluster
}

func install(lab *kubetest.Lab, cluster *kube.Cluster, name addons.Name, objects addons.Set) addons.Installed {
	lab.Helper()
	did, err := addons.Install(lab.Context(), cluster, name, objects)
	lab.Must(err)
	return did
}

func remove(lab *kubetest.Lab, cluster *kube.Cluster, name addons.Name, want int) {
	lab.Helper()
	n, err := addons.Remove(lab.Context(), cluster, name, false, nil)
	lab.Must(err)
	if n != want {
		lab.Errorf("%d objects of %s removed, want %d", n, name, want)
	}
}

// there tells whether an object exists.
func there(lab *kubetest.Lab, object client.Object) bool {
	lab.Helper()
	like := &unstructured.Unstructured{}
	like.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
	key := client.ObjectKeyFromObject(object)
	err := lab.Get(lab.Context(), key, like)
	if !apierrors.IsNotFound(err) {
		lab.Must(err)
	}
	return err == nil
}

// What was interrupted goes on, by whoever gives the command again, also two at
// once; removing what is gone is fine.
func TestInstallGoesOn(t *testing.T) {
	lab, cluster := newLab(t)
	folder := addons.Source(charts.Folder(t))
	for _, name := range addons.Names() {
		objects := set(t, addons.Order{Addon: name, Charts: folder, Nodes: nodes})
		begun := slices.DeleteFunc(slices.Clone(objects), func(o client.Object) bool {
			return o.GetObjectKind().GroupVersionKind().Kind == "CustomResourceDefinition"
		})
		_, err := cluster.Of(kube.Owner{}).Apply(t.Context(), kube.Real, begun[:1]...)
		lab.Must(err)
		var two sync.WaitGroup
		for range 2 {
			two.Go(func() {
				if _, err := addons.Install(t.Context(), cluster, name, objects); err != nil {
					t.Error(err)
				}
			})
		}
		two.Wait()
		for _, o := range objects {
			if !there(lab, o) {
				t.Errorf("%s is not there", kube.Title(o))
			}
		}
		remove(lab, cluster, name, len(begun))
		remove(lab, cluster, name, 0)
		for _, o := range begun {
			if there(lab, o) {
				t.Errorf("%s is still there", kube.Title(o))
			}
		}
	}
}

func TestWhatIsNotOurs(t *testing.T) {
	lab, cluster := newLab(t)
	objects := set(t, addons.Order{Addon: addons.NVIDIA, Charts: addons.Source(charts.Folder(t)), Nodes: nodes})
	lab.Make(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "nvidia-device-plugin-role"}})
	_, err := addons.Install(t.Context(), cluster, addons.NVIDIA, objects)
	if err == nil || !strings.Contains(err.Error(), `installing the NVIDIA device plugin: ClusterRole "nvidia-device-plugin-role" exists and is not ours`) {
		t.Errorf("error %v, want one that names the role", err)
	}
	remove(lab, cluster, addons.NVIDIA, 0)
}

func TestInstallPrunes(t *testing.T) {
	lab, cluster := newLab(t)
	old := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "of-an-older-version", Namespace: addons.Namespace,
		Labels: map[string]string{kube.ManagedByLabel: kube.Manager, addons.Label: string(addons.EFA)},
	}}
	other := old.DeepCopy()
	other.Name, other.Labels[addons.Label] = "of-another", "nvidia"
	lab.Make(old, other)
	objects := set(t, addons.Order{Addon: addons.EFA, Nodes: nodes})
	if did := install(lab, cluster, addons.EFA, objects); did.Pruned != 1 {
		t.Errorf("%d objects removed that an older version had, want 1", did.Pruned)
	}
	if did := install(lab, cluster, addons.EFA, objects); did.Pruned != 0 {
		t.Errorf("%d objects removed the second time", did.Pruned)
	}
	remove(lab, cluster, addons.EFA, 1)
	remove(lab, cluster, addons.NVIDIA, 1)
}

// A CustomResourceDefinition of ours is made and never removed; somebody else's
// is not touched.
func TestCustomResourceDefinitions(t *testing.T) {
	lab, cluster := newLab(t)
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "things." + lab.Namespace + ".example.com"},
		"spec": map[string]any{
			"group": lab.Namespace + ".example.com", "scope": "Namespaced",
			"names":    map[string]any{"plural": "things", "singular": "thing", "kind": "Thing"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
		},
	}}
	t.Cleanup(func() { lab.Must(client.IgnoreNotFound(lab.Delete(context.WithoutCancel(t.Context()), crd))) })
	for range 2 {
		if did := install(lab, cluster, addons.EFA, addons.Set{crd.DeepCopy()}); len(did.KeptCRDs) > 0 {
			t.Errorf("kept %v", did.KeptCRDs)
		}
	}
	remove(lab, cluster, addons.EFA, 0)
	if !there(lab, crd) {
		t.Fatal("the CustomResourceDefinition is gone")
	}
	foreign := crd.DeepCopy()
	lab.Must(lab.Get(t.Context(), client.ObjectKeyFromObject(crd), foreign))
	foreign.SetLabels(nil)
	lab.Must(lab.Update(t.Context(), foreign))
	if did := install(lab, cluster, addons.EFA, addons.Set{crd.DeepCopy()}); !slices.Equal(did.KeptCRDs, []string{crd.GetName()}) {
		t.Errorf("kept %v, want that of somebody else", did.KeptCRDs)
	}
}

func TestForbidden(t *testing.T) {
	lab, cluster := newLab(t)
	guest := as(lab, lab.User("guest"))
	objects := set(t, addons.Order{Addon: addons.EFA, Nodes: nodes})
	_, err := addons.Install(t.Context(), guest, addons.EFA, objects)
	if err == nil || !strings.Contains(err.Error(), "installing the EFA device plugin: you may not get, list, create, patch daemonsets.apps in namespace kube-system") {
		t.Errorf("error %v, want one that names what is forbidden", err)
	}
	install(lab, cluster, addons.EFA, objects)
	_, err = addons.Remove(t.Context(), guest, addons.EFA, false, nil)
	if err == nil || !strings.Contains(err.Error(), "get, list, delete daemonsets.apps in namespace kube-system; get, list, delete deployments.apps") {
		t.Errorf("error %v, want one that names what is forbidden", err)
	}
	if !there(lab, objects[0]) {
		t.Error("it is gone nevertheless")
	}
}

// What preflight asks for is what is needed: with it all add-ons can be installed
// and removed. Besides, only those may make a role who may do all that is in it, as
// administrators may: escalate and bind stand for that.
func TestRightsThatAreNeeded(t *testing.T) {
	lab, cluster := newLab(t)
	state, err := kubernetes.Look(t.Context(), cluster, kubernetes.Need{})
	lab.Must(err)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: lab.Namespace}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles", "clusterroles"}, Verbs: []string{"escalate", "bind"}},
		{APIGroups: []string{"ray.io"}, Resources: []string{"*"}, Verbs: []string{"list"}}, // whom the operator looks after
	}}
	for _, p := range state.Permissions {
		if p.Purpose == kubernetes.ForAddons {
			role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{p.Group}, Resources: []string{p.Resource}, Verbs: []string{p.Verb}})
		}
	}
	kubeconfig := lab.User("installer")
	lab.Make(role, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: lab.Namespace}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: "installer"}},
	})
	installer := as(lab, kubeconfig)
	lab.Until("role that is in force", func() bool {
		return installer.List(t.Context(), &rbacv1.RoleBindingList{}) == nil
	})
	for _, name := range addons.Names() {
		install(lab, installer, name, set(t, addons.Order{Addon: name, Charts: addons.Source(charts.Folder(t)), Nodes: nodes}))
		if n, err := addons.Remove(t.Context(), installer, name, false, nil); n == 0 || err != nil {
			t.Errorf("%s: %d objects removed, %v", name, n, err)
		}
	}
}

func TestOperatorStaysWhileItIsNeeded(t *testing.T) {
	lab, cluster := newLab(t)
	install(lab, cluster, addons.KubeRay, set(t, addons.Order{Addon: addons.KubeRay, Charts: addons.Source(charts.Folder(t)), Nodes: nodes}))
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "head", Image: "none"}}}}
	lab.Make(&rayv1.RayCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "theirs", Namespace: lab.Namespace},
		Spec:       rayv1.RayClusterSpec{HeadGroupSpec: rayv1.HeadGroupSpec{RayStartParams: map[string]string{}, Template: template}},
	})
	_, err := addons.Remove(t.Context(), cluster, addons.KubeRay, false, nil)
	if err == nil || !strings.Contains(err.Error(), "it looks after RayCluster "+lab.Namespace+"/theirs") {
		t.Errorf("error %v, want one that names the RayCluster", err)
	}
	operator := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "kuberay-operator", Namespace: addons.Namespace}}
	lab.Must(lab.Get(t.Context(), client.ObjectKeyFromObject(operator), operator))
	n, err := addons.Remove(t.Context(), cluster, addons.KubeRay, true, nil)
	lab.Must(err)
	if n == 0 {
		t.Error("nothing was removed by force")
	}
}

func TestPodsOf(t *testing.T) {
	lab, cluster := newLab(t)
	objects := set(t, addons.Order{Addon: addons.EFA, Nodes: addons.Nodes{EFATypes: []string{lab.Namespace}}})
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{corev1.LabelInstanceTypeStable: lab.Namespace}}}
	node.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("4Gi"), "pods": resource.MustParse("10")}
	lab.Nodes(node, 2)
	install(lab, cluster, addons.EFA, objects)
	var pods addons.Pods
	look := func() {
		var err error
		pods, err = addons.PodsOf(t.Context(), cluster, addons.EFA)
		lab.Must(err)
	}
	lab.Until("ready pods", func() bool { look(); return pods.Ready == 2 })
	var list corev1.PodList
	lab.Must(lab.List(t.Context(), &list, client.InNamespace(addons.Namespace), client.MatchingLabels{addons.Label: "efa"}))
	sick := &list.Items[0]
	sick.Status.Conditions = nil
	sick.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "aws-efa-k8s-device-plugin", Image: "x", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}},
	}}
	lab.Must(lab.Status().Update(t.Context(), sick))
	look()
	if len(pods.Waiting) != 1 || pods.All != 2 || !strings.Contains(pods.Waiting[0].String(), "pod "+sick.Name+" on node "+sick.Spec.NodeName) || !strings.Contains(pods.Waiting[0].Text, "no such image") {
		t.Errorf("%+v, want one pod that waits for its image", pods)
	}
	remove(lab, cluster, addons.EFA, 1) // while its nodes are there: theirs to end pods
}
