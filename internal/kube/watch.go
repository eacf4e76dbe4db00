package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/wait"
)

// Seen is what a watch knows at one moment. It is shared: not to be changed.
type Seen struct {
	Pods []*corev1.Pod // by name, without managed fields
	// Problem is why what is seen may be old: the API server is away. It is nil
	// again when the watch has caught up.
	Problem error

	events map[types.UID][]corev1.Event
}

// Events returns the latest events about an object, the first first. Besides
// those of pods it has those of the objects that the watch was asked for.
func (s Seen) Events(about types.UID) []corev1.Event { return s.events[about] }

// lookPause is between two looks: the pods of a large cluster change hundreds of
// times a second, and nobody reads as fast.
const lookPause = 100 * time.Millisecond

// WatchPods watches the pods in a namespace that a selector finds, with the
// events about them, and about other objects whose identifiers are given. It
// calls look once all are known and after each change, never twice at a time;
// changes that come meanwhile are one.
//
// It returns nil once look is done, look's error, or ctx's, or that of a server
// that forbids to watch pods; where it forbids to watch events there are none. It
// outlasts restarts of the API server and versions that the server has forgotten.
func (c *Cluster) WatchPods(ctx context.Context, namespace string, selector client.MatchingLabels, others []types.UID, look func(Seen) (done bool, err error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	w := newWatched(others)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel(nil)
	follow := func(what part, list client.ObjectList, example client.Object, store cache.ReflectorStore, selector labels.Selector, end func(error)) {
		group.Go(func() {
			s := source{c, list, client.ListOptions{Namespace: namespace, LabelSelector: selector}, c.refusals(), func(err error) { w.note(what, err) }}
			end(s.reflect(ctx, cache.NewReflectorWithOptions(s.listWatch(), example, store, cache.ReflectorOptions{})))
		})
	}
	follow(thePods, &corev1.PodList{}, &corev1.Pod{}, podStore{w}, labels.SelectorFromSet(labels.Set(selector)), cancel)
	follow(theEvents, &corev1.EventList{}, &corev1.Event{}, eventStore{w}, nil, func(err error) {
		if apierrors.IsForbidden(err) {
			w.withoutEvents()
			return
		}
		cancel(err)
	})
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-w.changed:
		}
		seen, complete := w.seen()
		if !complete {
			continue
		}
		if done, err := look(seen); done || err != nil {
			return err
		}
		_ = wait.Sleep(ctx, lookPause) // its end is seen above
	}
}

// A part is one of the two that are watched.
type part int

const (
	thePods part = iota
	theEvents
)

// watched is what two reflectors write and look reads.
type watched struct {
	changed chan struct{} // holds one: something is new

	mu       sync.Mutex
	pods     map[types.UID]*corev1.Pod
	notes    *notes
	complete [2]bool  // whether all are there, by part
	problem  [2]error // by part: the other one's success heals nothing
}

func newWatched(others []types.UID) *watched {
	return &watched{changed: make(chan struct{}, 1), pods: map[types.UID]*corev1.Pod{}, notes: newNotes(others)}
}

// change runs f alone and wakes who looks.
func (w *watched) change(f func()) {
	w.mu.Lock()
	f()
	w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default: // it is awake already
	}
}

// note remembers whether the server answers, by what became of a call about one
// part.
func (w *watched) note(what part, err error) {
	if errors.Is(err, context.Canceled) || apierrors.IsResourceExpired(err) {
		return
	}
	w.mu.Lock()
	same := fmt.Sprint(err) == fmt.Sprint(w.problem[what])
	w.mu.Unlock()
	if !same {
		w.change(func() { w.problem[what] = err })
	}
}

// withoutEvents says that there will be none, and that this is no problem.
func (w *watched) withoutEvents() {
	w.change(func() { w.complete[theEvents], w.problem[theEvents] = true, nil })
}

// seen returns a copy of what is known, and whether that is all.
func (w *watched) seen() (Seen, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	pods := make([]*corev1.Pod, 0, len(w.pods))
	for _, pod := range w.pods {
		pods = append(pods, pod)
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	problem := w.problem[thePods]
	if problem == nil {
		problem = w.problem[theEvents]
	}
	return Seen{Pods: pods, Problem: problem, events: w.notes.copy()}, w.complete[thePods] && w.complete[theEvents]
}
