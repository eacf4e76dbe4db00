package kube

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// parse reads YAML strictly: a misspelt field is an error.
func parse[T any](t *testing.T, text string) T {
	t.Helper()
	var value T
	if err := yaml.UnmarshalStrict([]byte(text), &value); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return value
}

// The parts of pods that are the same in many cases.
const (
	gpuSpec = `
spec:
  nodeSelector: {role: gpu}
  containers:
  - name: ray-worker
    resources: {requests: {cpu: "2", nvidia.com/gpu: "4", vpc.amazonaws.com/efa: "1"}}
`
	unschedulable = gpuSpec + `
status:
  phase: Pending
  conditions:
  - {type: PodScheduled, status: "False", reason: Unschedulable, message: "0/3 nodes are available: 2 Insufficient vpc.amazonaws.com/efa, 3 node(s) didn't match Pod's node affinity/selector. preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."}
`
	bound = `
spec: {nodeName: gpu-1, containers: [{name: ray-worker}]}
`
	scheduled = bound + `
status:
  phase: Pending
  conditions: [{type: PodScheduled, status: "True"}, {type: Ready, status: "False", reason: ContainersNotReady}]
`
	withEFA = `
- metadata: {name: gpu-1, labels: {role: gpu}}
  status: {allocatable: {cpu: "47", nvidia.com/gpu: "4", vpc.amazonaws.com/efa: "1"}, conditions: [{type: Ready, status: "True"}]}
`
	withoutEFA = `
- metadata: {name: gpu-1, labels: {role: gpu}}
  status: {allocatable: {cpu: "47", nvidia.com/gpu: "4"}}
- metadata: {name: system, labels: {role: system}}
  status: {allocatable: {cpu: "4", vpc.amazonaws.com/efa: "1"}}
`
)

func TestWhyNotReady(t *testing.T) {
	tests := []struct {
		name, pod, events, nodes string
		mayGrow                  bool
		cause                    Cause
		outlook                  Outlook
		text, hint               string
	}{
		{name: "ready", pod: bound + `status: {phase: Running, conditions: [{type: PodScheduled, status: "True"}, {type: Ready, status: "True"}]}`},
		{
			name: "not looked at", pod: gpuSpec + "status: {phase: Pending}",
			cause: Starting, text: "the scheduler has not looked at it yet",
		},
		{
			name: "resource in use", pod: unschedulable, nodes: withEFA,
			cause: Unschedulable, outlook: Doubtful, text: "0/3 nodes are available: 2 Insufficient vpc.amazonaws.com/efa",
		},
		{
			name: "resource that no node has", pod: unschedulable, nodes: withoutEFA,
			cause: Unschedulable, outlook: Hopeless, text: "; no node that it may run on has vpc.amazonaws.com/efa (gpu-1)", hint: InstallEFA,
		},
		{
			name: "more than any node has", pod: strings.ReplaceAll(unschedulable, `"4"`, `"8"`), nodes: withEFA,
			cause: Unschedulable, outlook: Hopeless, text: "it asks for 8 of nvidia.com/gpu, and no node that it may run on has more than 4 (gpu-1)",
		},
		{
			name: "resource that no node has yet", pod: unschedulable, nodes: withoutEFA, mayGrow: true,
			cause: Unschedulable, outlook: Doubtful, text: "; no node that it may run on has vpc.amazonaws.com/efa (gpu-1)",
		},
		{
			name: "init container that asks for more than any node has", nodes: withEFA,
			pod:   strings.Replace(unschedulable, "  containers:", "  initContainers: [{name: warm, resources: {requests: {nvidia.com/gpu: \"8\"}}}]\n  containers:", 1),
			cause: Unschedulable, outlook: Hopeless, text: "it asks for 8 of nvidia.com/gpu, and no node that it may run on has more than 4 (gpu-1)",
		},
		{
			name: "no nodes yet", pod: unschedulable, nodes: "- metadata: {name: system}",
			cause: Unschedulable, outlook: Doubtful, text: "0/3 nodes are available",
		},
		{
			name: "cluster autoscaler makes a node", pod: unschedulable, nodes: withoutEFA,
			events: `
- {reason: FailedScheduling, type: Warning, message: 0/3 nodes are available, eventTime: "2026-11-30T11:00:00.000000Z", reportingComponent: default-scheduler}
- {reason: TriggeredScaleUp, type: Normal, count: 1, lastTimestamp: "2026-11-30T11:00:10Z", source: {component: cluster-autoscaler}, message: "pod triggered scale-up: [{eks-gpu 0->1 (max: 2)}]"}`,
			cause: NodeComing, outlook: Coming, text: "pod triggered scale-up: [{eks-gpu 0->1 (max: 2)}]",
		},
		{
			name: "cluster autoscaler cannot", pod: unschedulable, nodes: withEFA,
			events: `
- {reason: TriggeredScaleUp, type: Normal, count: 1, lastTimestamp: "2026-11-30T11:00:10Z", source: {component: cluster-autoscaler}, message: "pod triggered scale-up"}
- {reason: NotTriggerScaleUp, type: Normal, count: 1, lastTimestamp: "2026-11-30T11:20:10Z", source: {component: cluster-autoscaler}, message: "pod didn't trigger scale-up: 1 max node group size reached"}`,
			cause: Unschedulable, outlook: Doubtful, text: "the autoscaler: pod didn't trigger scale-up: 1 max node group size reached",
		},
		{
			name: "karpenter makes a node", pod: unschedulable, nodes: withoutEFA,
			events: `
- {reason: FailedScheduling, type: Warning, lastTimestamp: "2026-11-30T11:00:00Z", source: {component: karpenter}, message: "Failed to schedule pod, incompatible with nodepool"}
- {reason: Nominated, type: Normal, lastTimestamp: "2026-11-30T11:00:10Z", source: {component: karpenter}, message: "Pod should schedule on: nodeclaim/gpu-x7k2p"}`,
			cause: NodeComing, outlook: Coming, text: "nodeclaim/gpu-x7k2p",
		},
		{
			name: "queued", pod: `{spec: {schedulingGates: [{name: kueue.x-k8s.io/admission}]}, status: {conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated}]}}`,
			cause: Gated, outlook: Coming, text: "a queue has yet to admit it: kueue.x-k8s.io/admission",
		},
		{
			name: "pulling", pod: scheduled + `  containerStatuses: [{name: ray-worker, image: ray, imageID: "", ready: false, restartCount: 0, state: {waiting: {reason: ContainerCreating}}}]`,
			events: `
- {reason: Scheduled, lastTimestamp: "2026-11-30T11:00:00Z", message: assigned}
- {reason: Pulling, lastTimestamp: "2026-11-30T11:00:01Z", message: 'Pulling image "ray"'}`,
			cause: Starting, text: `Pulling image "ray"`,
		},
		{
			name: "image is not there", pod: scheduled + `  containerStatuses: [{name: ray-worker, image: "example.com/ray:2", imageID: "", ready: false, restartCount: 0, state: {waiting: {reason: ImagePullBackOff, message: 'Back-off pulling image "example.com/ray:2": ErrImagePull: rpc error: code = NotFound desc = failed to pull and unpack image "example.com/ray:2": failed to resolve reference "example.com/ray:2": example.com/ray:2: not found'}}}]`,
			cause: Image, outlook: Hopeless, text: "example.com/ray:2: not found", hint: "tag",
		},
		{
			name: "image is not there, before 1.32", pod: scheduled + `  containerStatuses: [{name: ray-worker, image: "example.com/ray:2", imageID: "", ready: false, restartCount: 0, state: {waiting: {reason: ImagePullBackOff, message: 'Back-off pulling image "example.com/ray:2"'}}}]`,
			events: `
- {reason: Failed, type: Warning, lastTimestamp: "2026-11-30T11:00:00Z", message: 'Failed to pull image "example.com/ray:2": rpc error: code = NotFound desc = example.com/ray:2: not found'}
- {reason: BackOff, type: Normal, lastTimestamp: "2026-11-30T11:00:01Z", message: 'Back-off pulling image "example.com/ray:2"'}`,
			cause: Image, outlook: Hopeless, text: `Failed to pull image "example.com/ray:2": rpc error`,
		},
		{
			name: "image is not ours to pull", pod: scheduled + `  containerStatuses: [{name: ray-worker, image: ray, imageID: "", ready: false, restartCount: 0, state: {waiting: {reason: ErrImagePull, message: 'failed to pull and unpack image "docker.io/library/ray:latest": failed to resolve reference: pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed'}}}]`,
			cause: Image, outlook: Hopeless, text: "pull access denied", hint: "imagePullSecret",
		},
		{
			name: "registry cannot be found", pod: scheduled + `  containerStatuses: [{name: ray-worker, image: ray, imageID: "", ready: false, restartCount: 0, state: {waiting: {reason: ErrImagePull, message: 'failed to do request: Head "https://example.invalid/v2/ray": dial tcp: lookup example.invalid: no such host'}}}]`,
			cause: Image, outlook: Doubtful, text: "no such host",
		},
		{
			name: "image name", pod: scheduled + `  containerStatuses: [{name: ray-worker, image: "Ray:", imageID: "", ready: false, restartCount: 0, state: {waiting: {reason: InvalidImageName, message: 'Failed to apply default image tag "Ray:": couldn''t parse image name "Ray:": invalid reference format'}}}]`,
			cause: Image, outlook: Hopeless, text: "invalid reference format",
		},
		{
			name: "secret is missing", pod: scheduled + `  containerStatuses: [{name: ray-worker, image: ray, imageID: "", ready: false, restartCount: 0, state: {waiting: {reason: CreateContainerConfigError, message: 'secret "token" not found'}}}]`,
			events: `- {reason: Failed, type: Warning, count: 2, lastTimestamp: "2026-11-30T11:00:00Z", message: 'Error: secret "token" not found'}`,
			cause:  Setup, outlook: Doubtful, text: `CreateContainerConfigError: secret "token" not found`,
		},
		{
			name: "secret stays missing", pod: scheduled + `  containerStatuses: [{name: ray-worker, image: ray, imageID: "", ready: false, restartCount: 0, state: {waiting: {reason: CreateContainerConfigError, message: 'secret "token" not found'}}}]`,
			events: `- {reason: Failed, type: Warning, count: 3, lastTimestamp: "2026-11-30T11:00:00Z", message: 'Error: secret "token" not found'}`,
			cause:  Setup, outlook: Hopeless, text: `secret "token" not found`,
		},
		{
			name: "volume", pod: scheduled + `  containerStatuses: [{name: ray-worker, image: ray, imageID: "", ready: false, restartCount: 0, state: {waiting: {reason: ContainerCreating}}}]`,
			events: `- {reason: FailedMount, type: Warning, count: 1, lastTimestamp: "2026-11-30T11:00:00Z", message: 'MountVolume.SetUp failed for volume "fsx" : rpc error: code = Internal'}`,
			cause:  Setup, outlook: Doubtful, text: `FailedMount: MountVolume.SetUp failed for volume "fsx"`,
		},
		{
			name: "crash loop", pod: scheduled + `  containerStatuses: [{name: ray-worker, image: ray, imageID: "", ready: false, restartCount: 4, state: {waiting: {reason: CrashLoopBackOff, message: back-off 1m20s restarting failed container=ray-worker pod=w}}, lastState: {terminated: {exitCode: 1, reason: Error}}}]`,
			cause: Crash, outlook: Hopeless, text: "container ray-worker ended with exit code 1, restarted 4 times",
		},
		{
			name: "first crash", pod: scheduled + `  containerStatuses: [{name: ray-worker, image: ray, imageID: "", ready: false, restartCount: 1, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, reason: Error}}}]`,
			cause: Crash, outlook: Doubtful, text: "exit code 1",
		},
		{
			name: "command is missing", pod: scheduled + `  containerStatuses: [{name: ray-worker, image: ray, imageID: "", ready: false, restartCount: 0, state: {waiting: {reason: RunContainerError, message: 'failed to create containerd task: exec: "ray": executable file not found in $PATH'}}}]`,
			cause: Crash, outlook: Hopeless, text: `RunContainerError: failed to create containerd task: exec: "ray": executable file not found`,
		},
		{
			name: "killed for memory", pod: scheduled + `  containerStatuses: [{name: ray-worker, image: ray, imageID: "", ready: false, restartCount: 1, state: {running: {}}, lastState: {terminated: {exitCode: 137, reason: OOMKilled}}}]`,
			cause: OutOfMemory, outlook: Doubtful, text: "was killed for its memory (OOMKilled), restarted once, and runs again", hint: "memory",
		},
		{
			name: "init container", pod: scheduled + `
  initContainerStatuses: [{name: wait-gcs-ready, image: ray, imageID: "", ready: false, restartCount: 0, state: {running: {}}}]
  containerStatuses: [{name: ray-worker, image: ray, imageID: "", ready: false, restartCount: 0, state: {waiting: {reason: PodInitializing}}}]`,
			cause: Starting, text: "init container wait-gcs-ready runs",
		},
		{
			name: "probe", pod: scheduled + `  containerStatuses: [{name: ray-worker, image: ray, imageID: "", ready: false, restartCount: 0, state: {running: {}}}]`,
			events: `- {reason: Unhealthy, type: Warning, count: 5, lastTimestamp: "2026-11-30T11:00:00Z", message: "Readiness probe failed: HTTP probe failed with statuscode: 500"}`,
			cause:  Unhealthy, outlook: Doubtful, text: "Readiness probe failed",
		},
		{
			name: "probe while it starts", pod: scheduled + `  containerStatuses: [{name: ray-worker, image: ray, imageID: "", ready: false, restartCount: 0, state: {running: {startedAt: "2026-11-30T10:59:30Z"}}}]`,
			events: `- {reason: Unhealthy, type: Warning, count: 5, lastTimestamp: "2026-11-30T11:00:00Z", message: "Readiness probe failed: connection refused"}`,
			cause:  Starting, text: "container ray-worker runs and is not ready yet",
		},
		{
			name: "node died", pod: scheduled + `  containerStatuses: [{name: ray-worker, image: ray, imageID: "", ready: true, restartCount: 0, state: {running: {}}}]`,
			nodes: strings.Replace(withEFA, `status: "True"`, `status: Unknown, reason: NodeStatusUnknown, message: Kubelet stopped posting node status.`, 1),
			cause: NodeLost, outlook: Doubtful, text: "its node gpu-1 is not ready: NodeStatusUnknown: Kubelet stopped posting node status.", hint: "kubectl describe node gpu-1",
		},
		{
			name: "node died, by the event", pod: scheduled,
			events: `- {reason: NodeNotReady, type: Warning, count: 1, lastTimestamp: "2026-11-30T11:00:00Z", source: {component: node-controller}, message: Node is not ready}`,
			cause:  NodeLost, outlook: Doubtful, text: "its node gpu-1 is not ready",
		},
		{
			name: "evicted", pod: bound + `status: {phase: Failed, reason: Evicted, message: 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi.'}`,
			cause: Evicted, outlook: Doubtful, text: "Evicted: The node was low on resource: memory.",
		},
		{
			name: "device refused", pod: bound + `status: {phase: Failed, reason: UnexpectedAdmissionError, message: "Pod was rejected: Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. Requested: 4, Available: 3, which is unexpected"}`,
			cause: Evicted, outlook: Doubtful, text: "devices unavailable for nvidia.com/gpu",
		},
		{
			name: "preempted", pod: `{metadata: {deletionTimestamp: "2026-11-30T11:00:00Z"}, spec: {nodeName: gpu-1}, status: {phase: Running, conditions: [{type: DisruptionTarget, status: "True", reason: PreemptionByScheduler, message: "default-scheduler: preempting to accommodate a higher priority pod"}]}}`,
			cause: Evicted, outlook: Doubtful, text: "PreemptionByScheduler: default-scheduler: preempting to accommodate a higher priority pod",
		},
		{
			name: "terminating on a dead node", pod: `{metadata: {deletionTimestamp: "2026-11-30T11:00:00Z"}, spec: {nodeName: gpu-1}, status: {phase: Running}}`,
			nodes: strings.Replace(withEFA, `status: "True"`, `status: Unknown, reason: NodeStatusUnknown`, 1),
			cause: Leaving, outlook: Doubtful, text: "it is being deleted, and stays until its node answers: its node gpu-1 is not ready", hint: "gpu-1",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pod, nodes := parse[corev1.Pod](t, test.pod), parse[[]corev1.Node](t, test.nodes)
			r := WhyNotReady(&pod, parse[[]corev1.Event](t, test.events), NodesOf(nodes, test.mayGrow))
			wantReason(t, r, test.cause, test.outlook, test.text, test.hint)
		})
	}
}

func wantReason(t *testing.T, r Reason, cause Cause, outlook Outlook, text, hint string) {
	t.Helper()
	if r.Cause != cause || r.Outlook != outlook || !strings.Contains(r.Text, text) || !strings.Contains(r.Hint, hint) {
		t.Errorf("got %+v\nwant %q, %d, %q, %q", r, cause, outlook, text, hint)
	}
	if (r.Text == "") != (cause == "") {
		t.Errorf("cause %q with text %q", r.Cause, r.Text)
	}
}

func TestWhyNoPod(t *testing.T) {
	tests := []struct {
		name, events string
		cause        Cause
		outlook      Outlook
		text         string
	}{
		{name: "nothing said", events: `- {reason: CreatedHeadPod, message: Created head Pod}`},
		{
			"quota in use", `- {reason: FailedToCreateWorkerPod, type: Warning, message: 'Failed to create worker Pod for the cluster team/gpu, pods "w" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=4, used: requests.nvidia.com/gpu=4, limited: requests.nvidia.com/gpu=4'}`,
			NotCreated, Doubtful, "exceeded quota: gpus",
		},
		{
			"quota too small", `- {reason: FailedToCreateWorkerPod, type: Warning, message: 'Failed to create worker Pod for the cluster team/gpu, pods "w" is forbidden: exceeded quota: gpus, requested: cpu=1,requests.nvidia.com/gpu=8, used: cpu=0,requests.nvidia.com/gpu=0, limited: cpu=2,requests.nvidia.com/gpu=4'}`,
			NotCreated, Hopeless, "exceeded quota: gpus",
		},
		{
			"webhook", `- {reason: FailedToCreateHeadPod, type: Warning, message: 'Failed to create head Pod team/h, admission webhook "policy.example.com" denied the request: no latest tags'}`,
			NotCreated, Hopeless, "no latest tags",
		},
		{
			"service account not made yet", `- {reason: FailedToCreateHeadPod, type: Warning, count: 1, message: 'Failed to create head Pod team/h, pods "h" is forbidden: error looking up service account team/ray: serviceaccount "ray" not found'}`,
			NotCreated, Doubtful, "service account",
		},
		{
			"refused by the operator", `- {reason: InvalidRayClusterSpec, type: Warning, message: "The RayCluster spec is invalid team/gpu: authOptions"}`,
			NotCreated, Hopeless, "authOptions",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wantReason(t, WhyNoPod(parse[[]corev1.Event](t, test.events)), test.cause, test.outlook, test.text, "")
		})
	}
}

func TestWithLog(t *testing.T) {
	r := Reason{Text: "container head ended with exit code 1"}.WithLog("one\ntwo\n\n")
	if want := "container head ended with exit code 1; its last lines:\n  one\n  two"; r.Text != want {
		t.Errorf("got %q, want %q", r.Text, want)
	}
	if r := (Reason{Text: "x"}).WithLog(""); r.Text != "x" {
		t.Errorf("without a log: %q", r.Text)
	}
}
