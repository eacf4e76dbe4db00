package pyenv

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/internal/fault"
)

func ensure(t *testing.T, spec Spec) Env {
	t.Helper()
	env, err := Ensure(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func TestEnsureBuildsOnceAndReuses(t *testing.T) {
	l := newLab(t, rayWheel(t, "2.58.0"), newWheel(t, "torch", "2.13.0", map[string]string{"torch.py": "raise ImportError"}))
	var progress recorder
	built, err := Ensure(t.Context(), l.spec, progress.add)
	if err != nil {
		t.Fatal(err)
	}
	if built.Reused || built.Explicit || built.RayVersion != "2.58.0" || built.TorchVersion != "2.13.0" ||
		built.TransformersVersion != "" || !strings.HasPrefix(built.PythonVersion, "3.") {
		t.Errorf("built %+v", built)
	}
	for _, step := range []string{
		"looking for Python", "creating environment", "resolving packages", "fetching packages",
		"installing packages", "compiling bytecode", "checking Ray",
	} {
		if !strings.Contains(progress.texts(), step) {
			t.Errorf("progress has no %q:\n%s", step, progress.texts())
		}
	}
	if left := leftovers(t, l.spec.CacheDir); left != nil {
		t.Errorf("left behind: %q", left)
	}

	// Neither Python, uv nor an index is at hand: the second time needs none.
	l.index.server.Close()
	l.spec.Environ = []string{"PATH=" + t.TempDir()}
	reused := ensure(t, l.spec)
	built.Reused = true
	if diff := cmp.Diff(built, reused); diff != "" {
		t.Errorf("reused another environment (-built +reused):\n%s", diff)
	}
}

// An environment is renamed after it was made: everything in it must work from
// its final place, with bytecode that was compiled in the other.
func TestEnvironmentWorksWhereItIs(t *testing.T) {
	env := ensure(t, newLab(t, rayWheel(t, "2.58.0")).spec)
	const traceback = `import ray, sys, traceback
print(sys.prefix)
try: ray.where()
except RuntimeError as e: print(traceback.extract_tb(e.__traceback__)[-1].filename)
print(ray.__spec__.cached)`
	out := outputOf(t, env.Python, "-B", "-c", traceback)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if lines[0] != env.Dir || !strings.HasPrefix(lines[1], env.Dir+"/") {
		t.Errorf("prefix and traceback are elsewhere:\n%s", out)
	}
	if _, err := os.Stat(lines[2]); err != nil {
		t.Errorf("bytecode is not compiled: %v", err)
	}
	for _, argv := range [][]string{
		{filepath.Join(env.Dir, "bin", "ray")},
		{env.Python, "-m", "ray.scripts.scripts"},
	} {
		if out := outputOf(t, argv...); out != "a ray\n" {
			t.Errorf("%q prints %q", argv, out)
		}
	}
}

func outputOf(t *testing.T, argv ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", argv, err, out)
	}
	return string(out)
}

func TestChangedLockIsAnotherEnvironment(t *testing.T) {
	l := newLab(t, rayWheel(t, "2.58.0"), rayWheel(t, "2.59.0"))
	l.spec.Lock = lockOf(l.index.wheels[0])
	first := ensure(t, l.spec)
	l.spec.Lock = lockOf(l.index.wheels[1])
	second := ensure(t, l.spec)
	if second.Dir == first.Dir || second.RayVersion != "2.59.0" {
		t.Errorf("first %+v\nsecond %+v", first, second)
	}
	if _, err := os.Stat(first.Python); err != nil {
		t.Errorf("the first environment is gone: %v", err)
	}
}

func TestEnsureReplacesBrokenEnvironment(t *testing.T) {
	l := newLab(t, rayWheel(t, "2.58.0"))
	breakages := map[string]func(Env) error{
		"metadata is garbage": func(e Env) error {
			return os.WriteFile(filepath.Join(e.Dir, metadataFile), []byte("{"), 0o644)
		},
		"metadata is missing": func(e Env) error { return os.Remove(filepath.Join(e.Dir, metadataFile)) },
		"base Python was uninstalled": func(e Env) error {
			return errors.Join(os.Remove(e.Python), os.Symlink("/nowhere/python3", e.Python))
		},
	}
	for name, breakIt := range breakages {
		t.Run(name, func(t *testing.T) {
			env := ensure(t, l.spec)
			if err := breakIt(env); err != nil {
				t.Fatal(err)
			}
			if again := ensure(t, l.spec); again.Reused || again.Dir != env.Dir {
				t.Errorf("not built again: %+v", again)
			}
			if left := leftovers(t, l.spec.CacheDir); left != nil {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestTwoAtOnce(t *testing.T) {
	l := newLab(t, rayWheel(t, "2.58.0"))
	l.index.hold()
	waiting := make(chan struct{})
	var wg sync.WaitGroup
	var envs [2]Env
	var errs [2]error
	wg.Go(func() { envs[0], errs[0] = Ensure(t.Context(), l.spec, nil) })
	waitFor(t, "request for a wheel", l.index.held)
	wg.Go(func() {
		envs[1], errs[1] = Ensure(t.Context(), l.spec, func(p Progress) {
			if strings.HasPrefix(p.Text, "waiting for another") {
				close(waiting)
			}
		})
	})
	waitFor(t, "word of waiting", waiting)
	close(l.index.release)
	wg.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	if envs[0].Reused || !envs[1].Reused || envs[0].Dir != envs[1].Dir {
		t.Errorf("first %+v\nsecond %+v", envs[0], envs[1])
	}
}

func TestCancelRemovesBuild(t *testing.T) {
	l := newLab(t, rayWheel(t, "2.58.0"))
	l.index.hold()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-l.index.held
		cancel()
	}()
	_, err := Ensure(ctx, l.spec, nil)
	if !errors.Is(err, context.Canceled) || fault.CodeOf(err) != fault.Interrupted {
		t.Errorf("error is %v", err)
	}
	waitFor(t, "end of uv", l.index.dropped)
	if left := leftovers(t, l.spec.CacheDir); left != nil {
		t.Errorf("left behind: %q", left)
	}
	if envs, _ := filepath.Glob(filepath.Join(l.spec.CacheDir, "environments", "*", metadataFile)); envs != nil {
		t.Errorf("looks finished: %q", envs)
	}
}

// specVariable makes the test binary build the environment of a Spec instead
// of running tests, so that there is a process to kill.
const specVariable = "PYENV_TEST_SPEC"

func TestMain(m *testing.M) {
	raw := os.Getenv(specVariable)
	if raw == "" {
		os.Exit(m.Run())
	}
	var spec Spec
	if err := json.Unmarshal([]byte(raw), &spec); err != nil {
		panic(err)
	}
	if _, err := Ensure(context.Background(), spec, nil); err != nil {
		panic(err)
	}
	os.Exit(0)
}

func TestKilledBuildIsNotThere(t *testing.T) {
	l := newLab(t, rayWheel(t, "2.58.0"))
	l.index.hold()
	raw, err := json.Marshal(l.spec)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), specVariable+"="+string(raw))
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "request for a wheel", l.index.held)
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	if left := leftovers(t, l.spec.CacheDir); len(left) != 1 {
		t.Fatalf("the killed build left %q, so this test sees nothing", left)
	}
	if tiesChildren {
		waitFor(t, "end of uv", l.index.dropped)
	}
	close(l.index.release)
	if env := ensure(t, l.spec); env.Reused {
		t.Errorf("the killed build was reused: %+v", env)
	}
	if left := leftovers(t, l.spec.CacheDir); left != nil {
		t.Errorf("left behind: %q", left)
	}
}

func TestSweepSparesWhatIsBeingBuilt(t *testing.T) {
	s := store{t.TempDir()}
	for _, dir := range []string{"dead-py3.11.building-1", "alive-py3.11.building-1", "mine.building-1", "whole-py3.11"} {
		if err := os.MkdirAll(filepath.Join(s.dir, dir, "lib"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	alive, err := s.lock(t.Context(), "alive-py3.11", func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Unlock() //nolint:errcheck // the test ends
	if err := s.sweep("mine"); err != nil {
		t.Fatal(err)
	}
	dirs, err := filepath.Glob(filepath.Join(s.dir, "*", "lib"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(s.dir, "alive-py3.11.building-1", "lib"), filepath.Join(s.dir, "whole-py3.11", "lib")}
	if diff := cmp.Diff(want, dirs); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

func TestTorchIndexReplacesTorchAlone(t *testing.T) {
	ray := rayWheel(t, "2.58.0")
	sympy := newWheel(t, "sympy", "1.14.0", nil)
	l := newLab(t, ray, sympy,
		newWheel(t, "torch", "2.13.0", nil, "Requires-Dist: sympy", "Requires-Dist: nvidia-cublas"),
		newWheel(t, "nvidia_cublas", "13.1", nil),
		newWheel(t, "accelerate", "1.0", nil, "Requires-Dist: torch"))
	other := newIndex(t,
		newWheel(t, "torch", "2.13.0+cpu", nil, "Requires-Dist: sympy", "Requires-Dist: extra-of-torch"),
		newWheel(t, "torch", "2.14.0+cpu", nil),
		newWheel(t, "extra_of_torch", "1.0", nil),
		newWheel(t, "sympy", "9.9", nil))
	l.spec.TorchIndex = strings.Replace(other.url(), "http://", "http://user:canary@", 1)
	var progress recorder
	env, err := Ensure(t.Context(), l.spec, progress.add)
	if err != nil {
		t.Fatal(err)
	}
	if env.TorchVersion != "2.13.0+cpu" {
		t.Errorf("torch is %q", env.TorchVersion)
	}
	infos, _ := filepath.Glob(filepath.Join(env.Dir, "lib", "*", "site-packages", "*.dist-info"))
	var installed []string
	for _, info := range infos {
		installed = append(installed, strings.TrimSuffix(filepath.Base(info), ".dist-info"))
	}
	want := []string{"accelerate-1.0", "extra_of_torch-1.0", "ray-2.58.0", "sympy-1.14.0", "torch-2.13.0+cpu"}
	if diff := cmp.Diff(want, installed); diff != "" {
		t.Errorf("installed (-want +got):\n%s", diff)
	}
	if !strings.Contains(progress.texts(), "installing torch 2.13.0 from http://127.0.0.1") {
		t.Errorf("progress does not say where torch is from:\n%s", progress.texts())
	}
	data, err := os.ReadFile(filepath.Join(env.Dir, metadataFile))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(progress.texts()+string(data), "canary") {
		t.Errorf("the password of the index is shown:\n%s\n%s", progress.texts(), data)
	}
	l.spec.TorchIndex = ""
	if again := ensure(t, l.spec); again.Dir == env.Dir || again.TorchVersion != "2.13.0" {
		t.Errorf("without the index: %+v", again)
	}
}

func BenchmarkReuse(b *testing.B) {
	spec := Spec{Lock: make([]byte, 300_000), CacheDir: b.TempDir()}
	key := spec.key(supportedMinors[len(supportedMinors)-1])
	dir := spec.dir(key)
	if err := errors.Join(os.MkdirAll(filepath.Dir(interpreter(dir)), 0o755), os.Symlink("/bin/sh", interpreter(dir)),
		writeMetadata(dir, metadata{Schema: metadataSchema, Key: key})); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if env, err := Ensure(b.Context(), spec, nil); err != nil || !env.Reused {
			b.Fatal(env, err)
		}
	}
}
