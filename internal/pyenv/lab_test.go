package pyenv

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// lab is a package index on loopback with wheels made by the test, and a Spec
// that uses it with the real uv and a real Python.
type lab struct {
	spec  Spec
	index *index
}

func newLab(t *testing.T, wheels ...wheelFile) lab {
	t.Helper()
	python, uv := realPython(t), realUV(t)
	bin := t.TempDir()
	link(t, python, filepath.Join(bin, "python3"))
	link(t, uv, filepath.Join(bin, "uv"))
	ix := newIndex(t, wheels...)
	return lab{
		index: ix,
		spec: Spec{
			Lock:        lockOf(wheels...),
			CacheDir:    filepath.Join(t.TempDir(), "cache"),
			SpaceNeeded: 1 << 20,
			Environ:     labEnviron(t, bin, "UV_DEFAULT_INDEX="+ix.url()),
		},
	}
}

// labEnviron is an environment without the tester's own indexes and caches.
func labEnviron(t *testing.T, path string, more ...string) []string {
	return append([]string{
		"PATH=" + path,
		"HOME=" + t.TempDir(),
		"UV_CACHE_DIR=" + t.TempDir(),
		"UV_LINK_MODE=copy",
		"UV_HTTP_RETRIES=0",
		"PYTHONDONTWRITEBYTECODE=1", // must not reach the tools
	}, more...)
}

// realPython is a Python that environments can be built with.
func realPython(t *testing.T) string {
	t.Helper()
	p, err := findPython(t.Context(), "", os.Environ())
	if err != nil {
		t.Skipf("no Python to test with: %v", err)
	}
	return p.Executable
}

// realUV is the uv of PATH, else the one that trainyard keeps for the user.
var realUVOnce = sync.OnceValues(func() (uv, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return uv{}, err
	}
	spec := Spec{CacheDir: filepath.Join(cache, "trainyard"), Environ: os.Environ()}
	base, err := findPython(context.Background(), "", spec.Environ)
	if err != nil {
		return uv{}, err
	}
	return findUV(context.Background(), spec, base, func(Progress) {})
})

func realUV(t *testing.T) string {
	t.Helper()
	found, err := realUVOnce()
	if err != nil {
		t.Skipf("no uv to test with: %v", err)
	}
	return found.path
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

// script writes an executable shell script.
func script(t *testing.T, path, body string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// wheelFile is a pure Python wheel.
type wheelFile struct {
	name, version string
	data          []byte
}

func (w wheelFile) file() string { return fmt.Sprintf("%s-%s-py3-none-any.whl", w.name, w.version) }

func (w wheelFile) pin() string {
	return fmt.Sprintf("%s==%s --hash=sha256:%x\n", w.name, w.version, sha256.Sum256(w.data))
}

// newWheel makes a wheel; metadata is added to what every wheel has.
func newWheel(t *testing.T, name, version string, files map[string]string, metadata ...string) wheelFile {
	t.Helper()
	info := fmt.Sprintf("%s-%s.dist-info/", name, version)
	all := maps.Clone(files)
	if all == nil {
		all = map[string]string{}
	}
	all[info+"METADATA"] = strings.Join(append([]string{"Metadata-Version: 2.1", "Name: " + name, "Version: " + version}, metadata...), "\n") + "\n"
	all[info+"WHEEL"] = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
	all[info+"RECORD"] = info + "RECORD,,\n"
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, file := range slices.Sorted(maps.Keys(all)) {
		w, err := z.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(all[file])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return wheelFile{name, version, buf.Bytes()}
}

// rayWheel has the modules that are looked for in a Ray, and nothing in them.
func rayWheel(t *testing.T, version string) wheelFile {
	return newWheel(t, "ray", version, map[string]string{
		"ray/__init__.py":                                "def where():\n    raise RuntimeError\n",
		"ray/dashboard/__init__.py":                      "print('noise on stdout')\n",
		"ray/dashboard/optional_deps.py":                 "",
		"ray/train/__init__.py":                          "",
		"ray/scripts/__init__.py":                        "",
		"ray/scripts/scripts.py":                         "def main():\n    print('a ray')\nif __name__ == '__main__':\n    main()\n",
		"ray-" + version + ".dist-info/entry_points.txt": "[console_scripts]\nray = ray.scripts.scripts:main\n",
	})
}

func lockOf(wheels ...wheelFile) []byte {
	var b bytes.Buffer
	for _, w := range wheels {
		b.WriteString(w.pin())
	}
	return b.Bytes()
}

// index serves wheels by the simple repository API.
type index struct {
	server  *httptest.Server
	wheels  []wheelFile
	holding atomic.Bool
	held    chan struct{} // gets a value when a wheel is asked for while holding
	release chan struct{} // held wheels are served when this is closed
	dropped chan struct{} // closed when the client of a held request has gone
	drop    func()
}

func newIndex(t *testing.T, wheels ...wheelFile) *index {
	ix := &index{wheels: wheels, held: make(chan struct{}, 100), release: make(chan struct{}), dropped: make(chan struct{})}
	ix.drop = sync.OnceFunc(func() { close(ix.dropped) })
	ix.server = httptest.NewServer(ix)
	t.Cleanup(func() {
		ix.server.CloseClientConnections()
		ix.server.Close()
	})
	return ix
}

func (ix *index) url() string { return ix.server.URL + "/simple" }

// hold makes the index keep requests for wheels waiting.
func (ix *index) hold() { ix.holding.Store(true) }

func (ix *index) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if parts[0] == "simple" && len(parts) == 2 {
		ix.list(w, parts[1])
		return
	}
	for _, wheel := range ix.wheels {
		if wheel.file() == parts[len(parts)-1] && ix.mayServe(r) {
			http.ServeContent(w, r, wheel.file(), time.Time{}, bytes.NewReader(wheel.data))
			return
		}
	}
	http.NotFound(w, r)
}

func (ix *index) mayServe(r *http.Request) bool {
	if !ix.holding.Load() {
		return true
	}
	ix.held <- struct{}{}
	select {
	case <-ix.release:
		return true
	case <-r.Context().Done():
		ix.drop()
		return false
	}
}

func (ix *index) list(w http.ResponseWriter, name string) {
	w.Header().Set("Content-Type", "text/html")
	found := false
	for _, wheel := range ix.wheels {
		if strings.ReplaceAll(wheel.name, "_", "-") == name {
			found = true
			_, _ = fmt.Fprintf(w, `<a href="/files/%s#sha256=%x">%[1]s</a>`, wheel.file(), sha256.Sum256(wheel.data))
		}
	}
	if !found {
		w.WriteHeader(http.StatusNotFound)
	}
}

// closedPort is an address on loopback where nobody listens.
func closedPort() string {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	return server.URL
}

// mountTmpfs mounts a file system of its own, which needs privileges.
func mountTmpfs(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if err := exec.Command("umount", dir).Run(); err != nil {
			t.Errorf("umount: %v", err)
		}
	})
	return dir
}

// leftovers lists what an unfinished build left in the cache folder.
func leftovers(t *testing.T, cache string) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"*" + buildingMark + "*", "environments/*" + buildingMark + "*"} {
		dirs, err := filepath.Glob(filepath.Join(cache, pattern))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, dirs...)
	}
	return found
}

// recorder collects progress.
type recorder struct {
	mu   sync.Mutex
	seen []Progress
}

func (r *recorder) add(p Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, p)
}

func (r *recorder) texts() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var texts []string
	for _, p := range r.seen {
		if len(texts) == 0 || texts[len(texts)-1] != p.Text {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func waitFor(t *testing.T, what string, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(time.Minute):
		t.Fatalf("no %s within a minute", what)
	}
}

func remountReadOnly(t *testing.T, dir string) {
	t.Helper()
	if out, err := exec.Command("mount", "-o", "remount,ro", dir).CombinedOutput(); err != nil {
		t.Skipf("cannot remount: %v: %s", err, out)
	}
}

func isRoot() bool { return unix.Geteuid() == 0 }
