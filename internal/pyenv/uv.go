package pyenv

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"

	"github.com/trainyard/trainyard/internal/fault"
)

// bootstrapLock pins the uv that is fetched where PATH has none, with the
// hashes of its wheels. Made by
//
//	echo uv==VERSION | uv pip compile --generate-hashes --no-annotate --no-header -
//
//go:embed bootstrap.lock
var bootstrapLock string

// minUV is the oldest uv that installs the lock file: 0.5 finds packages that
// a locked extra brings, such as cuda-toolkit's, not pinned.
var minUV = [2]int{0, 6}

// uv is the program that makes environments.
type uv struct {
	path    string
	version string
}

// findUV returns the uv of PATH where it is new enough, else the one that is
// kept in the cache folder, fetching it by pip the first time.
func findUV(ctx context.Context, spec Spec, base python, progress func(Progress)) (uv, error) {
	if path, err := lookPath("uv", lookupEnv(spec.Environ, "PATH")); err == nil {
		if found, ok := askUV(ctx, path, spec.Environ); ok {
			return found, nil
		}
	}
	return bootstrapUV(ctx, spec, base, progress)
}

var uvVersion = regexp.MustCompile(`^uv (\d+)\.(\d+)\.\S+`)

// askUV reports whether path is a uv that can be used.
func askUV(ctx context.Context, path string, environ []string) (uv, bool) {
	out, err := command{argv: []string{path, "--version"}, env: toolEnviron(environ)}.run(ctx)
	m := uvVersion.FindStringSubmatch(out)
	if err != nil || m == nil {
		return uv{}, false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	old := major < minUV[0] || major == minUV[0] && minor < minUV[1]
	return uv{path: path, version: m[0][len("uv "):]}, !old
}

// bootstrapUV returns the uv in the cache folder.
func bootstrapUV(ctx context.Context, spec Spec, base python, progress func(Progress)) (uv, error) {
	folder, err := openStore(spec.CacheDir)
	if err != nil {
		return uv{}, err
	}
	version := lockedVersion(parseLock([]byte(bootstrapLock)), "uv")
	name := fmt.Sprintf("bootstrap-uv-%s-%s-%s", version, runtime.GOOS, runtime.GOARCH)
	path := filepath.Join(spec.CacheDir, name, "bin", "uv")
	err = folder.once(ctx, name, entry{
		ready: func() bool { _, ok := executable(path); return ok },
		waits: func() { progress(Progress{Text: "waiting for another trainyard that fetches uv"}) },
		build: func(staging string) error {
			progress(Progress{Text: "fetching uv " + version})
			return fetchUV(ctx, staging, base, spec.Environ)
		},
	})
	if err != nil {
		return uv{}, fmt.Errorf("fetching uv %s: %w", version, err)
	}
	return uv{path: path, version: version}, nil
}

// fetchUV makes a virtual environment in dir that holds uv alone.
func fetchUV(ctx context.Context, dir string, base python, environ []string) error {
	if !base.Ensurepip {
		return fault.WithHint(fmt.Sprintf(
			"install the missing module (on Debian and Ubuntu: apt install python3.%d-venv), or uv itself so that it is on PATH",
			base.minor()),
			fmt.Errorf("%q cannot make virtual environments: it has no module ensurepip", base.Executable))
	}
	env := toolEnviron(environ)
	if _, err := (command{argv: []string{base.Executable, "-m", "venv", dir}, env: env}).run(ctx); err != nil {
		return err
	}
	lock := filepath.Join(dir, "bootstrap.lock")
	if err := os.WriteFile(lock, []byte(bootstrapLock), 0o644); err != nil {
		return fmt.Errorf("writing lock file: %w", err)
	}
	pip := []string{"-m", "pip", "install", "--quiet", "--retries", "1", "--no-input", "--require-hashes", "--only-binary", ":all:", "-r", lock}
	var log installLog
	_, err := command{argv: append([]string{interpreter(dir)}, pip...), env: env, dir: dir, line: log.add}.run(ctx)
	if err != nil {
		return log.explain(err)
	}
	if _, ok := executable(filepath.Join(dir, "bin", "uv")); !ok {
		return errors.New("the package has no program bin/uv")
	}
	return nil
}
