// Withray runs a command beside a Ray cluster that lives as long as the command
// does. Tests that need a Ray, or a Python with Ray, are run by it:
//
//	go run ./test/withray -- go test ./internal/rayjob ./internal/target/...
//
// It finds or builds the environment of trainyard train, starts a head and two
// nodes of one worker each, and says where they are by the variables that the
// tests read:
//
//	TRAINYARD_TEST_PYTHON       an interpreter that has Ray
//	TRAINYARD_TEST_RAY_ADDRESS  URL of the cluster's dashboard
//	TRAINYARD_TEST_RAY_TOKEN    its token
//	TRAINYARD_TEST_STATE        a state folder (XDG_STATE_HOME) in which the
//	                            cluster waits for the next train --keep
//
// Whatever becomes of the command, also on Ctrl-C, the cluster is ended, and
// what is left of it makes withray fail. Clusters of a withray that was killed
// are ended by the next one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/trainyard/trainyard/internal/process"
	"github.com/trainyard/trainyard/internal/pyenv"
	"github.com/trainyard/trainyard/internal/target/local"
	"github.com/trainyard/trainyard/test/leftover"
	"github.com/trainyard/trainyard/train"
)

// stopPatience is how long a command that was interrupted may take to tidy up.
const stopPatience = time.Minute

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, flag.Args()); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() > 0 {
			os.Exit(exit.ExitCode()) // the command has said why
		}
		fmt.Fprintln(os.Stderr, "withray:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, argv []string) error {
	if len(argv) == 0 {
		return errors.New("usage: withray -- COMMAND [ARGUMENTS]")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	cache = filepath.Join(cache, "trainyard")
	env, err := pyenv.Ensure(ctx, pyenv.Spec{Lock: train.Lock(), CacheDir: cache, Environ: os.Environ()}, told())
	if err != nil {
		return err
	}
	state, err := newState(ctx, filepath.Join(cache, "test"))
	if err != nil {
		return err
	}
	defer os.RemoveAll(state)
	return beside(ctx, store(ctx, state), env.Python, func(cluster local.Record) error {
		return command(ctx, argv, append(os.Environ(),
			"TRAINYARD_TEST_PYTHON="+env.Python,
			"TRAINYARD_TEST_RAY_ADDRESS="+cluster.Endpoint.Address,
			"TRAINYARD_TEST_RAY_TOKEN="+cluster.Endpoint.Token,
			"TRAINYARD_TEST_STATE="+state,
		))
	})
}

// told returns a function that prints each stage of a build once.
func told() func(pyenv.Progress) {
	last := ""
	return func(p pyenv.Progress) {
		if p.Text != last {
			fmt.Fprintln(os.Stderr, "withray:", p.Text)
		}
		last = p.Text
	}
}

// newState makes this program's state folder in dir, after ending the clusters
// of those that were killed.
func newState(ctx context.Context, dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	for _, entry := range entries {
		if owner(entry.Name()).Alive() {
			continue
		}
		if err := sweep(ctx, filepath.Join(dir, entry.Name())); err != nil {
			return "", err
		}
	}
	self := process.Self()
	state := filepath.Join(dir, fmt.Sprintf("%d-%d", self.PID, self.Started))
	return state, os.MkdirAll(state, 0o700)
}

// owner reads whose state folder has this name; that of nobody is not alive.
func owner(name string) process.ID {
	var id process.ID
	if _, err := fmt.Sscanf(name, "%d-%d", &id.PID, &id.Started); err != nil {
		return process.ID{}
	}
	return id
}

func sweep(ctx context.Context, state string) error {
	s := store(ctx, state)
	clusters, err := s.List()
	if err != nil {
		return err
	}
	for _, c := range clusters {
		fmt.Fprintf(os.Stderr, "withray: ending cluster %s of a withray that was killed\n", c.ID)
		if err := s.End(ctx, c); err != nil {
			return err
		}
	}
	return os.RemoveAll(state)
}

// store is where trainyard with XDG_STATE_HOME=state keeps its clusters.
func store(ctx context.Context, state string) local.Store {
	return local.Store{Dir: local.Dir(ctx, state), Environ: os.Environ()}
}

// beside runs job while a kept cluster is up, and fails if anything is left of
// the cluster.
func beside(ctx context.Context, s local.Store, python string, job func(local.Record) error) (err error) {
	watch, err := leftover.Begin(s, "")
	if err != nil {
		return err
	}
	began := time.Now()
	cluster, err := start(ctx, s, python)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "withray: ray is up at %s after %s\n", cluster.Endpoint.Address, time.Since(began).Round(time.Second))
	defer func() {
		ctx := context.WithoutCancel(ctx) // what tidies up outlives the interrupt
		err = errors.Join(err, endAll(ctx, s), nothing(watch), watch.End(ctx))
	}()
	return job(cluster)
}

func start(ctx context.Context, s local.Store, python string) (local.Record, error) {
	layout, _, err := local.Deal(2, 1, nil)
	if err != nil {
		return local.Record{}, err
	}
	cluster, err := s.Start(ctx, local.Spec{Interpreter: python, Layout: layout}, func(string) {})
	if err != nil {
		return local.Record{}, err
	}
	return s.Change(cluster.ID, func(r *local.Record) error {
		r.Holder, r.Owner = local.KeptForUse, process.ID{}
		return nil
	})
}

// endAll ends the cluster, and those that a failed test left in its place.
func endAll(ctx context.Context, s local.Store) error {
	clusters, err := s.List()
	problems := []error{err}
	for _, c := range clusters {
		problems = append(problems, s.End(ctx, c))
	}
	return errors.Join(problems...)
}

func nothing(watch *leftover.Watch) error {
	left, err := watch.Left(false)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("ending the cluster: %d things are left:\n  %s", len(left), strings.Join(left, "\n  "))
	}
	return err
}

// command runs argv to its end. An interrupt reaches it from the terminal, or
// else from here.
func command(ctx context.Context, argv, environ []string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = environ
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopPatience
	return cmd.Run()
}
