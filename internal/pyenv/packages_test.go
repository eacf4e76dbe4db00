package pyenv

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/internal/fault"
)

// packagesLab has an environment with Ray and a PyTorch that may not be
// fetched again, and an index with more.
func packagesLab(t *testing.T) (lab, Env) {
	t.Helper()
	ray := rayWheel(t, "2.58.0")
	torch := newWheel(t, "torch", "2.13.0", map[string]string{"torch.py": ""})
	numpy := newWheel(t, "numpy", "2.4.6", map[string]string{"numpy.py": "version = '2.4.6'"})
	l := newLab(t, ray, torch, numpy)
	env := ensure(t, l.spec)
	l.index.wheels = []wheelFile{
		ray, newWheel(t, "torch", "2.13.0", nil, "Requires-Dist: not-there"), rayWheel(t, "2.59.0"), numpy,
		newWheel(t, "numpy", "1.26.4", map[string]string{"numpy.py": "version = '1.26.4'"}),
		newWheel(t, "einops", "0.8.2", map[string]string{"einops.py": "name = 'einops'"}, "Requires-Dist: torch>=2"),
		newWheel(t, "launcher", "1.0", map[string]string{
			"launcher.py": "import sys, einops\ndef main():\n    print('launched by', sys.executable, 'with', einops.name)\n",
			"launcher-1.0.dist-info/entry_points.txt": "[console_scripts]\nlaunch = launcher:main\n",
		}, "Requires-Dist: einops"),
		newWheel(t, "with_ray", "1.0", nil, "Requires-Dist: ray==2.59.0"),
	}
	return l, env
}

func ensurePackages(t *testing.T, l lab, env Env, requirements ...string) string {
	t.Helper()
	dir, err := EnsurePackages(t.Context(), l.spec, env, requirements, nil)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// python runs a statement with dir on its path.
func pythonWith(t *testing.T, env Env, dir, statement string) string {
	t.Helper()
	return strings.TrimSpace(outputOf(t, "env", "PYTHONPATH="+dir, env.Python, "-c", statement))
}

// installed lists the packages of a folder.
func installed(t *testing.T, dir string) []string {
	t.Helper()
	infos, err := filepath.Glob(filepath.Join(dir, "*.dist-info"))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, info := range infos {
		names = append(names, strings.TrimSuffix(filepath.Base(info), ".dist-info"))
	}
	return names
}

func TestPackagesInstallsWhatIsLacking(t *testing.T) {
	l, env := packagesLab(t)
	var progress recorder
	dir, err := EnsurePackages(t.Context(), l.spec, env, []string{"launcher", "ray>=2.50"}, progress.add)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"einops-0.8.2", "launcher-1.0"}, installed(t, dir)); diff != "" {
		t.Errorf("installed (-want +got):\n%s", diff)
	}
	for _, step := range []string{"resolving packages", "installing packages", "compiling bytecode"} {
		if !strings.Contains(progress.texts(), step) {
			t.Errorf("progress has no %q:\n%s", step, progress.texts())
		}
	}
	if compiled, _ := filepath.Glob(filepath.Join(dir, "__pycache__", "einops.*.pyc")); compiled == nil {
		t.Error("bytecode is not compiled")
	}
	if left := leftovers(t, l.spec.CacheDir); left != nil {
		t.Errorf("left behind: %q", left)
	}

	// A program of a package runs with the environment's Python.
	out := outputOf(t, "env", "PYTHONPATH="+dir, filepath.Join(dir, "bin", "launch"))
	if want := "launched by " + env.Python + " with einops\n"; out != want {
		t.Errorf("launch prints %q, want %q", out, want)
	}

	// The second time needs no index.
	l.index.server.Close()
	if again := ensurePackages(t, l, env, "launcher", "ray>=2.50"); again != dir {
		t.Errorf("installed again: %q and %q", dir, again)
	}
}

func TestPackagesReplacesWhatDoesNotFit(t *testing.T) {
	l, env := packagesLab(t)
	dir := ensurePackages(t, l, env, "numpy<2")
	if diff := cmp.Diff([]string{"numpy-1.26.4"}, installed(t, dir)); diff != "" {
		t.Errorf("installed (-want +got):\n%s", diff)
	}
	const which = "import numpy; print(numpy.version)"
	if got := pythonWith(t, env, dir, which); got != "1.26.4" {
		t.Errorf("the job gets numpy %s", got)
	}
	if got := pythonWith(t, env, "", which); got != "2.4.6" {
		t.Errorf("the environment has numpy %s now", got)
	}
}

func TestPackagesWithNothingLacking(t *testing.T) {
	l, env := packagesLab(t)
	for _, requirements := range [][]string{nil, {"torch"}, {"numpy>=2", "einops; python_version < '3'"}} {
		if dir := ensurePackages(t, l, env, requirements...); dir != "" {
			t.Errorf("%q: made %q", requirements, dir)
		}
	}
}

// An interpreter of the user's own gets packages meanwhile.
func TestPackagesLooksAtTheEnvironment(t *testing.T) {
	l, env := packagesLab(t)
	before := ensurePackages(t, l, env, "launcher")
	uv := realUV(t)
	c := command{argv: []string{uv, "pip", "install", "--python", env.Python, "einops"}, env: uvEnviron(l.spec.Environ)}
	if _, err := c.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := ensurePackages(t, l, env, "launcher")
	if diff := cmp.Diff([]string{"launcher-1.0"}, installed(t, after)); after == before || diff != "" {
		t.Errorf("with einops in the environment (-want +got):\n%s", diff)
	}
}

// backend builds a wheel without any help.
const backend = `import os, zipfile
def build_wheel(folder, config_settings=None, metadata_directory=None):
    name = "mine-0.1-py3-none-any.whl"
    info = "mine-0.1.dist-info/"
    files = {
        "mine.py": open("code/mine.py").read(),
        info + "METADATA": "Metadata-Version: 2.1\nName: mine\nVersion: 0.1\nProvides-Extra: more\nRequires-Dist: einops; extra == 'more'\n",
        info + "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        info + "RECORD": "",
    }
    with zipfile.ZipFile(os.path.join(folder, name), "w") as z:
        for name_, text in files.items():
            z.writestr(name_, text)
    return name
`

const project = `[project]
name = "mine"
version = "0.1"
[project.optional-dependencies]
more = ["einops"]
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
`

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestPackagesFromFolder(t *testing.T) {
	l, env := packagesLab(t)
	here := t.TempDir()
	t.Chdir(here)
	write(t, "my project/pyproject.toml", project)
	write(t, "my project/backend.py", backend)
	write(t, "my project/code/mine.py", "text = 'first'")
	const say = "import mine; print(mine.text)"
	first := ensurePackages(t, l, env, "./my project[more]; python_version > '3'")
	if got := pythonWith(t, env, first, say); got != "first" {
		t.Errorf("mine says %q", got)
	}
	if diff := cmp.Diff([]string{"einops-0.8.2", "mine-0.1"}, installed(t, first)); diff != "" {
		t.Errorf("installed (-want +got):\n%s", diff)
	}

	write(t, "my project/.git/index", "commits are no code")
	write(t, "my project/.venv/pyvenv.cfg", "")
	write(t, "my project/env/pyvenv.cfg", "")
	write(t, "my project/code/__pycache__/mine.pyc", "")
	if again := ensurePackages(t, l, env, "./my project[more]; python_version > '3'"); again != first {
		t.Error("an unchanged folder was installed again")
	}

	// Neither metadata nor length of the file changes.
	write(t, "my project/code/mine.py", "text = 'other'")
	second := ensurePackages(t, l, env, "./my project[more]; python_version > '3'")
	if got := pythonWith(t, env, second, say); got != "other" {
		t.Errorf("after the change mine says %q", got)
	}
	if got := pythonWith(t, env, first, say); got != "first" {
		t.Errorf("the folder of a run that may go on was changed: mine says %q", got)
	}
}

func TestPackagesFromWheel(t *testing.T) {
	l, env := packagesLab(t)
	dir := t.TempDir()
	t.Chdir(dir)
	const name = "mine-1-py3-none-any.whl"
	folders := map[string]string{}
	for _, text := range []string{"first", "other"} {
		wheel := newWheel(t, "mine", "1", map[string]string{"mine.py": fmt.Sprintf("text = %q", text)})
		write(t, name, string(wheel.data))
		for _, requirement := range []string{name, "mine @ ./" + name, "mine @ file:" + name, "file://" + filepath.Join(dir, name)} {
			folder := ensurePackages(t, l, env, requirement)
			if got := pythonWith(t, env, folder, "import mine; print(mine.text)"); got != text {
				t.Errorf("%q: mine says %q, want %q", requirement, got, text)
			}
			folders[requirement+text] = folder
		}
	}
	if folders[name+"other"] != folders["file://"+filepath.Join(dir, name)+"other"] {
		t.Errorf("the same wheel was installed twice: %q", folders)
	}
}

func TestPackagesFromURLWithPassword(t *testing.T) {
	l, env := packagesLab(t)
	files := http.FileServer(http.Dir(t.TempDir()))
	wheel := newWheel(t, "mine", "1", nil)
	guarded := newIndex(t)
	guarded.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "me" || password != "canary" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if strings.HasSuffix(r.URL.Path, wheel.file()) {
			_, _ = w.Write(wheel.data)
			return
		}
		files.ServeHTTP(w, r)
	})
	url := strings.Replace(guarded.server.URL, "//", "//me:canary@", 1) + "/" + wheel.file()
	var progress recorder
	dir, err := EnsurePackages(t.Context(), l.spec, env, []string{"mine @ " + url}, progress.add)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"mine-1"}, installed(t, dir)); diff != "" {
		t.Errorf("installed (-want +got):\n%s", diff)
	}
	if strings.Contains(progress.texts(), "canary") {
		t.Errorf("the password is shown:\n%s", progress.texts())
	}
}

func TestPackagesRefused(t *testing.T) {
	l, env := packagesLab(t)
	l.spec.CacheDir = filepath.Join(t.TempDir(), "cache")
	here := t.TempDir()
	t.Chdir(here)
	tests := []struct{ requirement, says, advises string }{
		{"-r requirements.txt", `reading package "-r requirements.txt": it is an option`, "by itself"},
		{"--index-url=x", "it is an option", ""},
		{"./nowhere", `no such file or folder: "` + here + `/nowhere"`, ""},
		{"mine @ file:nowhere", `no such file or folder: "` + here + `/nowhere"`, ""},
		{"gone-1-py3-none-any.whl", "no such file or folder", ""},
		{"two words", "resolving packages: Failed to parse: `two words`: Expected one of", "datasets>=4,<5"},
		{"ray==2.59.0", "would replace Ray", "--python PATH"},
		{"with-ray", "would replace Ray", "--python PATH"},
	}
	for _, test := range tests {
		_, err := EnsurePackages(t.Context(), l.spec, env, []string{test.requirement}, nil)
		wantFailure(t, l.spec, err, []string{test.says}, []string{test.advises})
		if fault.CodeOf(err) != fault.Usage {
			t.Errorf("%q: code %d, want a usage error", test.requirement, fault.CodeOf(err))
		}
	}
	err := CheckRequirements([]string{"-e .", "einops", "./nowhere"})
	if err == nil || !strings.Contains(err.Error(), "-e .") || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("not all problems are reported: %v", err)
	}
}

func TestPackagesFails(t *testing.T) {
	l, env := packagesLab(t)
	broken := t.TempDir()
	write(t, filepath.Join(broken, "pyproject.toml"), project)
	write(t, filepath.Join(broken, "backend.py"), "def build_wheel(*args):\n    raise RuntimeError('my reason')\n")
	closed := "UV_DEFAULT_INDEX=" + closedPort() + "/simple"
	tests := []struct{ name, requirement, environ, says, advises string }{
		{"unknown package", "no-such-package", "", "resolving packages: No solution found when resolving dependencies: Because no-such-package was not found", "check the names"},
		{"no version fits", "einops>=9", "", "is available and you require einops>=9", "check the names"},
		{"no network", "einops", closed, "resolving packages: reaching 127.0.0.1:", "HTTPS_PROXY"},
		{"offline", "einops", "UV_OFFLINE=1", "uv is told to stay offline", "UV_OFFLINE"},
		{"build fails", broken, "", "installing packages: Failed to build", "build the package by itself"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec := l.spec
			spec.Environ = append(spec.Environ[:len(spec.Environ):len(spec.Environ)], test.environ, "UV_CACHE_DIR="+t.TempDir())
			_, err := EnsurePackages(t.Context(), spec, env, []string{test.requirement}, nil)
			wantFailure(t, spec, err, []string{test.says}, []string{test.advises})
			if test.name == "build fails" && !strings.HasSuffix(err.Error(), ": RuntimeError: my reason") {
				t.Errorf("the error does not end with the build's: %v", err)
			}
		})
	}
}

func TestPackagesOnFullDisk(t *testing.T) {
	l, env := packagesLab(t)
	big := newWheel(t, "big", "1", map[string]string{"data.bin": noise(4 << 20)})
	l.index.wheels = append(l.index.wheels, big)
	l.spec.CacheDir = filepath.Join(mountTmpfs(t, "size=2m"), "cache")
	_, err := EnsurePackages(t.Context(), l.spec, env, []string{"big"}, nil)
	wantFailure(t, l.spec, err, []string{"installing packages: disk is full"}, []string{filepath.Join(l.spec.CacheDir, "packages"), "XDG_CACHE_HOME"})
}

func TestPackagesTwiceAtOnce(t *testing.T) {
	l, env := packagesLab(t)
	var wg sync.WaitGroup
	var dirs [2]string
	var errs [2]error
	for i := range dirs {
		wg.Go(func() { dirs[i], errs[i] = EnsurePackages(t.Context(), l.spec, env, []string{"launcher"}, nil) })
	}
	wg.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	if dirs[0] != dirs[1] || len(installed(t, dirs[0])) != 2 {
		t.Errorf("made %q with %q", dirs, installed(t, dirs[0]))
	}
	if left := leftovers(t, l.spec.CacheDir); left != nil {
		t.Errorf("left behind: %q", left)
	}
}

func TestCancelledPackagesLeaveNothing(t *testing.T) {
	l, env := packagesLab(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := EnsurePackages(ctx, l.spec, env, []string{"launcher"}, func(p Progress) {
		if p.Text == "installing packages" {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || fault.CodeOf(err) != fault.Interrupted {
		t.Errorf("error is %v", err)
	}
	left, err := filepath.Glob(filepath.Join(l.spec.CacheDir, "packages", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range left {
		if filepath.Ext(path) != ".lock" {
			t.Errorf("left behind: %q", path)
		}
	}
	if len(left) == 0 {
		t.Error("nothing was begun, so this test sees nothing")
	}
}

// The lines are what uv 0.13 and uv 0.6 write.
func TestPlan(t *testing.T) {
	const lines = `Using Python 3.11.7 environment at: /venv
Resolved 5 packages in 272ms
Would download 3 packages
Would uninstall 1 package
Would install 5 packages
 + einops==0.8.2
 + mine @ file:///tmp/my%20project
 + other==0.1 (from git+https://****@packages.example/other@0a1b)
 - packaging==26.4
 + packaging==23.2
 ~ same==1.0
warning: The package does not have an extra`
	var p plan
	for line := range strings.Lines(lines) {
		p.line(strings.TrimRight(line, "\n"))
	}
	requests := []request{{text: "einops"}, {text: "git+https://me:canary@packages.example/other@main"}}
	got, err := p.packages(requests)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"einops==0.8.2", "mine @ file:///tmp/my%20project",
		"other @ git+https://me:canary@packages.example/other@0a1b", "packaging==23.2", "same==1.0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p.announced++
	if _, err := p.packages(nil); err == nil {
		t.Error("a package that was announced and not understood is left out")
	}
}

func TestParseRequest(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	write(t, "lib/x", "")
	write(t, "b+1.whl", "")
	for text, want := range map[string]request{
		"einops": {text: "einops"},
		" datasets[audio]>=4,<5 ; sys_platform == 'linux/gnu'": {text: "datasets[audio]>=4,<5 ; sys_platform == 'linux/gnu'"},
		"x @ https://h/x.whl":           {text: "x @ https://h/x.whl"},
		"https://h/x.whl":               {text: "https://h/x.whl"},
		"git+ssh://git@h/x@main":        {text: "git+ssh://git@h/x@main"},
		".":                             {"file://" + here, here, filepath.Base(here)},
		"lib/":                          {"file://" + here + "/lib", here + "/lib", "lib"},
		"./lib[a,b] ; os_name == 'nt'":  {"file://" + here + "/lib[a,b] ; os_name == 'nt'", here + "/lib", "lib[a,b] ; os_name == 'nt'"},
		"b+1.whl":                       {"file://" + here + "/b+1.whl", here + "/b+1.whl", "b+1.whl"},
		"b[x] @ b+1.whl":                {"b[x] @ file://" + here + "/b+1.whl", here + "/b+1.whl", "b[x] @ b+1.whl"},
		"b @ file:b+1.whl#sha256=00":    {"b @ file://" + here + "/b+1.whl#sha256=00", here + "/b+1.whl", "b @ b+1.whl#sha256=00"},
		"file://" + here + "/b%2B1.whl": {"file://" + here + "/b+1.whl", here + "/b+1.whl", "b+1.whl"},
	} {
		if want.path == "" {
			want.label = want.text
		}
		got, err := parseRequest(strings.TrimSpace(text))
		if err != nil || got != want {
			t.Errorf("parseRequest(%q) = %+v, %v, want %+v", text, got, err, want)
		}
	}
}
