package pyenv

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/internal/fault"
)

func TestInspect(t *testing.T) {
	l := newLab(t, rayWheel(t, "2.58.0"))
	built := ensure(t, l.spec)
	env, err := Inspect(t.Context(), built.Python, l.spec.Environ)
	if err != nil {
		t.Fatal(err)
	}
	want := built
	want.Explicit = true
	if env != want {
		t.Errorf("got  %+v\nwant %+v", env, want)
	}
}

// fakeRay is source for Python that makes an interpreter believe in a Ray of a
// version with the given modules.
func fakeRay(version string, modules ...string) string {
	s := `import types; from importlib import metadata as m; ` +
		`real = m.version; m.version = lambda n: "` + version + `" if n == "ray" else real(n)`
	for _, module := range modules {
		s += `; sys.modules["` + module + `"] = types.ModuleType("` + module + `")`
	}
	return s
}

func TestInspectRefuses(t *testing.T) {
	bin := t.TempDir()
	environ := withoutUV(t, nil, bin)
	script(t, filepath.Join(bin, "hello"), "echo hello")
	script(t, filepath.Join(bin, "broken"), "echo cannot start >&2; exit 3")
	pretend(t, bin, "no-ray", fakeRay("", ""))
	pretend(t, bin, "old", fakeRay("2.51.1", "ray", "ray.dashboard.optional_deps", "ray.train"))
	pretend(t, bin, "bare", fakeRay("2.58.0", "ray"))
	pretend(t, bin, "half", fakeRay("2.58.0"))
	const install = "-m pip install 'ray[default,train]>=2.52'"
	tests := []struct {
		name string
		says []string
		hint string
	}{
		{"/no/such/python", []string{"no such file"}, "venv/bin/python"},
		{"nothing", []string{"not on PATH"}, "venv/bin/python"},
		{bin, []string{"it is a folder"}, filepath.Join(bin, "bin", "python")},
		{"hello", []string{"it is no Python 3"}, ""},
		{"broken", []string{"exit status 3: cannot start"}, ""},
		{"no-ray", []string{"it has no Ray that can be used: no package ray"}, filepath.Join(bin, "no-ray") + " " + install},
		{"old", []string{"ray 2.51.1 is too old"}, install},
		{"bare", []string{"the dashboard, of ray[default], cannot be imported", "Ray Train, of ray[train], cannot be imported"}, install},
		{"half", []string{"Ray cannot be imported: ModuleNotFoundError"}, install},
	}
	for _, test := range tests {
		t.Run(filepath.Base(test.name), func(t *testing.T) {
			_, err := Inspect(t.Context(), test.name, environ)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error does not say %q: %v", want, err)
				}
			}
			if hints := strings.Join(fault.HintsOf(err), "\n"); !strings.Contains(hints, test.hint) {
				t.Errorf("hint does not say %q: %s", test.hint, hints)
			}
		})
	}
}

func TestRayHasTokens(t *testing.T) {
	for version, want := range map[string]bool{
		"2.52.0": true, "2.58.0": true, "2.60.0rc1": true, "3.0.0.dev0": true, "10.0": true,
		"2.51.9": false, "1.99.0": false, "": false, "2": false, "two.52": false,
	} {
		if got := rayHasTokens(version); got != want {
			t.Errorf("rayHasTokens(%q) = %v", version, got)
		}
	}
}
