package pyenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/internal/fault"
)

// pretendVersion wraps the real Python so that it claims another version.
func pretendVersion(t *testing.T, bin, name, version string) {
	t.Helper()
	pretend(t, bin, name, "sys.version_info = ("+version+")")
}

func TestFindPython(t *testing.T) {
	tests := []struct {
		name     string
		pythons  map[string]string // name to version, empty where it does not run
		given    string
		want     string // version
		says     []string
		saysHint string
	}{
		{
			name:    "newest supported name first",
			pythons: map[string]string{"python3": "3,11,2", "python3.10": "3,10,1", "python3.12": "3,12,3", "python3.14": "3,14,0"}, want: "3.12.3",
		},
		{name: "python3 before python", pythons: map[string]string{"python": "3,10,4", "python3": "3,11,2"}, want: "3.11.2"},
		{name: "a shim that does not run", pythons: map[string]string{"python3.13": "", "python3": "3,11,2"}, want: "3.11.2"},
		{name: "none", says: []string{"looking for Python 3.10 to 3.13: there is none on PATH"}, saysHint: "install Python 3.13"},
		{
			name: "only others", pythons: map[string]string{"python3": "3,9,18", "python3.14": "3,14,0", "python3.12": "", "python3-config": ""},
			says:     []string{"looking for Python 3.10 to 3.13: found only ", "python3.12 (does not run)", "python3 (3.9.18)", "python3.14 (3.14.0)"},
			saysHint: "--python PATH",
		},
		{name: "given", pythons: map[string]string{"python3.13": "3,13,0", "mine": "3,10,9"}, given: "mine", want: "3.10.9"},
		{name: "given and missing", given: "mine", says: []string{`finding "mine": not on PATH`}},
		{
			name: "given and unsupported", pythons: map[string]string{"mine": "3,9,1"}, given: "mine",
			says: []string{"mine (3.9.1): unsupported"}, saysHint: "CPython 3.10 to 3.13",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bin := t.TempDir()
			for name, version := range test.pythons {
				if version == "" {
					script(t, filepath.Join(bin, name), "echo no such version >&2; exit 127")
				} else {
					pretendVersion(t, bin, name, version)
				}
			}
			p, err := findPython(t.Context(), test.given, withoutUV(t, nil, bin))
			if test.want != "" {
				if err != nil || p.Version != test.want {
					t.Fatalf("found %+v, %v; want %s", p, err, test.want)
				}
				return
			}
			if err == nil {
				t.Fatalf("found %+v", p)
			}
			for _, want := range test.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error does not say %q: %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "python3-config") {
				t.Errorf("not a Python: %v", err)
			}
			if hints := strings.Join(fault.HintsOf(err), "\n"); !strings.Contains(hints, test.saysHint) {
				t.Errorf("hint does not say %q: %s", test.saysHint, hints)
			}
		})
	}
}

func TestUnsupported(t *testing.T) {
	good := python{Version: "3.13.0", Implementation: "cpython", Bits: 64}
	tests := map[string]struct {
		change func(*python)
		want   string
	}{
		"good":          {func(*python) {}, ""},
		"python 2":      {func(p *python) { p.Version = "2.7.18" }, "version"},
		"too new":       {func(p *python) { p.Version = "3.14.0" }, "version"},
		"pypy":          {func(p *python) { p.Implementation = "pypy" }, "not CPython but pypy"},
		"free-threaded": {func(p *python) { p.FreeThreaded = true }, "free-threaded"},
		"32 bits":       {func(p *python) { p.Bits = 32 }, "32 bits"},
		"no answer":     {func(p *python) { *p = python{Implementation: "cpython"} }, "version"},
	}
	for name, test := range tests {
		p := good
		test.change(&p)
		if got := p.unsupported(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestPythonsOnPath(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	for _, path := range []string{a + "/python3", a + "/python3.9", b + "/python3.12", b + "/python", b + "/python3.12-config"} {
		script(t, path, "")
	}
	link(t, b+"/python3.12", a+"/python")
	if err := os.WriteFile(b+"/python3.13", nil, 0o644); err != nil { // not executable
		t.Fatal(err)
	}
	got := pythonsOnPath(strings.Join([]string{"relative", "", a, "/no/such/folder", b}, ":"))
	want := []string{b + "/python3.12", a + "/python3", b + "/python", a + "/python3.9"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProbeOfSomethingElse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "python3")
	script(t, path, "echo hello")
	if _, err := probe(t.Context(), path, nil); err == nil || !strings.Contains(err.Error(), "it is no Python") {
		t.Errorf("error is %v", err)
	}
}
