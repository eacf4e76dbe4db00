package kube

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// How much is kept, so that a watch of days takes no more memory than one of
// minutes.
const (
	eventsPerObject = 10
	manyStrangers   = 1000 // pods that are not ours, or whose events came before them
)

// notes are the latest events of objects.
type notes struct {
	events    map[types.UID][]corev1.Event
	kept      map[types.UID]bool // never strangers
	strangers []types.UID        // the first to be forgotten first
}

func newNotes(kept []types.UID) *notes {
	n := &notes{events: map[types.UID][]corev1.Event{}, kept: map[types.UID]bool{}}
	for _, uid := range kept {
		n.kept[uid] = true
	}
	return n
}

// add keeps an event, in place of the same one of before, and forgets the
// oldest of what is too much. Slices are never changed: readers have them.
func (n *notes) add(event *corev1.Event) {
	about := event.InvolvedObject.UID
	if event.InvolvedObject.Kind != "Pod" && !n.kept[about] {
		return
	}
	e := *event
	e.ManagedFields = nil
	known, isKnown := n.events[about]
	list := slices.DeleteFunc(slices.Clone(known), func(old corev1.Event) bool { return old.UID == e.UID })
	list = append(list, e)
	if len(list) > eventsPerObject {
		list = slices.Clone(list[len(list)-eventsPerObject:])
	}
	n.events[about] = list
	if !isKnown && !n.kept[about] {
		n.strangers = append(n.strangers, about)
	}
	if len(n.strangers) > manyStrangers {
		delete(n.events, n.strangers[0])
		n.strangers = slices.Clone(n.strangers[1:])
	}
}

// keep says that an object is not a stranger.
func (n *notes) keep(uid types.UID) {
	if n.kept[uid] {
		return
	}
	n.kept[uid] = true
	n.strangers = slices.DeleteFunc(n.strangers, func(s types.UID) bool { return s == uid })
}

func (n *notes) forget(uid types.UID) {
	delete(n.kept, uid)
	delete(n.events, uid)
}

func (n *notes) copy() map[types.UID][]corev1.Event { return maps.Clone(n.events) }

// podStore and eventStore are what reflectors write to: cache.ReflectorStore.
type podStore struct{ *watched }

// Add implements cache.ReflectorStore.
func (s podStore) Add(obj any) error {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil
	}
	s.change(func() { s.put(pod) })
	return nil
}

func (s podStore) put(pod *corev1.Pod) {
	pod.ManagedFields = nil
	s.pods[pod.UID] = pod
	s.notes.keep(pod.UID)
}

// Update implements cache.ReflectorStore.
func (s podStore) Update(obj any) error { return s.Add(obj) }

// Delete implements cache.ReflectorStore.
func (s podStore) Delete(obj any) error {
	if pod, ok := obj.(*corev1.Pod); ok {
		s.change(func() { s.drop(pod.UID) })
	}
	return nil
}

func (s podStore) drop(uid types.UID) {
	delete(s.pods, uid)
	s.notes.forget(uid)
}

// Replace implements cache.ReflectorStore: these are all.
func (s podStore) Replace(objects []any, _ string) error {
	s.change(func() {
		present := map[types.UID]bool{}
		for _, obj := range objects {
			if pod, ok := obj.(*corev1.Pod); ok {
				present[pod.UID] = true
				s.put(pod)
			}
		}
		for uid := range s.pods {
			if !present[uid] {
				s.drop(uid)
			}
		}
		s.complete[thePods] = true
	})
	return nil
}

// Resync implements cache.ReflectorStore: there is nothing to do again.
func (podStore) Resync() error { return nil }

type eventStore struct{ *watched }

// Add implements cache.ReflectorStore.
func (s eventStore) Add(obj any) error {
	if event, ok := obj.(*corev1.Event); ok {
		s.change(func() { s.notes.add(event) })
	}
	return nil
}

// Update implements cache.ReflectorStore.
func (s eventStore) Update(obj any) error { return s.Add(obj) }

// Delete implements cache.ReflectorStore: what happened stays so when the server
// forgets it.
func (eventStore) Delete(any) error { return nil }

// Replace implements cache.ReflectorStore.
func (s eventStore) Replace(objects []any, _ string) error {
	s.change(func() {
		for _, obj := range objects {
			if event, ok := obj.(*corev1.Event); ok {
				s.notes.add(event)
			}
		}
		s.complete[theEvents] = true
	})
	return nil
}

// Resync implements cache.ReflectorStore.
func (eventStore) Resync() error { return nil }
