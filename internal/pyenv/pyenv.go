// Package pyenv provides the Python that runs Ray on this machine: a virtual
// environment made from a lock file with hashes and kept in the user's cache
// folder, or an interpreter of the user's own, checked and left as it is.
//
// Below Spec.CacheDir lie
//
//	environments/<hash>-py3.13/        one environment
//	environments/<hash>-py3.13.lock    held by the process that builds it
//	packages/<hash>/                   what a job needs beside an environment
//	bootstrap-uv-<version>-<platform>/ uv, where PATH has none that fits
//
// The hash covers the lock file, the platform and the index that PyTorch comes
// from, so a changed lock file means another environment. Old ones stay until
// somebody removes them: every folder here may be deleted while no command
// runs, and is made again when it is needed.
//
// An environment is moved after it was made, which its interpreter, its
// modules and its console scripts survive. Of these only the interpreter
// relies on nothing else: start Ray as `Env.Python -m ray.scripts.scripts`.
package pyenv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/google/renameio/v2"

	"github.com/trainyard/trainyard/internal/fault"
)

// Spec says which environment is wanted.
type Spec struct {
	// Lock is a requirements file that pins every package with its hashes.
	Lock []byte

	// CacheDir is trainyard's folder in the user's cache folder. It is made
	// when it is missing.
	CacheDir string

	// BasePython is the interpreter to build with, a path or a name on PATH.
	// Empty means an environment that exists already, else the first that
	// runs of python3.13, python3.12, python3.11, python3.10, python3 and
	// python on PATH and is CPython 3.10 to 3.13. The newest comes first
	// because the container that the same job runs in elsewhere has 3.13.
	BasePython string

	// TorchIndex is the URL of a package index that replaces PyTorch's build
	// by its own of the same version, the CPU one, say. PyTorch and what it
	// alone needs then come from that index, without hashes; everything else
	// stays locked.
	TorchIndex string

	// Environ is the environment of the caller as "NAME=value": PATH, indexes,
	// proxies and certificates are taken from it.
	Environ []string

	// SpaceNeeded is what a new environment takes on the disk, in bytes.
	// Zero means 6 GiB, the size of Ray and PyTorch with CUDA's libraries.
	SpaceNeeded int64
}

// Env is a Python that has Ray.
type Env struct {
	Dir    string // the environment's folder (sys.prefix)
	Python string // absolute path of its interpreter

	PythonVersion       string // "3.13.0"
	RayVersion          string
	TorchVersion        string // empty where PyTorch is not installed
	TransformersVersion string // empty where transformers is not installed

	Reused   bool // nothing had to be built
	Explicit bool // the user's own interpreter, see Inspect
}

// The units of Progress.
const (
	Bytes    = "B"
	Packages = "packages"
	Files    = "files"
)

// Progress is what Ensure or EnsurePackages is doing now. Total is zero where the size of the
// work is not known.
type Progress struct {
	Text  string
	Done  int64
	Total int64
	Unit  string // Bytes, Packages, Files or empty
}

const (
	metadataFile   = "trainyard.json"
	metadataSchema = 1
	defaultSpace   = 6 << 30
)

// metadata is kept in every finished environment and read instead of starting
// its interpreter, which would take longer than everything else in a reuse.
type metadata struct {
	Schema       int       `json:"schema"`
	Created      time.Time `json:"created"`
	Key          string    `json:"key"`
	LockSHA256   string    `json:"lock_sha256"`
	TorchIndex   string    `json:"torch_index,omitempty"` // without credentials
	BasePython   string    `json:"base_python"`
	UV           string    `json:"uv"`
	Python       string    `json:"python"`
	Ray          string    `json:"ray"`
	Torch        string    `json:"torch,omitempty"`
	Transformers string    `json:"transformers,omitempty"`
}

// Ensure returns the environment of spec and builds it where it does not exist.
// A build happens beside and is renamed when it is whole, so an environment is
// there entirely or not at all; of several processes that want the same one,
// one builds while the others wait. progress may be nil; it is called from one
// goroutine at a time. When ctx ends, what was begun is removed.
func Ensure(ctx context.Context, spec Spec, progress func(Progress)) (Env, error) {
	if progress == nil {
		progress = func(Progress) {}
	}
	dir, err := filepath.Abs(spec.CacheDir)
	if err != nil {
		return Env{}, fmt.Errorf("finding cache folder %q: %w", spec.CacheDir, err)
	}
	spec.CacheDir = dir
	if env, ok := spec.existing(); ok {
		return env, nil
	}
	progress(Progress{Text: "looking for Python"})
	base, err := findPython(ctx, spec.BasePython, spec.Environ)
	if err != nil {
		return Env{}, err
	}
	key := spec.key(base.minor())
	if env, ok := spec.load(key); ok {
		return env, nil
	}
	return spec.make(ctx, key, base, progress)
}

// existing finds an environment without asking any Python for its version.
func (s Spec) existing() (Env, bool) {
	if s.BasePython != "" {
		return Env{}, false
	}
	for _, minor := range supportedMinors {
		if env, ok := s.load(s.key(minor)); ok {
			return env, true
		}
	}
	return Env{}, false
}

// key names the environment of spec for Python 3.minor.
func (s Spec) key(minor int) string {
	h := sha256.New()
	for _, part := range []string{runtime.GOOS, runtime.GOARCH, s.TorchIndex, string(s.Lock)} {
		fmt.Fprintf(h, "%d:%s\n", len(part), part)
	}
	return fmt.Sprintf("%x-py3.%d", h.Sum(nil)[:8], minor)
}

func (s Spec) dir(key string) string {
	return filepath.Join(s.CacheDir, "environments", key)
}

// load returns the finished environment of key. One whose metadata cannot be
// read or whose base interpreter was uninstalled counts as missing.
func (s Spec) load(key string) (Env, bool) {
	dir := s.dir(key)
	data, err := os.ReadFile(filepath.Join(dir, metadataFile))
	if err != nil {
		return Env{}, false
	}
	var m metadata
	if json.Unmarshal(data, &m) != nil || m.Schema != metadataSchema || m.Key != key {
		return Env{}, false
	}
	if _, err := os.Stat(interpreter(dir)); err != nil {
		return Env{}, false
	}
	env := m.env(dir)
	env.Reused = true
	return env, true
}

func (m metadata) env(dir string) Env {
	return Env{
		Dir:                 dir,
		Python:              interpreter(dir),
		PythonVersion:       m.Python,
		RayVersion:          m.Ray,
		TorchVersion:        m.Torch,
		TransformersVersion: m.Transformers,
	}
}

func interpreter(dir string) string { return filepath.Join(dir, "bin", "python") }

// make builds the environment of key, or waits for the process that does.
func (s Spec) make(ctx context.Context, key string, base python, progress func(Progress)) (Env, error) {
	folder, err := openStore(filepath.Join(s.CacheDir, "environments"))
	if err != nil {
		return Env{}, err
	}
	var made bool
	err = folder.once(ctx, key, entry{
		ready: func() bool { _, ok := s.load(key); return ok },
		waits: func() { progress(Progress{Text: "waiting for another trainyard that builds this environment"}) },
		build: func(staging string) error {
			made = true
			return s.build(ctx, key, staging, base, progress)
		},
	})
	if err != nil {
		return Env{}, s.explain(fmt.Errorf("making Python environment: %w", err))
	}
	env, ok := s.load(key)
	if !ok {
		return Env{}, fmt.Errorf("making Python environment: %q is not whole", s.dir(key))
	}
	env.Reused = !made
	return env, nil
}

// build fills staging with everything an environment has.
func (s Spec) build(ctx context.Context, key, staging string, base python, progress func(Progress)) error {
	if err := s.checkSpace(progress); err != nil {
		return err
	}
	uv, err := findUV(ctx, s, base, progress)
	if err != nil {
		return err
	}
	in := installer{uv: uv, dir: staging, python: interpreter(staging), spec: s, progress: progress}
	if err := in.install(ctx, base); err != nil {
		return err
	}
	progress(Progress{Text: "checking Ray"})
	env, err := inspect(ctx, interpreter(staging), toolEnviron(s.Environ))
	if err != nil {
		return err
	}
	return writeMetadata(staging, metadata{
		Schema:       metadataSchema,
		Created:      time.Now().UTC().Truncate(time.Second),
		Key:          key,
		LockSHA256:   sha256Hex(s.Lock),
		TorchIndex:   redactURL(s.TorchIndex),
		BasePython:   base.Executable,
		UV:           uv.version,
		Python:       env.PythonVersion,
		Ray:          env.RayVersion,
		Torch:        env.TorchVersion,
		Transformers: env.TransformersVersion,
	})
}

func writeMetadata(dir string, m metadata) error {
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding metadata: %w", err)
	}
	if err := renameio.WriteFile(filepath.Join(dir, metadataFile), append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing metadata: %w", err)
	}
	return nil
}

func sha256Hex(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// redactURL drops the credentials of a URL, and all of what is not a URL.
func redactURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(not a URL)"
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

const chooseCacheDir = "give trainyard a cache folder it may write to: " +
	"change the folder's permissions, or set XDG_CACHE_HOME to another one"

// notWritable is the error for a cache folder that cannot hold an environment.
func notWritable(err error) error {
	return fault.WithHint(chooseCacheDir, err)
}
