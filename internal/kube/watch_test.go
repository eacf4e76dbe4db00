package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/test/kubetest"
)

// watching starts a watch and returns a function that waits until what is seen
// is as it should be.
func watching(t *testing.T, c *Cluster, others ...types.UID) (until func(what string, holds func(Seen) bool)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	all := make(chan Seen)
	ended := make(chan error, 1)
	go func() {
		ended <- c.WatchPods(ctx, c.Namespace, me.Selector(), others, func(seen Seen) (bool, error) {
			select {
			case all <- seen:
			case <-ctx.Done():
			}
			return false, nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the watch ended: %v", err)
		}
	})
	var seen Seen
	return func(what string, holds func(Seen) bool) {
		t.Helper()
		deadline := time.NewTimer(kubetest.Patience)
		defer deadline.Stop()
		for !holds(seen) {
			select {
			case seen = <-all:
			case err := <-ended:
				ended <- err
				t.Fatalf("waiting for %s: the watch ended: %v", what, err)
			case <-deadline.C:
				t.Fatalf("no %s within %s; seen: %d pods, problem %v", what, kubetest.Patience, len(seen.Pods), seen.Problem)
			}
		}
	}
}

func ready(seen Seen) int {
	n := 0
	for _, pod := range seen.Pods {
		if WhyNotReady(pod, seen.Events(pod.UID), nil).Cause == "" {
			n++
		}
	}
	return n
}

func TestWatchPods(t *testing.T) {
	lab := kubetest.New(t)
	lab.Nodes(offering("nvidia.com/gpu", "1"), 0)
	c := connect(t, lab)
	ray := newRayCluster(c)
	apply(t, c, ray)
	live, err := c.Of(me).live(t.Context(), mustObject(t, c, ray))
	if err != nil {
		t.Fatal(err)
	}
	until := watching(t, c, live.GetUID())
	until("the head", func(s Seen) bool { return len(s.Pods) == 1 && ready(s) == 1 })
	until("the operator's event", func(s Seen) bool { return last(s.Events(live.GetUID()), "CreatedHeadPod") != nil })

	greedy := newPod(c, "greedy", me.Labels())
	greedy.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}
	create(t, c, newPod(c, "stranger", nil))
	create(t, c, greedy)
	var nodes corev1.NodeList
	if err := c.List(t.Context(), &nodes, client.MatchingLabels{"test": c.Namespace}); err != nil {
		t.Fatal(err)
	}
	var why Reason
	until("the scheduler's words", func(s Seen) bool {
		for _, pod := range s.Pods {
			if pod.Name == "greedy" {
				why = WhyNotReady(pod, s.Events(pod.UID), NodesOf(nodes.Items, false))
			}
			if pod.Name == "stranger" {
				t.Error("saw a pod that the selector does not find")
			}
		}
		return why.Cause == Unschedulable
	})
	t.Logf("%+v", why)
	wantReason(t, why, Unschedulable, Hopeless, "Insufficient nvidia.com/gpu", "")
	wantReason(t, why, Unschedulable, Hopeless, "it asks for 8 of nvidia.com/gpu, and no node that it may run on has more than 1", "")

	lab.Control("/stop/apiserver")
	until("the problem", func(s Seen) bool { return s.Problem != nil && len(s.Pods) == 2 })
	lab.Control("/start/apiserver")
	until("its end", func(s Seen) bool { return s.Problem == nil })
	if err := c.Delete(t.Context(), greedy); err != nil {
		t.Fatal(err)
	}
	until("the deletion", func(s Seen) bool { return len(s.Pods) == 1 && s.Events(greedy.UID) == nil })
}

func TestWatchPodsIsForbidden(t *testing.T) {
	lab := kubetest.New(t)
	guest := connectBy(t, lab, lab.User("guest"))
	guest.pause = time.Millisecond
	err := guest.WatchPods(t.Context(), guest.Namespace, me.Selector(), nil, func(Seen) (bool, error) { return true, nil })
	wantError(t, err, `watching pods: user "guest" may not `, "can-i")
}

func TestWatchPodsEnds(t *testing.T) {
	c := newCluster(t)
	broken := errors.New("broken")
	if err := c.WatchPods(t.Context(), c.Namespace, me.Selector(), nil, func(Seen) (bool, error) { return false, broken }); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	if err := c.WatchPods(t.Context(), c.Namespace, me.Selector(), nil, func(Seen) (bool, error) { return true, nil }); err != nil {
		t.Error(err)
	}
}

// TestNotesStayFlat adds events for ever.
func TestNotesStayFlat(t *testing.T) {
	n := newNotes([]types.UID{"ray"})
	add := func(kind string, about types.UID, i int) {
		n.add(&corev1.Event{ObjectMeta: objectMeta(i), InvolvedObject: corev1.ObjectReference{Kind: kind, UID: about}})
	}
	n.keep("mine")
	for i := range 3 * manyStrangers {
		add("RayCluster", "ray", i)
		add("Pod", "mine", i)
		add("Pod", types.UID(fmt.Sprint("stranger-", i)), i)
		add("Node", "node", i)
	}
	if len(n.events) != manyStrangers+2 || len(n.events["ray"]) != eventsPerObject || len(n.events["mine"]) != eventsPerObject {
		t.Errorf("kept %d objects, %d and %d events of ours", len(n.events), len(n.events["ray"]), len(n.events["mine"]))
	}
	if got, want := n.events["ray"][eventsPerObject-1].Name, fmt.Sprint(3*manyStrangers-1); got != want {
		t.Errorf("the last event is %s, want %s", got, want)
	}
	add("Pod", "mine", 3*manyStrangers-1)
	if len(n.events["mine"]) != eventsPerObject {
		t.Error("an event that is seen again is kept twice")
	}
	n.forget("mine")
	if n.events["mine"] != nil {
		t.Error("events of a pod that is gone are kept")
	}
}

// What is the matter may change before it is over: a server that comes back may
// not know us any longer.
func TestProblemIsTheLatest(t *testing.T) {
	w := newWatched(nil)
	for _, problem := range []error{syscall.ECONNREFUSED, apierrors.NewUnauthorized("expired"), nil} {
		w.note(thePods, problem)
		if seen, _ := w.seen(); !errors.Is(seen.Problem, problem) {
			t.Errorf("problem %v, want %v", seen.Problem, problem)
		}
	}
}

// What became of the events says nothing about the pods.
func TestProblemOfEither(t *testing.T) {
	w := newWatched(nil)
	is := func(want error) {
		t.Helper()
		if seen, _ := w.seen(); !errors.Is(seen.Problem, want) {
			t.Errorf("problem %v, want %v", seen.Problem, want)
		}
	}
	w.note(thePods, syscall.ECONNREFUSED)
	w.note(theEvents, syscall.ECONNRESET)
	is(syscall.ECONNREFUSED)
	w.note(theEvents, nil)
	is(syscall.ECONNREFUSED)
	w.note(theEvents, syscall.ECONNRESET)
	w.note(thePods, nil)
	is(syscall.ECONNRESET)
	w.withoutEvents()
	is(nil)
}

// TestRefusals asks each second: which refusal is the last?
func TestRefusals(t *testing.T) {
	no := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil)
	for name, test := range map[string]struct {
		allowed bool
		answers []error // after them: no, for ever
		want    int     // seconds until a refusal is final
	}{
		"never allowed":         {false, nil, 1},
		"allowed once":          {true, nil, 15},
		"and again":             {true, []error{no, no, nil}, 18},
		"a server that is away": {true, []error{no, syscall.ECONNREFUSED}, 17},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := refusals{patience: 15 * time.Second, allowed: test.allowed}
				for second := 0; ; second++ {
					answer := error(no)
					if second < len(test.answers) {
						answer = test.answers[second]
					}
					if r.final(answer) {
						if second != test.want {
							t.Errorf("final after %d s, want %d", second, test.want)
						}
						return
					}
					time.Sleep(time.Second)
				}
			})
		})
	}
}

// TestWatchOutlastsARefusal takes a user's rights away while the server restarts,
// as one does that has yet to learn of them.
func TestWatchOutlastsARefusal(t *testing.T) {
	lab := kubetest.New(t)
	all := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods", "events"}, Verbs: []string{"list", "watch"}}
	guest := connectBy(t, lab, lab.User("guest", all))
	guest.pause, guest.refusal = 10*time.Millisecond, patience
	lab.Until("role that is in force", func() bool {
		for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.EventList{}} {
			if guest.List(t.Context(), list, client.InNamespace(lab.Namespace)) != nil {
				return false
			}
		}
		return true
	})
	until := watching(t, guest)
	until("a beginning", func(s Seen) bool { return s.events != nil && s.Problem == nil })
	role := &rbacv1.Role{}
	lab.Must(lab.Get(t.Context(), lab.Key("guest"), role))
	rules := role.Rules
	set := func(to []rbacv1.PolicyRule) {
		t.Helper()
		role.Rules = to
		lab.Must(lab.Update(t.Context(), role))
	}
	set(nil)
	lab.Control("/restart/apiserver")
	until("a refusal", func(s Seen) bool { return apierrors.IsForbidden(s.Problem) })
	set(rules)
	until("its end", func(s Seen) bool { return s.Problem == nil })
}

func TestBare(t *testing.T) {
	c := connectTo(t, "https://127.0.0.1:1", "{}")
	err := c.Explain(apierrors.NewUnauthorized("expired"))
	around := fmt.Errorf("failed to list *v1.Pod: %w", err)
	wantError(t, bare(around), err.Error(), fault.HintsOf(err)[0])
	if strings.Contains(bare(around).Error(), "failed to list") || !apierrors.IsUnauthorized(bare(around)) {
		t.Errorf("error %v, want only %v", bare(around), err)
	}
	if plain := errors.New("unknown"); !errors.Is(bare(plain), plain) {
		t.Errorf("error %v, want %v", bare(plain), plain)
	}
}
