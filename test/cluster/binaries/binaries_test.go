package binaries

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// small is a set that is quick to build: a program of Go itself, beside a module
// that is a folder.
var small = set{
	name:     "small",
	pin:      "small",
	module:   "example.invalid/small",
	commands: map[string]string{"formatter": "cmd/gofmt"},
	files:    map[string]string{"texts": "*.txt"},
}

// pins writes the pins of small and returns their folder.
func pins(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod": "module pin\n\ngo 1.26.0\n\nrequire example.invalid/small v1.2.3\n\n" +
			"replace example.invalid/small => ./module\n",
		"go.sum":            "",
		"module/go.mod":     "module example.invalid/small\n\ngo 1.26.0\n",
		"module/hello.txt":  "hello",
		"module/ignored.md": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestOnce asks for one set several times at once: it is built once, and works.
func TestOnce(t *testing.T) {
	cache, pin := t.TempDir(), pins(t)
	var mu sync.Mutex
	var lines []string
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			dir, err := small.ensure(t.Context(), cache, pin, func(line string) {
				mu.Lock()
				defer mu.Unlock()
				lines = append(lines, line)
			})
			if err != nil {
				t.Error(err)
				return
			}
			if !strings.HasPrefix(filepath.Base(dir), "small-v1.2.3-") {
				t.Errorf("the folder %s does not say the version", dir)
			}
			if out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "formatter"), "-h").CombinedOutput(); !strings.Contains(string(out), "usage") {
				t.Errorf("running what was built: %v\n%s", err, out)
			}
			if texts, err := os.ReadDir(filepath.Join(dir, "texts")); len(texts) != 1 {
				t.Errorf("copied %v (%v), want hello.txt", texts, err)
			}
		})
	}
	all.Wait()
	lines = slices.DeleteFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "building") })
	if len(lines) != 1 {
		t.Errorf("built %d times: %q", len(lines), lines)
	}
}

// TestAbsent builds what cannot be built: nothing of it is in the cache.
func TestAbsent(t *testing.T) {
	broken := small
	broken.commands = map[string]string{"formatter": "cmd/gofmt", "none": "cmd/none"}
	cache := t.TempDir()
	if _, err := broken.ensure(t.Context(), cache, pins(t), func(line string) { t.Log(line) }); err == nil {
		t.Error("a command that does not exist was built")
	}
	entries, err := filepath.Glob(filepath.Join(cache, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry, ".lock") {
			t.Errorf("%s is left", entry)
		}
	}
}

// TestKey changes the pins: what was built from others is not taken for it.
func TestKey(t *testing.T) {
	pin := pins(t)
	_, before, err := small.key(pin)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(pin, "go.sum"), []byte("\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, after, err := small.key(pin); err != nil || after == before {
		t.Errorf("key is %s before and %s after a change (%v)", before, after, err)
	}
}
