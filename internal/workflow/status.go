package workflow

import (
	"context"
	"time"

	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/internal/runs"
	"github.com/trainyard/trainyard/internal/target/local"
)

// ClusterStatus is what a cluster is and does now.
type ClusterStatus struct {
	ID         string       `json:"id"`
	Created    time.Time    `json:"created"`
	Holder     local.Holder `json:"holder"`
	Run        string       `json:"run,omitempty"` // id of the run that holds it
	JobStatus  string       `json:"jobStatus,omitempty"`
	Address    string       `json:"address"`
	Nodes      int          `json:"nodes"` // the head among them
	NodesAlive int          `json:"nodesAlive"`
	Workers    int          `json:"workers"`
	GPUs       int          `json:"gpus"`
	Processes  int          `json:"processes"`
}

// Status looks at every local cluster. One that does not answer has no nodes
// alive.
func (w Workspace) Status(ctx context.Context) ([]ClusterStatus, error) {
	records, err := w.Clusters.List()
	if err != nil {
		return nil, err
	}
	all := make([]ClusterStatus, 0, len(records))
	for _, r := range records {
		facts := r.Facts()
		s := ClusterStatus{
			ID: r.ID, Created: r.Created, Holder: r.Holder, Address: r.Endpoint.Address,
			Nodes: facts.Nodes + 1, Workers: facts.Workers(), GPUs: facts.GPUs,
		}
		if s.Processes, err = r.Processes(); err != nil {
			return nil, err
		}
		run, err := runs.OpenDir(r.RunDir)
		if err == nil {
			s.Run = run.Info.ID
			s.look(ctx, r, run.Info.SubmissionID)
		} else {
			s.look(ctx, r, "")
		}
		all = append(all, s)
	}
	return all, nil
}

func (s *ClusterStatus) look(ctx context.Context, r local.Record, job string) {
	ray, err := rayjob.New(r.Endpoint.Address, r.Endpoint.Token, rayjob.Options{Patience: -1})
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	nodes, err := ray.Nodes(ctx)
	if err != nil {
		return
	}
	for _, n := range nodes {
		if n.Alive() {
			s.NodesAlive++
		}
	}
	if job == "" {
		return
	}
	if j, err := ray.Job(ctx, job); err == nil {
		s.JobStatus = string(j.Status)
	}
}
