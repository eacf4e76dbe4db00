// Package workflow tells the stories of the commands: which steps they take,
// in which order, and what is kept or torn down at the end. Each step is done
// by a package of its own; here stands only their order.
package workflow

import (
	"context"
	"fmt"
	"time"

	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/internal/runs"
	"github.com/trainyard/trainyard/internal/target"
	"github.com/trainyard/trainyard/internal/target/local"
	"github.com/trainyard/trainyard/internal/ui"
)

// Workspace is what every story needs: where things are kept and who is told.
type Workspace struct {
	Runs     runs.Store
	Clusters local.Store
	CacheDir string   // environments
	Environ  []string // NAME=value
	Story    *ui.Story
	Version  string // trainyard's
	User     string // who works here; names what is theirs on shared clusters

	// Lookup reads an environment variable.
	Lookup func(string) (string, bool)
	// Hard ends when the user will not wait any longer: what only tidies up
	// stops then, too.
	Hard context.Context //nolint:containedctx // its life is the command's
	// Detach is closed when the terminal hangs up.
	Detach <-chan struct{}
	// AskDetach asks a user who has interrupted a job whether it is to go on. No
	// answer until ctx ends is a no.
	AskDetach func(ctx context.Context) bool
}

// EndOrphans ends the clusters of runs whose trainyard was killed, says so, and
// marks those runs as lost.
func (w Workspace) EndOrphans(ctx context.Context) error {
	ended, err := w.Clusters.EndOrphans(ctx)
	for _, cluster := range ended {
		w.Story.Warn(fmt.Sprintf("ended %d processes of cluster %s, whose trainyard (process %d) was killed",
			cluster.Processes, cluster.ID, cluster.Owner.PID))
		w.markLost(cluster.RunDir)
	}
	return err
}

func (w Workspace) markLost(dir string) {
	run, err := runs.OpenDir(dir)
	if err != nil || run.Info.State.Final() {
		return
	}
	run.Info.State = runs.Lost
	run.Info.Message = "trainyard was killed; its processes were ended later"
	run.Info.Ended = now()
	_ = run.Save() // the folder may be another user's by now
}

func now() *time.Time {
	t := time.Now().Truncate(time.Millisecond)
	return &t
}

// client talks to a cluster's Ray.
func client(cluster target.Cluster) (*rayjob.Client, error) {
	endpoint := cluster.Endpoint()
	return rayjob.New(endpoint.Address, endpoint.Token, rayjob.Options{})
}

// collector reads all output of a job.
func collector(cluster target.Cluster, ray *rayjob.Client, job string) *rayjob.Collector {
	return &rayjob.Collector{Client: ray, SubmissionID: job, Interval: readInterval, Reader: cluster.LogReader(ray)}
}

// readInterval is the least time between two looks at a growing log file; a
// quiet one is looked at every eighth time.
const readInterval = 250 * time.Millisecond
