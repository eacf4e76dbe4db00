package kube

import (
	"context"

	"github.com/rogpeppe/go-internal/diff"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// Diff returns what Apply would change, as the server sees it: a unified diff
// of YAML for each object that would be new or different, without what only the
// server sets; "" where nothing would change. Like Apply it refuses objects that
// are not the owner's.
func (o Ours) Diff(ctx context.Context, objects ...client.Object) (string, error) {
	after, err := o.Apply(ctx, Server, objects...)
	if err != nil {
		return "", err
	}
	text := ""
	for _, u := range after {
		before, err := o.live(ctx, u)
		if err != nil {
			return "", err
		}
		old, err := readable(before)
		if err != nil {
			return "", err
		}
		changed, err := readable(u)
		if err != nil {
			return "", err
		}
		name := u.GetKind() + "/" + u.GetName()
		text += string(diff.Diff("live "+name, old, "new "+name, changed))
	}
	return text, nil
}

// readable returns an object as YAML without what only the server sets; nothing
// for nil.
func readable(u *unstructured.Unstructured) ([]byte, error) {
	if u == nil {
		return nil, nil
	}
	u = u.DeepCopy()
	serverless(u)
	return yaml.Marshal(u.Object)
}
