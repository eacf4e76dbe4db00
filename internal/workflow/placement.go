package workflow

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/internal/wait"
)

const (
	placementInterval = 5 * time.Second
	// placementGrace is for how long a job may ask for nothing and still count as
	// waiting: Ray Train gives up its request once a minute and makes a new one.
	placementGrace = 20 * time.Second
	// placementPatience is how long workers may wait before that is worth a warning.
	placementPatience = 30 * time.Second
)

// noRoomError says that a job was given up because none of its workers could be
// placed.
type noRoomError struct {
	after time.Duration
	what  string // it waited for
}

func (e *noRoomError) Error() string {
	return fmt.Sprintf("no room for its workers after %s: %s", e.after, e.what)
}

// watchRoom says what the job waits for while Ray has no room for any of its
// workers, and gives it up by calling end once that has lasted as long as pods
// may wait, too: the job itself would wait for ever.
func (f *following) watchRoom(ctx context.Context, end func(error)) {
	limit := time.Duration(f.run.Info.PendingTimeoutS * float64(time.Second))
	var since, last time.Time // of the present wait: when it began, when it was seen
	warned := false
	for wait.Sleep(ctx, placementInterval) == nil {
		what := f.waitsFor(ctx)
		now := time.Now()
		switch {
		case what == "" && now.Sub(last) > placementGrace:
			since, warned = time.Time{}, false
			f.room.Store(nil)
			continue
		case what == "":
			continue
		case since.IsZero():
			since = now
		}
		last = now
		f.room.Store(&what)
		if waited := now.Sub(since); !warned && waited > placementPatience {
			warned = true
			f.Story.Warn("the job's workers wait for room: " + what)
		}
		if limit > 0 && now.Sub(since) >= limit {
			end(&noRoomError{limit, what})
			return
		}
	}
}

// waitsFor says what Ray has no room for, where it has room for nothing of the
// job; else "". That nobody can tell is no news either.
func (f *following) waitsFor(ctx context.Context) string {
	job, err := f.client.Job(ctx, f.run.Info.SubmissionID)
	if err != nil || job.ID == "" || job.Status != rayjob.Running {
		return ""
	}
	p, err := f.client.Placement(ctx, job.ID)
	if err != nil || p.Placed || len(p.Waiting) == 0 {
		return ""
	}
	nodes, err := f.client.Nodes(ctx)
	if err != nil {
		return ""
	}
	return shortage(p.Waiting, nodes)
}

// shortage sets what is wanted against what the nodes have, whoever uses it.
func shortage(wanted []rayjob.Resources, nodes []rayjob.Node) string {
	counts, order := map[string]int{}, []string(nil)
	for _, r := range wanted {
		text := r.String()
		if counts[text]++; counts[text] == 1 {
			order = append(order, text)
		}
	}
	for i, text := range order {
		if n := counts[text]; n > 1 {
			order[i] = fmt.Sprintf("%d times %s", n, text)
		}
	}
	has, alive := rayjob.Resources{}, 0
	for _, n := range nodes {
		if !n.Alive() {
			continue
		}
		alive++
		for _, name := range namesOf(wanted) {
			has[name] += n.Resources[name]
		}
	}
	return fmt.Sprintf("%s wanted, the %s of Ray have %s in all", strings.Join(order, ", "), plural(alive, "node"), has)
}

// namesOf are the resources that any of them names, each once.
func namesOf(all []rayjob.Resources) []string {
	names := map[string]bool{}
	for _, r := range all {
		for name := range r {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
