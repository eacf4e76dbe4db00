package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/trainyard/trainyard/test/kubetest"
)

// TestNodes runs the scripts in testdata/nodes on real kubelets, with a real Ray
// in the pods. In the order of their names they use one namespace and, unless
// they say otherwise, one RayCluster: the first to need it makes it, and the last
// removes it. Each can be run alone.
//
//	go run -C test/cluster . -nodes 3 -- go test ./test/e2e -run TestNodes/recovers -v
func TestNodes(t *testing.T) {
	image := os.Getenv("TRAINYARD_TEST_IMAGE")
	if image == "" {
		t.Skip("SKIPPED: needs real nodes: make e2e")
	}
	s := newSurroundings(t)
	s.state = t.TempDir()
	lab := kubetest.New(t)
	shared := t.TempDir()
	runFile := realRunFile(image, filepath.SplitList(os.Getenv("TRAINYARD_TEST_MOUNTS")), shared)
	runScripts(t, "nodes", func(_ *testing.T, env *testscript.Env) error {
		env.Setenv("SHARED", shared) // this machine and all pods see it
		// Whatever a script has done to nodes.
		env.Defer(func() {
			lab.Control("/start/node-1")
			lab.Control("/start/node-2")
		})
		if err := seesKubernetes(env, lab, runFile); err != nil {
			return err
		}
		return s.setup(env)
	})
}

// realRunFile is for pods that run an image with these folders of this machine,
// and one that all share. Workers have no GPUs: Ray Train would use what is not
// there. Pods have two seconds to end: what waits for the head does not listen.
func realRunFile(image string, mounts []string, shared string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `version: 1
target: kubernetes
cluster: {name: ray, nodes: 2, image: %q, nodeType: ""}
kubernetes:
  namespace: NAMESPACE
  imagePullPolicy: Never
  nodeSelector: {role: gpu-worker}
  workerCPU: "1"
  workerMemory: 3Gi
  patches:
    - spec:
        headGroupSpec: {template: {spec: {terminationGracePeriodSeconds: 2}}}
        workerGroupSpecs: [{groupName: workers, template: {spec: {terminationGracePeriodSeconds: 2}}}]
  volumes:
    - {mountPath: %[2]q, hostPath: {path: %[2]q}}
`, image, shared)
	for _, mount := range mounts {
		fmt.Fprintf(&b, "    - {mountPath: %[1]q, hostPath: {path: %[1]q}, readOnly: true}\n", mount)
	}
	return b.String()
}
