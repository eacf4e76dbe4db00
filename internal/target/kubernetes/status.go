package kubernetes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/kube"
	"github.com/trainyard/trainyard/internal/rayjob"
)

// jobsTimeout is how long a head may take to tell of its jobs.
const jobsTimeout = 10 * time.Second

// Status is what there is of ours in a namespace, and what nodes have.
type Status struct {
	Context   string          `json:"context"`
	Namespace string          `json:"namespace"`
	Clusters  []ClusterStatus `json:"clusters"`
	GPUs      Room            `json:"gpus"` // of all nodes
	EFA       Room            `json:"efa"`  // interfaces of all nodes
	// Problem is why Room is not known; empty where it is.
	Problem string `json:"problem,omitempty"`
}

// Room is how much of a resource there is, and is not asked for by any pod.
type Room struct {
	All  int `json:"all"`
	Free int `json:"free"` // on nodes that take pods now
}

// ClusterStatus is a RayCluster, its pods and its jobs.
type ClusterStatus struct {
	Name    string      `json:"name"`
	Owner   string      `json:"owner"`
	Created time.Time   `json:"created"`
	Pods    []PodStatus `json:"pods"`
	Jobs    []JobStatus `json:"jobs"`              // the newest first
	Problem string      `json:"problem,omitempty"` // why jobs are not known
}

// JobStatus is a job that a RayCluster remembers.
type JobStatus struct {
	ID         string        `json:"id"`
	Status     rayjob.Status `json:"status"`
	Entrypoint string        `json:"entrypoint"`
	Started    time.Time     `json:"started"`
}

// PodStatus is a pod of a RayCluster.
type PodStatus struct {
	Name   string `json:"name"`
	Role   string `json:"role"` // head or worker
	Node   string `json:"node,omitempty"`
	Ready  bool   `json:"ready"`
	Reason string `json:"reason,omitempty"` // why it is not ready
	GPUs   int    `json:"gpus"`
	EFA    int    `json:"efa"`
}

// StatusOf reads what there is. What cannot be seen says why.
func StatusOf(ctx context.Context, k *kube.Cluster) (Status, error) {
	s := Status{Context: k.Context, Namespace: k.Namespace, Clusters: []ClusterStatus{}}
	found, err := rayClusters(ctx, k)
	if err != nil {
		return s, err
	}
	var pods corev1.PodList
	if err := k.List(ctx, &pods, client.InNamespace(k.Namespace), kube.Owner{}.Selector()); err != nil {
		return s, fmt.Errorf("listing the pods of Ray clusters: %w", err)
	}
	nodes := s.room(ctx, k)
	for i := range found {
		s.Clusters = append(s.Clusters, clusterStatus(&found[i], pods.Items, kube.NodesOf(nodes, false)))
	}
	var all sync.WaitGroup
	for i := range s.Clusters {
		if c := &s.Clusters[i]; c.headReady() {
			all.Go(func() { c.jobs(ctx, k) })
		}
	}
	all.Wait()
	return s, ctx.Err()
}

func clusterStatus(cluster *rayv1.RayCluster, pods []corev1.Pod, nodes *kube.Nodes) ClusterStatus {
	s := ClusterStatus{
		Name: cluster.Name, Owner: cluster.Labels[kube.OwnerLabel], Created: cluster.CreationTimestamp.Time,
		Pods: []PodStatus{}, Jobs: []JobStatus{},
	}
	for i := range pods {
		pod := &pods[i]
		if !isBy(cluster.UID, pod) {
			continue
		}
		reason, ask := kube.WhyNotReady(pod, nil, nodes), asked(pod)
		s.Pods = append(s.Pods, PodStatus{
			Name: pod.Name, Role: pod.Labels[rayNodeTypeLabel], Node: pod.Spec.NodeName,
			Ready: reason.Cause == "", Reason: reason.Text, GPUs: count(ask, gpuResource), EFA: count(ask, efaResource),
		})
	}
	slices.SortFunc(s.Pods, func(a, b PodStatus) int { return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Name, b.Name)) })
	return s
}

func (s *ClusterStatus) headReady() bool {
	return slices.ContainsFunc(s.Pods, func(p PodStatus) bool { return p.Role == string(rayv1.HeadNode) && p.Ready })
}

// jobs asks the head, newest first.
func (s *ClusterStatus) jobs(ctx context.Context, k *kube.Cluster) {
	ctx, cancel := context.WithTimeout(ctx, jobsTimeout)
	defer cancel()
	jobs, err := jobsOf(ctx, k, s.Name)
	if err != nil {
		s.Problem = err.Error()
		return
	}
	for _, j := range jobs {
		s.Jobs = append(s.Jobs, JobStatus{cmp.Or(j.SubmissionID, j.ID), j.Status, j.Entrypoint, j.Start()})
	}
}

// room adds up what all nodes have and what their pods ask for, and returns the
// nodes, none where they cannot be seen.
func (s *Status) room(ctx context.Context, k *kube.Cluster) []corev1.Node {
	e := eye{cluster: k}
	nodes, err := e.nodes(ctx)
	if err != nil {
		s.Problem = reason(err)
		return nil
	}
	use, err := e.use(ctx)
	if err != nil {
		s.Problem = reason(err)
		return nodes
	}
	for i := range nodes {
		has, free := nodes[i].Status.Allocatable, without(nodes[i].Status.Allocatable, use[nodes[i].Name].All)
		s.GPUs.All += count(has, gpuResource)
		s.EFA.All += count(has, efaResource)
		if (node{Node: &nodes[i]}).up() {
			s.GPUs.Free += count(free, gpuResource)
			s.EFA.Free += count(free, efaResource)
		}
	}
	return nodes
}
