package pyenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/internal/fault"
)

// wantFailure checks that err says and advises all of what is wanted, in one
// line, and that nothing is left of the build.
func wantFailure(t *testing.T, spec Spec, err error, says, advises []string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	hints := strings.Join(fault.HintsOf(err), "\n")
	t.Logf("error: %v\nhint: %s", err, hints)
	for _, want := range says {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not say %q: %v", want, err)
		}
	}
	for _, want := range advises {
		if !strings.Contains(hints, want) {
			t.Errorf("hint does not say %q: %s", want, hints)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error has several lines:\n%v", err)
	}
	if left := leftovers(t, spec.CacheDir); left != nil {
		t.Errorf("left behind: %q", left)
	}
}

func TestNoNetwork(t *testing.T) {
	closed := closedPort()
	l := newLab(t, rayWheel(t, "2.58.0"))
	tests := []struct {
		name    string
		environ []string
		says    string
	}{
		{"index refuses", []string{"UV_DEFAULT_INDEX=" + closed + "/simple"}, strings.TrimPrefix(closed, "http://") + ": Connection refused"},
		{"proxy refuses", []string{"UV_DEFAULT_INDEX=http://packages.invalid/simple", "HTTP_PROXY=" + closed}, "packages.invalid: Connection refused"},
		{"index of pip", []string{"UV_DEFAULT_INDEX=", "PIP_INDEX_URL=" + closed + "/simple"}, strings.TrimPrefix(closed, "http://") + ": Connection refused"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec := l.spec
			spec.Environ = append(spec.Environ[:len(spec.Environ):len(spec.Environ)], test.environ...)
			_, err := Ensure(t.Context(), spec, nil)
			wantFailure(t, spec, err, []string{"making Python environment: installing packages: reaching", test.says},
				[]string{"network", "HTTPS_PROXY", "--python PATH"})
		})
	}
}

func TestOffline(t *testing.T) {
	l := newLab(t, rayWheel(t, "2.58.0"))
	l.spec.Environ = append(l.spec.Environ, "UV_OFFLINE=1")
	_, err := Ensure(t.Context(), l.spec, nil)
	wantFailure(t, l.spec, err, []string{"installing packages: uv is told to stay offline"}, []string{"UV_OFFLINE"})
}

func TestUnknownVersion(t *testing.T) {
	l := newLab(t, rayWheel(t, "2.58.0"))
	l.spec.Lock = []byte(strings.Replace(string(l.spec.Lock), "2.58.0", "2.58.1", 1))
	_, err := Ensure(t.Context(), l.spec, nil)
	wantFailure(t, l.spec, err, []string{"No solution found", "no version of ray==2.58.1"}, nil)
}

func TestNoNetworkForUV(t *testing.T) {
	closed := closedPort()
	bin := t.TempDir()
	link(t, realPython(t), filepath.Join(bin, "python3"))
	spec := Spec{
		Lock:        []byte("ray==2.58.0"),
		CacheDir:    t.TempDir(),
		SpaceNeeded: 1 << 20,
		Environ:     labEnviron(t, bin, "PIP_INDEX_URL="+closed+"/simple", "PIP_CONFIG_FILE=/dev/null"),
	}
	_, err := Ensure(t.Context(), spec, nil)
	wantFailure(t, spec, err, []string{"fetching uv", "reaching the package index: ", "Connection refused"}, []string{"network", "PIP_INDEX_URL"})
}

func TestNoEnsurepip(t *testing.T) {
	bin := t.TempDir()
	pretend(t, bin, "python3", `sys.modules["ensurepip"] = None`)
	spec := Spec{CacheDir: t.TempDir(), SpaceNeeded: 1 << 20, Environ: labEnviron(t, bin+":/bin:/usr/bin")}
	spec.Environ = withoutUV(t, spec.Environ, bin)
	_, err := Ensure(t.Context(), spec, nil)
	wantFailure(t, spec, err, []string{"fetching uv", "has no module ensurepip"}, []string{"apt install python3.", "-venv", "uv"})
}

// withoutUV replaces PATH by a folder that has what a wrapper script needs and no uv.
func withoutUV(t *testing.T, environ []string, bin string) []string {
	for _, tool := range []string{"cat", "sh"} {
		path, err := lookPath(tool, os.Getenv("PATH"))
		if err != nil {
			t.Skip(err)
		}
		link(t, path, filepath.Join(bin, tool))
	}
	return append(environ, "PATH="+bin)
}

// pretend wraps the real Python so that a statement runs before every script.
func pretend(t *testing.T, bin, name, statement string) {
	t.Helper()
	script(t, filepath.Join(bin, name), fmt.Sprintf("{ echo 'import sys; %s'; cat; } | exec %q \"$@\"", statement, realPython(t)))
}

func TestHashMismatch(t *testing.T) {
	l := newLab(t, rayWheel(t, "2.58.0"))
	l.spec.Lock = []byte(strings.Replace(string(l.spec.Lock), "sha256:", "sha256:"+strings.Repeat("0", 64)+" #", 1))
	_, err := Ensure(t.Context(), l.spec, nil)
	wantFailure(t, l.spec, err, []string{"hash of ray", "is not the one in the lock file"}, []string{"UV_DEFAULT_INDEX"})
}

func TestUnhashedLock(t *testing.T) {
	l := newLab(t, rayWheel(t, "2.58.0"))
	l.spec.Lock = []byte("ray==2.58.0\n")
	_, err := Ensure(t.Context(), l.spec, nil)
	if err == nil || !strings.Contains(err.Error(), "hash") {
		t.Errorf("error is %v", err)
	}
}

func TestTorchIndexWithoutTorch(t *testing.T) {
	l := newLab(t, rayWheel(t, "2.58.0"))
	l.spec.TorchIndex = l.index.url()
	_, err := Ensure(t.Context(), l.spec, nil)
	wantFailure(t, l.spec, err, []string{"lock file has no torch"}, nil)
}

// A lock file that locks something else than a Ray must not become an environment.
func TestBuiltEnvironmentIsChecked(t *testing.T) {
	l := newLab(t, rayWheel(t, "2.40.0"))
	_, err := Ensure(t.Context(), l.spec, nil)
	wantFailure(t, l.spec, err, []string{"ray 2.40.0 is too old"}, nil)
}

func TestDiskFull(t *testing.T) {
	big := newWheel(t, "ray", "2.58.0", map[string]string{"ray/__init__.py": "", "ray/data.bin": noise(4 << 20)})
	l := newLab(t, big)
	l.spec.CacheDir = filepath.Join(mountTmpfs(t, "size=2m"), "cache")
	_, err := Ensure(t.Context(), l.spec, nil)
	wantFailure(t, l.spec, err, []string{"installing packages: disk is full", "No space left on device"},
		[]string{l.spec.CacheDir, "takes about 1 MB", "has 2.1 MB free", "XDG_CACHE_HOME"})
}

// noise does not compress.
func noise(n int) string {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return string(b)
}

func TestSpaceIsCheckedFirst(t *testing.T) {
	l := newLab(t, rayWheel(t, "2.58.0"))
	l.index.server.Close() // nothing may be fetched before
	l.spec.SpaceNeeded = 1 << 60
	_, err := Ensure(t.Context(), l.spec, nil)
	wantFailure(t, l.spec, err, []string{"making Python environment: disk is full"}, []string{"takes about 1152921.5 TB", l.spec.CacheDir})
}

func TestScarceSpaceIsSaid(t *testing.T) {
	l := newLab(t, rayWheel(t, "2.58.0"))
	if err := os.MkdirAll(l.spec.CacheDir, 0o755); err != nil {
		t.Fatal(err)
	}
	free, err := freeSpace(l.spec.CacheDir)
	if err != nil {
		t.Fatal(err)
	}
	l.spec.SpaceNeeded = 2 * free
	var progress recorder
	if _, err := Ensure(t.Context(), l.spec, progress.add); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(progress.texts(), "a new environment takes about") {
		t.Errorf("no warning:\n%s", progress.texts())
	}
}

func TestCacheNotWritable(t *testing.T) {
	l := newLab(t, rayWheel(t, "2.58.0"))
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	tests := map[string]func(t *testing.T) string{
		"a file is in the way": func(*testing.T) string { return filepath.Join(file, "trainyard") },
		"read-only disk":       func(t *testing.T) string { return mountTmpfs(t, "ro,size=1m") },
		"no permission": func(t *testing.T) string {
			if isRoot() {
				t.Skip("the superuser may write everywhere")
			}
			dir := t.TempDir()
			if err := os.Chmod(dir, 0o500); err != nil {
				t.Fatal(err)
			}
			return dir
		},
	}
	for name, cache := range tests {
		t.Run(name, func(t *testing.T) {
			spec := l.spec
			spec.CacheDir = cache(t)
			_, err := Ensure(t.Context(), spec, nil)
			wantFailure(t, spec, err, []string{"making cache folder", spec.CacheDir}, []string{"XDG_CACHE_HOME"})
		})
	}
}

func TestReadOnlyLock(t *testing.T) {
	dir := mountTmpfs(t, "size=1m")
	s, err := openStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	remountReadOnly(t, dir)
	err = s.once(t.Context(), "x", entry{})
	if err == nil || len(fault.HintsOf(err)) == 0 {
		t.Errorf("error is %v, hints %q", err, fault.HintsOf(err))
	}
}

func TestWaitingEndsWithContext(t *testing.T) {
	s := store{t.TempDir()}
	held, err := s.lock(t.Context(), "x", func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Unlock() //nolint:errcheck // the test ends
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err = s.once(ctx, "x", entry{waits: cancel})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}
