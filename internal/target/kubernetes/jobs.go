package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/kube"
	"github.com/trainyard/trainyard/internal/rayjob"
)

// FoundJob is a job that a RayCluster remembers.
type FoundJob struct {
	Cluster string // the RayCluster's name
	Owner   string // whose it is, as a label value
	rayjob.Job
}

// Jobs asks all RayClusters that trainyard made in the namespace, whoever for, and
// returns the jobs that were submitted to them, the newest first. Those that do not
// tell are in the error, beside the jobs of those that do.
func Jobs(ctx context.Context, k *kube.Cluster) ([]FoundJob, error) {
	clusters, err := rayClusters(ctx, k)
	if err != nil {
		return nil, err
	}
	found, problems := make([][]FoundJob, len(clusters)), make([]error, len(clusters))
	var all sync.WaitGroup
	for i := range clusters {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, jobsTimeout)
			defer cancel()
			var jobs []rayjob.Job
			jobs, problems[i] = jobsOf(ctx, k, clusters[i].Name)
			for _, j := range jobs {
				if j.SubmissionID != "" { // else a driver that nobody submitted
					found[i] = append(found[i], FoundJob{clusters[i].Name, clusters[i].Labels[kube.OwnerLabel], j})
				}
			}
		})
	}
	all.Wait()
	jobs := slices.Concat(found...)
	slices.SortFunc(jobs, func(a, b FoundJob) int { return newestFirst(a.Job, b.Job) })
	return jobs, errors.Join(problems...)
}

// rayClusters are those that trainyard made in the namespace.
func rayClusters(ctx context.Context, k *kube.Cluster) ([]rayv1.RayCluster, error) {
	var found rayv1.RayClusterList
	if err := k.List(ctx, &found, client.InNamespace(k.Namespace), kube.Owner{}.Selector()); err != nil {
		return nil, fmt.Errorf("listing Ray clusters: %w", err)
	}
	if len(found.Items) == 0 {
		return nil, missing(ctx, k)
	}
	return found.Items, nil
}

// missing is about a namespace that is not there. Who may not see namespaces is
// told nothing.
func missing(ctx context.Context, k *kube.Cluster) error {
	if err := k.Get(ctx, client.ObjectKey{Name: k.Namespace}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
		return nil
	}
	return fault.WithHint("kubectl get namespaces lists those that there are; --namespace names one",
		fmt.Errorf("listing Ray clusters: there is no namespace %q", k.Namespace))
}

// jobsOf asks a head for the jobs that it remembers, the newest first. Surveys of
// ours are left out.
func jobsOf(ctx context.Context, k *kube.Cluster, name string) ([]rayjob.Job, error) {
	cluster, err := Open(ctx, k, kube.Owner{}, name)
	if err != nil {
		return nil, err
	}
	defer cluster.tunnel.Close()
	ray, err := rayjob.New(cluster.Endpoint().Address, cluster.token, rayjob.Options{Patience: -1})
	if err != nil {
		return nil, err
	}
	jobs, err := ray.Jobs(ctx)
	jobs = slices.DeleteFunc(jobs, func(j rayjob.Job) bool { return j.Metadata[rayjob.SurveyKey] != "" })
	slices.SortFunc(jobs, newestFirst)
	return jobs, err
}

// Busy names a job that runs, or waits to, on a RayCluster; "" is none. Without a
// head that runs there is none. A head that runs and does not tell is an error: it
// may be unready, or its node out of reach, while a job goes on.
func Busy(ctx context.Context, k *kube.Cluster, name string) (job string, err error) {
	if none, _ := headless(ctx, k, name); none {
		return "", nil
	}
	told, cancel := context.WithTimeout(ctx, jobsTimeout)
	defer cancel()
	jobs, err := jobsOf(told, k, name)
	if err != nil {
		none, why := headless(ctx, k, name)
		if none {
			return "", nil
		}
		if why != nil {
			err = why
		}
		return "", fmt.Errorf("asking Ray cluster %q what runs on it: %w", name, err)
	}
	for _, j := range jobs {
		if !j.Status.Terminal() {
			return cmp.Or(j.SubmissionID, j.ID), nil
		}
	}
	return "", nil
}

// headless tells whether a RayCluster, if there is one, has no head that runs. The
// error is why a head that runs cannot be reached.
func headless(ctx context.Context, k *kube.Cluster, name string) (bool, error) {
	var cluster rayv1.RayCluster
	err := k.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: name}, &cluster)
	if err == nil {
		_, err = head(ctx, k, name, cluster.UID)
	}
	if apierrors.IsNotFound(err) || errors.Is(err, errNoHead) {
		return true, nil
	}
	return false, err
}

func newestFirst(a, b rayjob.Job) int { return cmp.Compare(b.StartMillis, a.StartMillis) }
