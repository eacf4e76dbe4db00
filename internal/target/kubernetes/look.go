package kubernetes

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/tools/pager"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/kube"
)

// Part is what one read of the cluster gave, or why it gave nothing.
type Part[T any] struct {
	Value T
	Err   error
}

// State is a cluster as it was seen, for [Judge]. A part that could not be read
// says why, and hides no other.
type State struct {
	Context   string // name of the kubeconfig's context
	Server    string // URL of the API server
	Namespace string

	Version   Part[version.Info]
	Groups    Part[map[string][]string] // API groups that are served, each with its versions
	RayFields Part[[]string]            // fields of the spec of RayCluster, as the CRD has them

	Operators  Part[[]Operator] // of KubeRay, in all namespaces
	Helpers    Part[[]Workload] // Deployments that matter: GPU Operator, cluster-autoscaler
	DaemonSets Part[[]Workload] // device plugins and DRA drivers
	Devices    Part[[]Devices]  // that DRA drivers offer
	Classes    Part[[]string]   // names of DeviceClasses

	Nodes Part[[]corev1.Node]       // only with what placing pods needs
	Use   Part[map[string]Use]      // by node
	Own   Part[corev1.ResourceList] // what pods of the same Ray cluster, which is there already, ask for

	Existing    Part[map[string]string] // labels of the RayCluster that has the name already
	Permissions []Permission
	Place       Part[corev1.Namespace]
	Quotas      Part[[]corev1.ResourceQuota]
	Limits      Part[[]corev1.LimitRange]
	Account     Part[*corev1.ServiceAccount]
	Secrets     map[string]error // that pods need: nil where it exists
	Claims      map[string]Part[corev1.PersistentVolumeClaim]
	Queue       Part[bool] // whether the local queue takes jobs
}

// Look reads all that [Judge] judges by, at once. Lists come in pages, of which
// only what matters is kept. An error means that there is nothing to judge: the
// server cannot be reached or does not know the user, or ctx has ended.
func Look(ctx context.Context, cluster *kube.Cluster, need Need) (State, error) {
	s := State{Context: cluster.Context, Server: cluster.Server, Namespace: cluster.Namespace}
	e := eye{cluster, need}
	s.Version.Value, s.Version.Err = e.version(ctx)
	if s.Version.Err != nil && !apierrors.IsForbidden(s.Version.Err) {
		return s, fmt.Errorf("asking the cluster for its version: %w", s.Version.Err)
	}
	var all sync.WaitGroup
	see(ctx, &all, &s.Groups, e.groups)
	see(ctx, &all, &s.RayFields, e.rayFields)
	see(ctx, &all, &s.DaemonSets, e.daemonSets)
	see(ctx, &all, &s.Devices, e.devices)
	see(ctx, &all, &s.Classes, e.classes)
	see(ctx, &all, &s.Nodes, e.nodes)
	see(ctx, &all, &s.Use, e.use)
	see(ctx, &all, &s.Own, e.own)
	see(ctx, &all, &s.Existing, e.existing)
	see(ctx, &all, &s.Place, e.place)
	see(ctx, &all, &s.Quotas, e.quotas)
	see(ctx, &all, &s.Limits, e.limits)
	see(ctx, &all, &s.Queue, e.queue)
	all.Go(func() { s.Operators, s.Helpers = e.deployments(ctx) })
	all.Go(func() { s.Permissions = e.permissions(ctx) })
	all.Go(func() { s.Account, s.Secrets = e.account(ctx) })
	all.Go(func() { s.Claims = e.claims(ctx) })
	all.Wait()
	return s, ctx.Err()
}

func see[T any](ctx context.Context, all *sync.WaitGroup, into *Part[T], read func(context.Context) (T, error)) {
	all.Go(func() { into.Value, into.Err = read(ctx) })
}

// eye is what every read needs.
type eye struct {
	cluster *kube.Cluster
	need    Need
}

// pageSize is how many objects come at once: what is not kept of a page goes
// before the next one but one comes.
const pageSize = 250

// each hands over the objects of a list one by one, page by page.
func each[I client.Object](ctx context.Context, e eye, newList func() client.ObjectList, options client.ListOptions, take func(I)) error {
	p := pager.New(func(ctx context.Context, page metav1.ListOptions) (runtime.Object, error) {
		list, o := newList(), options
		o.Limit, o.Continue, o.Raw = page.Limit, page.Continue, &page
		return list, e.cluster.List(ctx, list, &o)
	})
	p.PageSize, p.PageBufferSize = pageSize, 1
	return p.EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		if item, ok := object.(I); ok {
			take(item)
		}
		return nil
	})
}
