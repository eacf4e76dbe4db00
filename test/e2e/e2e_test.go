// Package e2e holds scripts of the whole program against a real Ray. Each reads
// like a session at a terminal, and begins with what it shows:
//
//	testdata/kept      share the cluster that test/withray keeps, in turns
//	testdata/clusters  start and end clusters of their own
//	testdata/plain     need none
//
//	testdata/kubernetes  a real control plane; the pods are played, Ray is not
//	testdata/nodes       real kubelets, with a real Ray in their pods
//
// The language is that of testscript, whose documentation lists its commands;
// commands_test.go documents those that are ours. A script runs in an empty
// folder, with home and state folder of its own, no GPUs, the user's cache
// folder, where the Python environment is, and the user's ways to a package
// index. Whatever the script does, nothing of it may be left at its end: no
// process, no folder of Ray's, no object in shared memory.
//
//	go run ./test/withray -- go test ./test/e2e -run TestScripts/kept/detach -v
package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/trainyard/trainyard/internal/cli"
	"github.com/trainyard/trainyard/internal/target/local"
	"github.com/trainyard/trainyard/test/leftover"
)

// TestMain lets this program be trainyard where it is called by one of its names,
// so that scripts run the code that is tested.
func TestMain(m *testing.M) {
	run := func() { os.Exit(int(cli.Main(os.Args[1:]))) }
	testscript.Main(m, map[string]func(){
		"trainyard":         run,
		"kubectl-trainyard": run,
	})
}

func TestScripts(t *testing.T) {
	keptState := os.Getenv("TRAINYARD_TEST_STATE")
	if keptState == "" {
		t.Skip("needs a Ray: go run ./test/withray -- go test ./test/e2e")
	}
	for _, group := range []struct{ name, state string }{{"plain", ""}, {"kept", keptState}, {"clusters", ""}} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			s := newSurroundings(t)
			s.state = group.state
			runScripts(t, group.name, func(_ *testing.T, env *testscript.Env) error { return s.setup(env) })
		})
	}
}

// runScripts runs the scripts in a folder of testdata, one after the other.
func runScripts(t *testing.T, folder string, setup func(*testing.T, *testscript.Env) error) {
	testscript.RunT(inTurn{t}, testscript.Params{
		Dir:   filepath.Join("testdata", folder),
		Setup: func(env *testscript.Env) error { return setup(env.T().(inTurn).T, env) },
		Cmds:  commands(),

		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// inTurn runs a group's scripts one after the other; testscript would run all
// of them at once.
type inTurn struct{ *testing.T }

func (t inTurn) Parallel()     {}
func (t inTurn) Verbose() bool { return testing.Verbose() }

func (t inTurn) Run(name string, f func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { f(inTurn{t}) })
}

// surroundings are what all scripts of a group find.
type surroundings struct {
	python string // interpreter with Ray
	cache  string // the user's cache folder
	bin    string // the folder with trainyard
	root   string // of the repository
	state  string // the group's state folder; empty: each script has its own
}

func newSurroundings(t *testing.T) surroundings {
	t.Helper()
	trainyard, err := exec.LookPath("trainyard")
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return surroundings{python: os.Getenv("TRAINYARD_TEST_PYTHON"), cache: cache, bin: filepath.Dir(trainyard), root: root}
}

// setup gives a script its surroundings, and looks after its end for what it
// left.
func (s surroundings) setup(env *testscript.Env) error {
	outside, err := tempDir(env, "") // of the script's working folder, which gets packed
	if err != nil {
		return err
	}
	short, err := tempDir(env, "/tmp") // for Ray, whose sockets lie deep below it
	if err != nil {
		return err
	}
	for _, name := range []string{"home", "tmp", "output"} {
		if err := os.Mkdir(filepath.Join(outside, name), 0o700); err != nil {
			return err
		}
	}
	state := s.state
	if state == "" {
		state = filepath.Join(outside, "state")
	}
	mark := "TRAINYARD_TEST_SCRIPT=" + filepath.Base(outside)
	env.Vars = append(env.Vars,
		"HOME="+filepath.Join(outside, "home"), "TMPDIR="+filepath.Join(outside, "tmp"),
		"XDG_STATE_HOME="+state, "XDG_CACHE_HOME="+s.cache, "CUDA_VISIBLE_DEVICES=",
		"BIN="+s.bin, "PYTHON="+s.python, "ROOT="+s.root, "SHORT="+short, mark,
		"RAY_TOKEN="+os.Getenv("TRAINYARD_TEST_RAY_TOKEN"),
	)
	env.Vars = append(env.Vars, slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return !reachesIndex.MatchString(variable)
	})...)
	env.Values[programsKey{}] = &programs{dir: filepath.Join(outside, "output"), byName: map[string]*program{}}
	return s.watch(env, state, mark)
}

// reachesIndex are the variables that say how a package index is reached.
var reachesIndex = regexp.MustCompile(`(?i)^(https?_proxy|no_proxy|ssl_cert_file|ssl_cert_dir|uv_\w+|pip_\w+)=`)

// tempDir makes a folder in dir that goes when the script has ended.
func tempDir(env *testscript.Env, dir string) (string, error) {
	made, err := os.MkdirTemp(dir, "trainyard-e2e-")
	if err != nil {
		return "", err
	}
	env.Defer(func() {
		if err := os.RemoveAll(made); err != nil {
			env.T().Log(err)
		}
	})
	return made, nil
}

// watch makes a script fail that leaves something. The kept cluster, which is
// there before and after, is not the script's.
func (s surroundings) watch(env *testscript.Env, state, mark string) error {
	store := local.Store{Dir: local.Dir(context.Background(), state)}
	if s.state != "" {
		store.Dir = filepath.Join(state, "nowhere")
	}
	w, err := leftover.Begin(store, mark)
	if err != nil {
		return err
	}
	env.Values[watchKey{}] = w
	if s.state != "" {
		env.Defer(func() { s.giveBack(env) })
	}
	env.Defer(func() {
		left, err := w.Left(true)
		if endErr := w.End(context.Background()); endErr != nil {
			env.T().Log(endErr)
		}
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("left by the script:\n  %s", strings.Join(left, "\n  "))
		}
		if err != nil {
			env.T().Fatal(err)
		}
	})
	return nil
}

type watchKey struct{}

// giveBack stops the job of a script that failed, so that the next script
// finds the kept cluster free.
func (s surroundings) giveBack(env *testscript.Env) {
	if _, err := os.Stat(filepath.Join(env.WorkDir, ".trainyard")); err != nil {
		return
	}
	stop := exec.Command(filepath.Join(s.bin, "trainyard"), "stop")
	stop.Dir, stop.Env = env.WorkDir, env.Vars
	if out, err := stop.CombinedOutput(); err != nil {
		env.T().Log(fmt.Sprintf("trainyard stop: %v\n%s", err, out))
	}
}
