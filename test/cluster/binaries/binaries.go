// Package binaries has the programs of a Kubernetes cluster: etcd, the control
// plane, the KubeRay operator with its CRDs, kwok with its stages, and what real
// nodes run. It builds them from Go modules, once, into a cache.
//
// What is built is pinned: each folder of pins is a Go module whose go.mod and
// go.sum name every dependency, and nothing resolves versions at run time. To
// raise a version, `go get` it in that folder and `go mod tidy` there.
//
// Building is the only way in. Setup-envtest could download kube-apiserver and
// etcd, and where it can that takes seconds; but it has no controller manager
// and no scheduler, which are always needed, which come from the same module and
// share most of the work of compiling with the apiserver. One way that works
// wherever Go modules can be had is worth the minutes that it costs once; CI
// keeps the cache between runs.
package binaries

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/mod/modfile"

	"github.com/trainyard/trainyard/test/cluster/cache"
)

// Dirs are the folders in which the programs of each set lie under their own
// names.
type Dirs struct {
	Etcd       string // etcd
	Kubernetes string // kube-apiserver, kube-controller-manager, kube-scheduler
	KubeRay    string // kuberay-operator; crds
	Kwok       string // kwok; crds, stages
	Kubectl    string // kubectl

	KubectlRay string // kubectl-ray; this and what follows only for real nodes
	Kubelet    string // kubelet
	Containerd string // containerd, containerd-shim-runc-v2, ctr
	CNI        string // bridge, loopback, host-local
	CoreDNS    string // coredns
}

// Ensure returns the folders of all sets, those of real nodes only where nodes
// is true, after building what cacheDir lacks from the modules in pins. A set is in
// the cache as a whole or not at all, and two programs never build the same one
// at once. tell is called with a line before and after everything that takes
// long.
func Ensure(ctx context.Context, cacheDir, pins string, nodes bool, tell func(string)) (Dirs, error) {
	wanted := sets
	if nodes {
		wanted = slices.Concat(sets, nodeSets)
	}
	dirs := map[string]string{}
	for _, s := range wanted {
		dir, err := s.ensure(ctx, cacheDir, filepath.Join(pins, s.pin), tell)
		if err != nil {
			return Dirs{}, fmt.Errorf("building %s: %w", s.name, err)
		}
		dirs[s.name] = dir
	}
	return Dirs{
		Etcd: dirs["etcd"], Kubernetes: dirs["kubernetes"], KubeRay: dirs["kuberay"], Kwok: dirs["kwok"],
		Kubectl: dirs["kubectl"], KubectlRay: dirs["kubectl-ray"],
		Kubelet: dirs["kubelet"], Containerd: dirs["containerd"], CNI: dirs["cni"], CoreDNS: dirs["coredns"],
	}, nil
}

// ensure returns the folder of one set, complete.
func (s set) ensure(ctx context.Context, cacheDir, pin string, tell func(string)) (string, error) {
	version, key, err := s.key(pin)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cacheDir, fmt.Sprintf("%s-%s-%s-%s-%s", s.name, version, runtime.GOOS, runtime.GOARCH, key))
	what := fmt.Sprintf("%s %s", s.name, version)
	return dir, cache.Ensure(ctx, dir, what, tell, func(unfinished string) error {
		return s.build(ctx, pin, version, unfinished, tell)
	})
}

// key returns the version of the set's module, and a checksum of all that
// decides what a build makes: the pins and the row of the table.
func (s set) key(pin string) (version, sum string, err error) {
	mod, err := os.ReadFile(filepath.Join(pin, "go.mod"))
	if err != nil {
		return "", "", err
	}
	sums, err := os.ReadFile(filepath.Join(pin, "go.sum"))
	if err != nil {
		return "", "", err
	}
	parsed, err := modfile.Parse(filepath.Join(pin, "go.mod"), mod, nil)
	if err != nil {
		return "", "", err
	}
	for _, r := range parsed.Require {
		if r.Mod.Path == s.module {
			version = r.Mod.Version
		}
	}
	if version == "" {
		return "", "", fmt.Errorf("%s does not require %s", pin, s.module)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%v\n%s\n%s", s, mod, sums)
	return version, fmt.Sprintf("%x", h.Sum(nil)[:4]), nil
}
