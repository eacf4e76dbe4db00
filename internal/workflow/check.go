package workflow

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/internal/addons"
	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/instancetype"
	"github.com/trainyard/trainyard/internal/kube"
	"github.com/trainyard/trainyard/internal/raycluster"
	"github.com/trainyard/trainyard/internal/shell"
	"github.com/trainyard/trainyard/internal/target/kubernetes"
)

// CheckRequest says which cluster to look at, and what for.
type CheckRequest struct {
	Config     *config.Config
	Kubeconfig string // value of KUBECONFIG, where the settings name no file
	User       string // who the Ray cluster would be for
}

// ClusterCheck is what was found out about a cluster.
type ClusterCheck struct {
	Context   string               `json:"context"`
	Server    string               `json:"server"`
	Namespace string               `json:"namespace"`
	Cluster   string               `json:"cluster"` // name of the Ray cluster that it was checked for
	Findings  []kubernetes.Finding `json:"findings"`
}

// Count is how many findings are of a level.
func (c ClusterCheck) Count(level kubernetes.Level) int {
	n := 0
	for _, f := range c.Findings {
		if f.Level == level {
			n++
		}
	}
	return n
}

// Fixable are the add-ons whose installation is the remedy of a problem.
func (c ClusterCheck) Fixable() []addons.Name {
	return slices.DeleteFunc(addons.Names(), func(name addons.Name) bool {
		return !slices.ContainsFunc(c.Findings, func(f kubernetes.Finding) bool {
			return f.Addon == string(name) && f.Level != kubernetes.Unknown
		})
	})
}

// Err is the error of a cluster that has problems; nil where there are none.
func (c ClusterCheck) Err() error {
	if n := c.Count(kubernetes.Problem); n > 0 {
		return fmt.Errorf("checking the cluster: %s", plural(n, "problem"))
	}
	return nil
}

// Check looks at a Kubernetes cluster and says what stands in the way of the
// job that the settings describe. It changes nothing.
func Check(ctx context.Context, req CheckRequest) (ClusterCheck, error) {
	need, err := needOf(req.Config, req.User)
	if err != nil {
		return ClusterCheck{}, err
	}
	k := req.Config.Kubernetes
	cluster, err := kube.Connect(accessOf(k, req.Kubeconfig))
	if err != nil {
		return ClusterCheck{}, err
	}
	state, err := kubernetes.Look(ctx, cluster, need)
	if err != nil {
		return ClusterCheck{}, err
	}
	return ClusterCheck{
		Context: cluster.Context, Server: cluster.Server, Namespace: cluster.Namespace,
		Cluster: need.Cluster, Findings: kubernetes.WithFlags(kubernetes.Judge(state, need), clusterFlags(k)),
	}, nil
}

// clusterFlags are those by which commands reach the cluster that the settings
// name; none where it is the one that kubectl takes by itself.
func clusterFlags(k config.Kubernetes) string {
	var flags []string
	if k.Kubeconfig != "" {
		flags = append(flags, "--kubeconfig", k.Kubeconfig)
	}
	if k.Context != "" {
		flags = append(flags, "--context", k.Context)
	}
	return shell.Join(flags)
}

// needOf is what the Ray cluster of the settings needs.
func needOf(cfg *config.Config, user string) (kubernetes.Need, error) {
	spec, err := clusterSpec(cfg, user)
	if err != nil {
		return kubernetes.Need{}, err
	}
	cluster, err := raycluster.Build(spec)
	if err != nil {
		return kubernetes.Need{}, fault.WithCode(fault.Usage, err)
	}
	var nodeType instancetype.Type
	if cfg.Cluster.NodeType != "" {
		if nodeType, err = instancetype.Lookup(cfg.Cluster.NodeType); err != nil {
			return kubernetes.Need{}, err
		}
	}
	return kubernetes.NeedOf(cluster, nodeType, cudaOf(cfg.Cluster.Image)), nil
}

// cudaOf is the CUDA in the Ray Train container, from wherever it is pulled;
// empty for other images, and for a digest alone.
func cudaOf(image string) string {
	name, _, _ := strings.Cut(path.Base(image), "@")
	if _, tag, _ := strings.Cut(name, ":"); strings.HasPrefix(tag, "train-ml-cuda-v1.1") {
		return "13.0.2"
	}
	return ""
}
