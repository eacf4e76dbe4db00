package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/kube"
)

func TestLookAtWholeCluster(t *testing.T) {
	l := newLab(t)
	l.Nodes(freshNode("whole"), 2)
	l.install(plugin(), efaPlugin())
	findings := l.check(l.admin, l.need(2))
	for _, f := range findings {
		// The operator of test/cluster is no pod, and nobody has room for a head.
		if f.Level == Problem && f.Check != "head" || f.Level == Unknown && f.Check != "kuberay operator" {
			t.Errorf("%+v", f)
		}
	}
}

func TestLookForPlugins(t *testing.T) {
	l := newLab(t)
	bare := freshNode("bare")
	bare.Status.Allocatable = resources("cpu", "47", "memory", "180Gi")
	bare.Status.Capacity = nil
	delete(bare.Labels, "nvidia.com/gpu.present")
	l.Nodes(bare, 2)

	findings := l.check(l.admin, l.need(2))
	l.want(findings, "gpus", Problem, "no NVIDIA device plugin is installed")
	l.want(findings, "efa", Problem, "no EFA device plugin is installed")

	l.install(plugin(), efaPlugin())
	findings = l.check(l.admin, l.need(2))
	l.want(findings, "gpus", Problem, "passes over the node: node affinity wants")
	l.want(findings, "efa", Problem, "launched without EFA")
	if f := find(findings, "gpus")[0]; f.Remedy != "kubectl label node bare-0 bare-1 nvidia.com/gpu.present=true" {
		t.Errorf("remedy %q", f.Remedy)
	}
}

func TestLookForDRA(t *testing.T) {
	l := newLab(t)
	l.Nodes(freshNode("dra"), 1)
	l.install(plugin())
	node := "dra-0"
	l.Make(&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: l.Namespace}})
	l.Make(&resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: l.Namespace}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "gpu.nvidia.com", NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1}, Devices: []resourcev1.Device{{Name: "gpu-0"}},
	}})
	l.want(l.check(l.admin, l.need(1)), "device drivers", Warning, "GPUs are handed out by a device plugin and by a DRA driver")
}

func TestLookForTaints(t *testing.T) {
	l := newLab(t)
	n := freshNode("taint")
	n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "others", Effect: corev1.TaintEffectNoExecute}}
	l.Nodes(n, 2)
	l.want(l.check(l.admin, l.need(1)), "nodes", Warning, "taint dedicated=others:NoExecute is not tolerated")
}

func TestLookForRoom(t *testing.T) {
	l := newLab(t)
	l.Nodes(freshNode("room"), 2)
	need := l.need(2)
	holder := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "holder", Namespace: l.Namespace}, Spec: need.Worker}
	holder.Spec.Containers = slices.Clone(holder.Spec.Containers)
	holder.Spec.Containers[0].Image = "none"
	l.Make(holder)
	l.Until("place for the pod", func() bool {
		l.Must(l.admin.Get(l.Context(), l.Key("holder"), holder))
		return holder.Spec.NodeName != ""
	})
	l.want(l.check(l.admin, need), "room", Warning, "for 1 worker now, 2 once others end, 2 wanted; GPUs are held by "+l.Namespace+"/holder")

	// The pods of the same Ray cluster are in nobody's way.
	label := `{"metadata":{"labels":{"` + rayClusterLabel + `":"` + need.Cluster + `"}}}`
	l.Must(l.admin.Patch(l.Context(), holder, client.RawPatch(types.MergePatchType, []byte(label))))
	if found := find(l.check(l.admin, need), "room"); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

func TestLookForOperator(t *testing.T) {
	l := newLab(t)
	l.Nodes(freshNode("op"), 1)
	labels := map[string]string{"app": l.Namespace}
	replicas := int32(1)
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "ray", Namespace: l.Namespace}, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"test": l.Namespace},
			Containers:   []corev1.Container{{Name: "o", Image: "registry.example/mirror/kuberay/operator:v1.6.1", Args: []string{"--watch-namespace", "elsewhere"}}},
		}},
	}}
	l.Make(d)
	l.Until("operator", func() bool {
		l.Must(l.admin.Get(t.Context(), l.Key("ray"), d))
		return d.Status.ReadyReplicas == 1
	})
	findings := l.check(l.admin, l.need(1))
	l.want(findings, "kuberay operator", Warning, "runs on a node with GPUs")
	l.want(findings, "kuberay operator", Problem, "no operator looks after namespace "+l.Namespace+", only after elsewhere")

	replicas = 0
	d.Spec.Replicas = &replicas
	l.Must(l.admin.Update(t.Context(), d))
	l.want(l.check(l.admin, l.need(1)), "kuberay operator", Problem, "scaled to 0")
}

func TestLookForCRD(t *testing.T) {
	l := newLab(t)
	ray := func() []string {
		groups, err := eye{l.admin, Need{}}.groups(t.Context())
		l.Must(err)
		return groups[rayGroup]
	}
	var crds apiextensionsv1.CustomResourceDefinitionList
	l.Must(l.admin.List(t.Context(), &crds))
	var kept []apiextensionsv1.CustomResourceDefinition
	for _, crd := range crds.Items {
		if crd.Spec.Group == rayGroup {
			kept = append(kept, crd)
		}
	}
	t.Cleanup(func() {
		l.restore(kept)
		l.Control("/restart/operator") // its watches ended with the CRDs
	})
	for i := range kept {
		l.Must(l.admin.Delete(t.Context(), &kept[i]))
	}
	l.Until("end of the CRDs", func() bool { return len(ray()) == 0 })
	l.want(l.check(l.admin, l.need(1)), "kuberay API", Problem, "not installed")

	for version, says := range map[string]string{
		"v1alpha1": "ray.io/v1 is not served, only v1alpha1: the CRDs are of KubeRay 0.x",
		"v1":       "the CRD of RayCluster has no authOptions: it is older than KubeRay 1.5",
	} {
		old := oldRayCluster(version)
		l.Must(l.admin.Create(t.Context(), old))
		l.Until("RayCluster "+version, func() bool {
			return len(find(l.check(l.admin, l.need(1)), "kuberay API")) == 1 && len(ray()) == 1
		})
		l.Until("schema of RayCluster "+version, func() bool {
			return find(l.check(l.admin, l.need(1)), "kuberay API")[0].Level == Problem
		})
		l.want(l.check(l.admin, l.need(1)), "kuberay API", Problem, says)
		l.Must(l.admin.Delete(t.Context(), old))
		l.Until("end of RayCluster "+version, func() bool { return len(ray()) == 0 })
	}
}

// oldRayCluster defines RayCluster as KubeRay of old did, in one version.
func oldRayCluster(version string) *apiextensionsv1.CustomResourceDefinition {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	spec := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"rayVersion": text}}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "rayclusters." + rayGroup},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: rayGroup, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "RayCluster", ListKind: "RayClusterList", Plural: "rayclusters", Singular: "raycluster"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec},
				}},
			}},
		},
	}
}

// restore brings back the CRDs that there were, whatever has their names now, and
// waits until RayClusters can be listed again.
func (l lab) restore(kept []apiextensionsv1.CustomResourceDefinition) {
	l.Helper()
	for i := range kept {
		crd := &kept[i]
		l.atLast("end of CRD "+crd.Name, func(ctx context.Context) error {
			err := l.Delete(ctx, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: crd.Name}})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("it is there: %w", err)
		})
		again := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: crd.Name, Annotations: crd.Annotations}, Spec: crd.Spec}
		if err := l.Create(context.WithoutCancel(l.Context()), again); err != nil {
			l.Error(err)
		}
	}
	l.atLast("RayClusters", func(ctx context.Context) error {
		fields, err := eye{l.admin, Need{}}.rayFields(ctx)
		if err == nil && !slices.Contains(fields, "authOptions") {
			err = fmt.Errorf("the CRD is another: %q", fields)
		}
		return err
	})
}

func TestLookForNamespace(t *testing.T) {
	l := newLab(t)
	l.want(l.check(&kube.Cluster{WithWatch: l.admin.WithWatch, Config: l.admin.Config, Namespace: "no-such"}, l.need(1)), "namespace", Problem, "does not exist")

	stays := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "stays", Namespace: l.Namespace, Finalizers: []string{"trainyard.dev/test"}}}
	l.Must(l.admin.Create(t.Context(), stays))
	t.Cleanup(func() {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
		if err := l.admin.Patch(context.Background(), stays, patch); err != nil {
			t.Error(err)
		}
	})
	l.Must(l.admin.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.Namespace}}))
	l.Until("reason", func() bool {
		found := find(l.check(l.admin, l.need(1)), "namespace")
		return len(found) == 1 && strings.Contains(found[0].What, "Some resources are remaining")
	})
}

// What pods need of their namespace: quota, limits, Secrets, claims, and a name
// for the Ray cluster.
func TestLookIntoNamespace(t *testing.T) {
	l := newLab(t)
	l.Nodes(freshNode("ns"), 2)
	need := l.need(2)
	need.Secrets, need.Claims, need.Queue = []string{"wandb"}, []string{"data"}, "team"
	findings := l.check(l.admin, need)
	l.want(findings, "secret", Problem, "wandb does not exist")
	l.want(findings, "volume", Problem, "data does not exist")
	l.want(findings, "queue", Problem, "Kueue is not installed")

	meta := metav1.ObjectMeta{Namespace: l.Namespace}
	object := func(name string) metav1.ObjectMeta { m := meta; m.Name = name; return m }
	quota := &corev1.ResourceQuota{ObjectMeta: object("gpus"), Spec: corev1.ResourceQuotaSpec{Hard: resources("requests.nvidia.com/gpu", "4")}}
	l.Make(quota)
	l.Make(&corev1.LimitRange{ObjectMeta: object("small"), Spec: corev1.LimitRangeSpec{
		Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Max: resources("cpu", "8")}},
	}})
	l.Make(&corev1.Secret{ObjectMeta: object("wandb")})
	l.Make(&corev1.PersistentVolumeClaim{ObjectMeta: object("data"), Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Resources: corev1.VolumeResourceRequirements{Requests: resources("storage", "1Gi")},
	}})
	account := &corev1.ServiceAccount{}
	l.Must(l.admin.Get(t.Context(), l.Key("default"), account))
	account.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "registry"}}
	l.Must(l.admin.Update(t.Context(), account))
	l.Make(&rayv1.RayCluster{ObjectMeta: object(need.Cluster), Spec: rayv1.RayClusterSpec{
		HeadGroupSpec: rayv1.HeadGroupSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "h", Image: "none"}}}}},
	}})
	l.Until("status of the quota", func() bool {
		l.Must(l.admin.Get(t.Context(), l.Key("gpus"), quota))
		return len(quota.Status.Hard) > 0
	})
	findings = l.check(l.admin, need)
	l.want(findings, "quota", Problem, "requests.nvidia.com/gpu: 8 wanted, 4 of 4 left")
	l.want(findings, "quota", Problem, "LimitRange small allows a container cpu of 8; a worker asks for 40")
	l.want(findings, "secret", Warning, "registry, with which images are to be pulled, does not exist")
	l.want(findings, "volume", Problem, "one node only (ReadWriteOnce)")
	l.want(findings, "ray cluster", Problem, "mine exists and is not yours")
	if found := find(findings, "secret"); len(found) != 1 {
		t.Errorf("%+v", found)
	}
}

// A server that is not there is an error, and no list of what is unknown.
func TestLookAtNothing(t *testing.T) {
	l := newLab(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Look(ctx, l.admin, l.need(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	late := l.LateUser("late", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	if state, err := Look(t.Context(), l.as(late), l.need(1)); err == nil {
		t.Errorf("no error, version %+v", state.Version)
	}
}

// Every verb that is forbidden is told by its name, one by one.
func TestLookAsSomebodyElse(t *testing.T) {
	l := newLab(t)
	var all []rbacv1.PolicyRule
	var verbs []Permission
	for _, w := range wanted {
		if w.wide {
			continue
		}
		for verb := range strings.FieldsSeq(w.verbs) {
			all = append(all, rbacv1.PolicyRule{APIGroups: []string{w.group}, Resources: []string{w.resource}, Verbs: []string{verb}})
			verbs = append(verbs, Permission{Purpose: w.purpose, Verb: verb, Group: w.group, Resource: w.resource})
		}
	}
	for i, missing := range verbs {
		rules := slices.Delete(slices.Clone(all), i, i+1)
		guest := l.as(l.User(fmt.Sprintf("guest%d", i), rules...))
		level := Problem
		if missing.Purpose == ForWatch {
			level = Warning
		}
		l.Until("answer that knows the new role", func() bool {
			found := find(l.check(guest, l.need(1)), "permissions")
			return slices.ContainsFunc(found, func(f Finding) bool {
				return f.Level == level && (f.What == "you may not "+missing.String() || missing.Purpose == ForWatch && strings.Contains(f.What, missing.String()))
			})
		})
	}
}

// What somebody without any rights cannot see is unknown, and never fine.
func TestLookWithoutRights(t *testing.T) {
	l := newLab(t)
	l.Nodes(freshNode("hidden"), 2)
	findings := l.check(l.as(l.User("nobody")), l.need(2))
	for _, check := range []string{"kuberay operator", "namespace", "quota", "service account", "nodes", "device drivers"} {
		if found := find(findings, check); len(found) == 0 || found[0].Level != Unknown {
			t.Errorf("%s: %+v", check, found)
		}
	}
	l.want(findings, "permissions", Problem, "create, patch rayclusters.ray.io")
	for _, f := range findings {
		if f.Level == OK && !slices.Contains([]string{"kubernetes", "kuberay API", "add-ons"}, f.Check) {
			t.Errorf("%+v", f)
		}
	}
}

func TestLookAtThousandNodes(t *testing.T) {
	l := newLab(t)
	big := freshNode("big")
	big.Labels[corev1.LabelInstanceTypeStable] = "p5.48xlarge"
	big.Status.Allocatable = resources("cpu", "190", "memory", "2000Gi", "nvidia.com/gpu", "8", "vpc.amazonaws.com/efa", "32", "hugepages-2Mi", "10Gi")
	big.Status.Capacity = nil
	made := time.Now()
	t.Cleanup(func() { // of the nodes, which are gone before: or later tests stand in line behind it
		l.atLast("end of the garbage collection", func(ctx context.Context) error {
			var leases coordinationv1.LeaseList
			l.Must(l.List(ctx, &leases, client.InNamespace(corev1.NamespaceNodeLease)))
			for _, lease := range leases.Items {
				if strings.HasPrefix(lease.Name, big.Name+"-") {
					return fmt.Errorf("lease %s is there", lease.Name)
				}
			}
			return nil
		})
	})
	l.Nodes(big, 1000)
	t.Logf("made 1,000 nodes in %s", time.Since(made).Round(time.Millisecond))
	need := l.need(1000)
	need.Worker.NodeSelector[corev1.LabelInstanceTypeStable] = "p5.48xlarge"
	need.Worker.Containers[0].Resources.Requests = resources("cpu", "160", "memory", "1600Gi", "nvidia.com/gpu", "8", "vpc.amazonaws.com/efa", "32", "hugepages-2Mi", "10Gi")

	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	state, err := Look(t.Context(), l.admin, need)
	l.Must(err)
	looked := time.Since(began)
	state.Nodes.Value = l.own(state.Nodes.Value)
	findings := Judge(state, need)
	judged := time.Since(began) - looked
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(state)
	t.Logf("looked in %s, judged in %s, %d MB kept, %d MB allocated", looked.Round(time.Millisecond), judged.Round(time.Millisecond),
		(int64(after.HeapAlloc)-int64(before.HeapAlloc))>>20, (after.TotalAlloc-before.TotalAlloc)>>20)
	if len(state.Nodes.Value) < 1000 || state.Nodes.Err != nil {
		t.Errorf("%d nodes, %v", len(state.Nodes.Value), state.Nodes.Err)
	}
	for _, check := range []string{"nodes", "gpus", "efa", "room"} {
		if found := find(findings, check); len(found) > 0 {
			t.Errorf("%+v", found)
		}
	}
}
