package kubernetes

import (
	"context"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// Purpose is what a permission is for.
type Purpose string

// Purposes of permissions.
const (
	ForTrain  Purpose = "train"  // nothing runs without it
	ForWatch  Purpose = "watch"  // train runs, and knows less
	ForDown   Purpose = "down"   // what was made stays
	ForAddons Purpose = "addons" // install what the cluster lacks
)

// Permission is something that a user may do or not.
type Permission struct {
	Purpose   Purpose
	Verb      string
	Group     string
	Resource  string // with its subresource: "pods/log"
	Namespace string // empty: cluster wide
	Allowed   bool
	Err       error // why it is not known
}

// String is as kubectl has it: "create rayclusters.ray.io".
func (p Permission) String() string {
	resource, sub, _ := strings.Cut(p.Resource, "/")
	if p.Group != "" {
		resource += "." + p.Group
	}
	if sub != "" {
		resource += "/" + sub
	}
	return p.Verb + " " + resource
}

// wanted is the table of what trainyard does with a cluster.
var wanted = []struct {
	purpose  Purpose
	group    string
	resource string
	verbs    string
	wide     bool // cluster wide, else in the namespace
}{
	{ForTrain, "ray.io", "rayclusters", "get list watch create patch", false},
	{ForTrain, "", "pods", "list watch", false},
	{ForTrain, "", "pods/portforward", "create", false},
	{ForTrain, "", "secrets", "get", false}, // the token of the Ray cluster
	{ForWatch, "", "pods/log", "get", false},
	{ForWatch, "", "events", "list watch", false},
	{ForWatch, "", "nodes", "list", true},
	{ForWatch, "", "pods", "list", true},
	{ForDown, "ray.io", "rayclusters", "delete", false},
	{ForAddons, "", "serviceaccounts", "get list create patch delete", true},
	{ForAddons, "", "configmaps", "get list create patch delete", true},
	{ForAddons, "", "services", "get list create patch delete", true},
	{ForAddons, "apps", "daemonsets", "get list create patch delete", true},
	{ForAddons, "apps", "deployments", "get list create patch delete", true},
	{ForAddons, "apiextensions.k8s.io", "customresourcedefinitions", "get list create patch", true},
	{ForAddons, "rbac.authorization.k8s.io", "clusterroles", "get list create patch delete", true},
	{ForAddons, "rbac.authorization.k8s.io", "clusterrolebindings", "get list create patch delete", true},
	{ForAddons, "rbac.authorization.k8s.io", "roles", "get list create patch delete", true},
	{ForAddons, "rbac.authorization.k8s.io", "rolebindings", "get list create patch delete", true},
}

func (e eye) permissions(ctx context.Context) []Permission {
	var all []Permission
	for _, w := range wanted {
		namespace := e.cluster.Namespace
		if w.wide {
			namespace = ""
		}
		for verb := range strings.FieldsSeq(w.verbs) {
			all = append(all, Permission{Purpose: w.purpose, Verb: verb, Group: w.group, Resource: w.resource, Namespace: namespace})
		}
	}
	var questions sync.WaitGroup
	for i := range all {
		questions.Go(func() { all[i].Allowed, all[i].Err = e.may(ctx, all[i]) })
	}
	questions.Wait()
	return all
}

func (e eye) may(ctx context.Context, p Permission) (bool, error) {
	resource, sub, _ := strings.Cut(p.Resource, "/")
	return e.cluster.May(ctx, authorizationv1.ResourceAttributes{
		Namespace: p.Namespace, Verb: p.Verb, Group: p.Group, Resource: resource, Subresource: sub,
	})
}
