package kubernetes

import (
	"cmp"
	"context"
	"slices"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func (e eye) place(ctx context.Context) (namespace corev1.Namespace, err error) {
	return namespace, e.cluster.Get(ctx, client.ObjectKey{Name: e.cluster.Namespace}, &namespace)
}

// existing reads the labels of the RayCluster that has the name already.
func (e eye) existing(ctx context.Context) (map[string]string, error) {
	var cluster metav1.PartialObjectMetadata
	cluster.SetGroupVersionKind(rayv1.GroupVersion.WithKind("RayCluster"))
	err := e.cluster.Get(ctx, e.named(e.need.Cluster), &cluster)
	return cluster.Labels, err
}

func (e eye) here() client.ListOptions { return client.ListOptions{Namespace: e.cluster.Namespace} }

func (e eye) named(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: e.cluster.Namespace, Name: name}
}

func (e eye) quotas(ctx context.Context) ([]corev1.ResourceQuota, error) {
	var all []corev1.ResourceQuota
	err := each(ctx, e, func() client.ObjectList { return &corev1.ResourceQuotaList{} }, e.here(), func(q *corev1.ResourceQuota) {
		all = append(all, *q)
	})
	return all, err
}

func (e eye) limits(ctx context.Context) ([]corev1.LimitRange, error) {
	var all []corev1.LimitRange
	err := each(ctx, e, func() client.ObjectList { return &corev1.LimitRangeList{} }, e.here(), func(l *corev1.LimitRange) {
		all = append(all, *l)
	})
	return all, err
}

// account reads the service account of the pods, and whether the Secrets are
// there that pods need: those it pulls images with, and those that were named.
// Only their metadata is asked for, so no secret leaves the server.
func (e eye) account(ctx context.Context) (Part[*corev1.ServiceAccount], map[string]error) {
	account := &corev1.ServiceAccount{}
	err := e.cluster.Get(ctx, e.named(cmp.Or(e.need.ServiceAccount, "default")), account)
	names := slices.Clone(e.need.Secrets)
	for _, pull := range slices.Concat(account.ImagePullSecrets, e.need.Worker.ImagePullSecrets) {
		names = append(names, pull.Name)
	}
	secrets := map[string]error{}
	for _, name := range names {
		var secret metav1.PartialObjectMetadata
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		secrets[name] = e.cluster.Get(ctx, e.named(name), &secret)
	}
	return Part[*corev1.ServiceAccount]{account, err}, secrets
}

func (e eye) claims(ctx context.Context) map[string]Part[corev1.PersistentVolumeClaim] {
	claims := map[string]Part[corev1.PersistentVolumeClaim]{}
	for _, name := range e.need.Claims {
		var claim corev1.PersistentVolumeClaim
		err := e.cluster.Get(ctx, e.named(name), &claim)
		claims[name] = Part[corev1.PersistentVolumeClaim]{claim, err}
	}
	return claims
}

// queue tells whether the local queue of Kueue takes jobs.
func (e eye) queue(ctx context.Context) (bool, error) {
	if e.need.Queue == "" {
		return false, nil
	}
	mapping, err := e.cluster.RESTMapper().RESTMapping(schema.GroupKind{Group: kueueGroup, Kind: "LocalQueue"})
	if err != nil {
		return false, err
	}
	var queue unstructured.Unstructured
	queue.SetGroupVersionKind(mapping.GroupVersionKind)
	if err := e.cluster.Get(ctx, e.named(e.need.Queue), &queue); err != nil {
		return false, err
	}
	conditions, _, err := unstructured.NestedSlice(queue.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Active" {
			return c["status"] == "True", err
		}
	}
	return false, err
}
