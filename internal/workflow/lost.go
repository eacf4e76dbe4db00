package workflow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/internal/runs"
	"github.com/trainyard/trainyard/internal/target"
)

// reachPatience is how long the API server, or the network, may be away while a
// job runs: jobs go on without us.
const reachPatience = 5 * time.Minute

// errOutOfReach says that a job may go on, and that nobody here can see it.
var errOutOfReach = errors.New("its cluster does not answer")

// watchHead calls end once the job is lost with the head of its RayCluster, and
// returns then, or when ctx ends.
func (f *following) watchHead(ctx context.Context, end func(error)) {
	if err := f.cluster.Lost(ctx); err != nil {
		end(err)
	}
}

// lostInPods explains that a job can be followed no longer: it is lost where its
// head went away, or a new one does not know it. Else it may go on.
func (f *following) lostInPods(err error) error {
	if rayjob.IsNotFound(err) {
		err = fmt.Errorf("%w: a new one has its place", target.ErrLost)
	}
	info := &f.run.Info
	namespace, name := namespacedName(info.Cluster.ID)
	hint := fmt.Sprintf("see what became of its pods: kubectl get pods,events -n %s; the same command runs the job again", namespace)
	code := fault.JobFailed
	if errors.Is(err, target.ErrLost) {
		info.State = runs.Lost
	} else {
		err = fmt.Errorf("%w: %w", errOutOfReach, err)
		code, hint = fault.Error, fmt.Sprintf("the job may go on in RayCluster %s; trainyard attach %s follows it again", name, info.ID)
	}
	return fault.WithCode(code, fault.WithHint(hint, fmt.Errorf("following job %q: %w", info.SubmissionID, err)))
}
