package kube

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// tries is how often the same must fail before waiting is given up, where the
// first failure may be one of order: a Secret that another controller makes.
const tries = 3

// startPatience is how long a container that has started may fail its probes
// before that is worth a word: the probes of a Ray begin at once.
const startPatience = time.Minute

// Reasons of the kubelet, from pkg/kubelet/images and pkg/kubelet/kuberuntime.
var (
	imageReasons = []string{"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"}
	setupReasons = []string{"CreateContainerConfigError", "CreateContainerError", "CreatePodSandboxError", "PreCreateHookError", "PreStartHookError"}
	setupEvents  = []string{"FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox", "NetworkNotReady", "FailedPrepareDynamicResources"}
)

// notRunning is about a pod whose node has it: the first container in order
// that is not as it should be says why.
func notRunning(pod *corev1.Pod, events []corev1.Event) Reason {
	for _, status := range pod.Status.InitContainerStatuses {
		done := status.State.Terminated != nil && status.State.Terminated.ExitCode == 0
		switch {
		case status.State.Running != nil && !status.Ready:
			return Reason{Cause: Starting, Text: fmt.Sprintf("init container %s runs", status.Name)}
		case !done && !status.Ready:
			return container(status, events)
		}
	}
	for _, status := range pod.Status.ContainerStatuses {
		if !status.Ready {
			return container(status, events)
		}
	}
	return created(events)
}

func container(s corev1.ContainerStatus, events []corev1.Event) Reason {
	waiting := s.State.Waiting
	switch {
	case s.State.Terminated != nil:
		return ended(s, s.State.Terminated, false)
	case waiting != nil && slices.Contains(imageReasons, waiting.Reason):
		return image(s, events)
	case waiting != nil && slices.Contains(setupReasons, waiting.Reason):
		return setup(fmt.Sprintf("container %s: %s", s.Name, sentence(waiting.Reason, waiting.Message)), last(events, "Failed", "FailedCreatePodSandBox"))
	case s.LastTerminationState.Terminated != nil && s.State.Running == nil:
		return ended(s, s.LastTerminationState.Terminated, true)
	case waiting != nil && waiting.Message != "": // RunContainerError and others
		return Reason{Cause: Crash, Outlook: startOutlook(waiting.Message, s.RestartCount), Text: fmt.Sprintf("container %s: %s", s.Name, sentence(waiting.Reason, waiting.Message))}
	case s.State.Running != nil:
		return unready(s, events)
	}
	return created(events)
}

// created is about a pod that has a node and no running container yet.
func created(events []corev1.Event) Reason {
	r := Reason{Cause: Starting, Text: "its containers are being made"}
	if len(events) == 0 {
		return r
	}
	switch e := &events[len(events)-1]; {
	case slices.Contains(setupEvents, e.Reason):
		return setup(sentence(e.Reason, e.Message), e)
	case e.Reason == "Pulling":
		r.Text = e.Message
	}
	return r
}

// setup is about what a container needs before it runs. What is not found may
// yet be made, so that it takes a few tries to believe it.
func setup(text string, event *corev1.Event) Reason {
	r := Reason{Cause: Setup, Outlook: Doubtful, Text: text}
	if event != nil && times(*event) >= tries && containsAny(text, "not found", "couldn't find key", "no such file", "executable file") {
		r.Outlook = Hopeless
	}
	return r
}

// image is about an image that does not come. What the registry refuses, or the
// kubelet does not understand, does not come later either.
func image(s corev1.ContainerStatus, events []corev1.Event) Reason {
	waiting := s.State.Waiting
	why := waiting.Message
	if e := last(events, "Failed"); e != nil && waiting.Reason == "ImagePullBackOff" && !containsAny(why, "errimagepull", "registryunavailable") {
		why = e.Message // before Kubernetes 1.32 the back-off does not say why
	}
	r := Reason{Cause: Image, Outlook: Doubtful, Text: fmt.Sprintf("image %q: %s", s.Image, sentence(waiting.Reason, why))}
	switch {
	case containsAny(why, "unauthorized", "authorization failed", "pull access denied", "no basic auth credentials", "403 forbidden", "authentication required"):
		r.Outlook, r.Hint = Hopeless, "the nodes may not pull it: check the image's name, and the rights of the nodes or an imagePullSecret"
	case containsAny(why, "not found", "manifest unknown", "no match for platform", "name unknown") && !containsAny(why, "no such host", "lookup "):
		r.Outlook, r.Hint = Hopeless, "check the image's name and tag, and that it is made for the nodes' architecture"
	case slices.Contains([]string{"InvalidImageName", "ErrImageNeverPull", "SignatureValidationFailed"}, waiting.Reason):
		r.Outlook, r.Hint = Hopeless, "check the image's name, and its pull policy"
	}
	return r
}

// ended is about a container that ran and did not stay.
func ended(s corev1.ContainerStatus, t *corev1.ContainerStateTerminated, before bool) Reason {
	r := Reason{Cause: Crash, Outlook: Doubtful, Container: s.Name, Previous: before}
	switch {
	case t.Reason == "OOMKilled":
		r.Cause, r.Text = OutOfMemory, fmt.Sprintf("container %s was killed for its memory (OOMKilled)", s.Name)
		r.Hint = "give it more memory"
	case t.Signal != 0:
		r.Text = fmt.Sprintf("container %s was ended by signal %d", s.Name, t.Signal)
	default:
		r.Text = fmt.Sprintf("container %s ended with exit code %d", s.Name, t.ExitCode)
	}
	if t.Message != "" {
		r.Text += ": " + t.Message
	}
	switch s.RestartCount {
	case 0:
	case 1:
		r.Text += ", restarted once"
	default:
		r.Text += fmt.Sprintf(", restarted %d times", s.RestartCount)
	}
	// 126 and 127 are the shell's for what cannot be run and does not exist.
	if s.RestartCount >= tries || t.ExitCode == 126 || t.ExitCode == 127 || startOutlook(t.Message, 0) == Hopeless {
		r.Outlook = Hopeless
	}
	return r
}

// LastEnd returns when a container of the pod last ended; zero where none has.
func LastEnd(pod *corev1.Pod) time.Time {
	var last time.Time
	for _, s := range pod.Status.ContainerStatuses {
		for _, t := range []*corev1.ContainerStateTerminated{s.State.Terminated, s.LastTerminationState.Terminated} {
			if t != nil && t.FinishedAt.After(last) {
				last = t.FinishedAt.Time
			}
		}
	}
	return last
}

// startOutlook judges a container that the runtime could not start.
func startOutlook(message string, restarts int32) Outlook {
	if restarts >= tries || containsAny(message, "executable file not found", "no such file or directory", "permission denied") {
		return Hopeless
	}
	return Doubtful
}

// unready is about a container that runs: its probes, and whether it ran before.
func unready(s corev1.ContainerStatus, events []corev1.Event) Reason {
	r := Reason{Cause: Starting, Text: fmt.Sprintf("container %s runs and is not ready yet", s.Name)}
	if t := s.LastTerminationState.Terminated; t != nil {
		r = ended(s, t, true)
		r.Outlook = Doubtful
		r.Text += ", and runs again"
		return r
	}
	if e := last(events, "Unhealthy"); e != nil && eventTime(*e).Sub(s.State.Running.StartedAt.Time) >= startPatience {
		r.Cause, r.Outlook, r.Container = Unhealthy, Doubtful, s.Name
		r.Text = fmt.Sprintf("container %s runs, but: %s", s.Name, e.Message)
	}
	return r
}
