package kubernetes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/kube"
)

// statePatience is how long reading a RayCluster's state may take, which only adds
// to what is known.
const statePatience = 10 * time.Second

// stateOf says in a few words what KubeRay has written of a RayCluster, or that
// it is no more.
func stateOf(ctx context.Context, k *kube.Cluster, name string, uid types.UID) string {
	ctx, cancel := context.WithTimeout(ctx, statePatience)
	defer cancel()
	var found rayv1.RayCluster
	err := k.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: name}, &found)
	switch {
	case apierrors.IsNotFound(err), err == nil && found.UID != uid:
		return fmt.Sprintf("RayCluster %s was deleted", name)
	case err != nil:
		return fmt.Sprintf("the state of RayCluster %s is not known: %v", name, err)
	case found.DeletionTimestamp != nil:
		return fmt.Sprintf("RayCluster %s is being deleted", name)
	}
	return fmt.Sprintf("the state of RayCluster %s: %s", name, stateText(found.Status))
}

// stateText is the state, which KubeRay leaves at "ready" when pods are lost, and
// those conditions that are not as they should be.
func stateText(s rayv1.RayClusterStatus) string {
	parts := []string{because(cmp.Or(string(s.State), "none yet"), s.Reason)} //nolint:staticcheck // deprecated, and what everybody sees
	for _, c := range s.Conditions {
		good := metav1.ConditionFalse // they tell of a failure, or of suspension
		switch rayv1.RayClusterConditionType(c.Type) {
		case rayv1.HeadPodReady, rayv1.RayClusterProvisioned:
			good = metav1.ConditionTrue
		}
		if c.Status != good {
			parts = append(parts, because(fmt.Sprintf("%s is %s", c.Type, c.Status), c.Reason, c.Message))
		}
	}
	return strings.Join(parts, ", ")
}

// because puts what is known of the reasons behind what they explain.
func because(what string, why ...string) string {
	if why = slices.DeleteFunc(why, func(text string) bool { return text == "" }); len(why) == 0 {
		return what
	}
	return what + " (" + strings.Join(why, ": ") + ")"
}
