package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/wait"
)

// AwaitDeletion watches an object of our namespace and returns nil as soon as it
// is being deleted, is gone, or is another one of that name. It returns an error
// where ctx ends before, or where the object may not be read or watched; a server
// that is away, or has just started, says nothing.
func (c *Cluster) AwaitDeletion(ctx context.Context, kind schema.GroupVersionKind, name string, uid types.UID) error {
	refused := c.refusals()
	for {
		gone, err := c.deleted(ctx, kind, name, uid, refused)
		switch {
		case gone:
			return nil
		case refused.final(err):
			return fmt.Errorf("watching %s %q: %w", kind.Kind, name, err)
		}
		if err := wait.Sleep(ctx, c.pause); err != nil {
			return err
		}
	}
}

// deleted looks at an object and then at one watch of it, to its end.
func (c *Cluster) deleted(ctx context.Context, kind schema.GroupVersionKind, name string, uid types.UID, refused *refusals) (bool, error) {
	var found metav1.PartialObjectMetadata
	found.SetGroupVersionKind(kind)
	err := c.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &found)
	if apierrors.IsNotFound(err) || err == nil && leaves(&found, uid) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(kind)
	stream, err := c.Watch(ctx, &list, client.InNamespace(c.Namespace), client.MatchingFields{"metadata.name": name},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: found.ResourceVersion}})
	if err != nil {
		return false, err
	}
	refused.allowed = true
	defer stream.Stop()
	for event := range stream.ResultChan() {
		now, ok := event.Object.(*metav1.PartialObjectMetadata)
		if ok && (event.Type == watch.Deleted || leaves(now, uid)) {
			return true, nil
		}
	}
	return false, nil
}

func leaves(found *metav1.PartialObjectMetadata, uid types.UID) bool {
	return found.UID != uid || found.DeletionTimestamp != nil
}
