package kube

import (
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// notCreated are the events of who makes pods and cannot: KubeRay's, and those
// of the controllers of Kubernetes.
var notCreated = []string{"FailedToCreateHeadPod", "FailedToCreateWorkerPod", "InvalidRayClusterSpec", "FailedCreate"}

// WhyNoPod says why pods that an object should have do not exist, from the
// events about it: a quota, a policy, a specification that the operator refuses.
// The zero value means that nothing speaks against them.
func WhyNoPod(events []corev1.Event) Reason {
	e := last(byTime(events), notCreated...)
	if e == nil {
		return Reason{}
	}
	r := Reason{Cause: NotCreated, Outlook: Doubtful, Text: e.Message}
	switch quota := quotaDenial.FindString(e.Message); {
	case quota != "":
		r.Hint = "ask for less, or for a larger quota"
		if tooLarge(quota) {
			r.Outlook = Hopeless
		}
	case e.Reason == "InvalidRayClusterSpec",
		containsAny(e.Message, "denied the request", "denied request", "violates podsecurity", "is invalid"),
		times(*e) >= tries && containsAny(e.Message, "is forbidden", "not found"):
		r.Outlook = Hopeless
	}
	return r
}

var (
	quotaAmounts = regexp.MustCompile(`requested: (.*), used: .*, limited: (.*)$`)
	quotaAmount  = regexp.MustCompile(`([^,=\s]+)=([^,\s]+)`)
)

// tooLarge says whether more is asked for than a quota allows in all, so that
// waiting for others to end does not help.
func tooLarge(quota string) bool {
	m := quotaAmounts.FindStringSubmatch(quota)
	if m == nil {
		return containsAny(quota, "must specify")
	}
	limits := map[string]string{}
	for _, pair := range quotaAmount.FindAllStringSubmatch(m[2], -1) {
		limits[pair[1]] = pair[2]
	}
	for _, pair := range quotaAmount.FindAllStringSubmatch(m[1], -1) {
		wanted, err1 := resource.ParseQuantity(pair[2])
		limit, err2 := resource.ParseQuantity(limits[pair[1]])
		if err1 == nil && err2 == nil && wanted.Cmp(limit) > 0 {
			return true
		}
	}
	return false
}
