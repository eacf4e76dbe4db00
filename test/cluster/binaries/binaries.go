// Package binaries has the programs of a Kubernetes cluster: etcd, the control
// plane, the KubeRay operator with its CRDs, and kwok with its stages. It builds
// them from Go modules, once, into a cache.
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
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/mod/modfile"
)

// Dirs are the folders in which the programs of each set lie under their own
// names.
type Dirs struct {
	Etcd       string // etcd
	Kubernetes string // kube-apiserver, kube-controller-manager, kube-scheduler
	KubeRay    string // kuberay-operator; crds
	Kwok       string // kwok; crds, stages
}

// CacheDir is where the programs are kept: TRAINYARD_TEST_CACHE where that is
// set, else a folder in the user's cache.
func CacheDir() (string, error) {
	if dir := os.Getenv("TRAINYARD_TEST_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "trainyard-test"), err
}

// Ensure returns the folders of all sets, after building those that cache lacks
// from the modules in pins. A set is in the cache as a whole or not at all, and
// two programs never build the same one at once. tell is called with a line
// before and after everything that takes long.
func Ensure(ctx context.Context, cache, pins string, tell func(string)) (Dirs, error) {
	dirs := map[string]string{}
	for _, s := range sets {
		dir, err := s.ensure(ctx, cache, filepath.Join(pins, s.pin), tell)
		if err != nil {
			return Dirs{}, fmt.Errorf("building %s: %w", s.pin, err)
		}
		dirs[s.pin] = dir
	}
	return Dirs{Etcd: dirs["etcd"], Kubernetes: dirs["kubernetes"], KubeRay: dirs["kuberay"], Kwok: dirs["kwok"]}, nil
}

// ensure returns the folder of one set, complete.
func (s set) ensure(ctx context.Context, cache, pin string, tell func(string)) (string, error) {
	version, key, err := s.key(pin)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, fmt.Sprintf("%s-%s-%s-%s-%s", s.pin, version, runtime.GOOS, runtime.GOARCH, key))
	if exists(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(ctx, dir+".lock", func() { tell("waiting for another build of " + s.pin) })
	if err != nil {
		return "", err
	}
	defer unlock()
	if exists(dir) { // the other one made it
		return dir, nil
	}
	began := time.Now()
	tell(fmt.Sprintf("building %s %s, once; all that is needed takes 10 to 20 minutes on two cores", s.pin, version))
	unfinished := dir + ".unfinished" // only the holder of the lock touches it
	if err := os.RemoveAll(unfinished); err != nil {
		return "", err
	}
	if err := s.build(ctx, pin, version, unfinished, tell); err != nil {
		return "", errors.Join(err, os.RemoveAll(unfinished))
	}
	tell(fmt.Sprintf("built %s in %s", s.pin, time.Since(began).Round(time.Second)))
	return dir, os.Rename(unfinished, dir)
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

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// lock waits for the lock file at path; busy is called where it is held.
func lock(ctx context.Context, path string, busy func()) (unlock func(), err error) {
	l := flock.New(path)
	held, err := l.TryLock()
	if err == nil && !held {
		busy()
		_, err = l.TryLockContext(ctx, time.Second/5)
	}
	return func() { _ = l.Unlock() }, err
}
