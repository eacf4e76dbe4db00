// Package cli is the command line: it turns flags, environment and run file
// into plain values, calls one story of package workflow, and turns what comes
// back into output and an exit code. It alone knows the process it runs in.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/runs"
	"github.com/trainyard/trainyard/internal/target/local"
	"github.com/trainyard/trainyard/internal/ui"
	"github.com/trainyard/trainyard/internal/workflow"
)

// version is set at link time; empty means what the build information says.
var version string

// app is what all commands share.
type app struct {
	streams  ui.Streams
	signals  *signals
	progress string // flag --progress
	typed    func() <-chan string
}

// Main runs one command line and returns the exit code. It is the only place
// that prints errors.
func Main(args []string) fault.Code {
	a := &app{streams: ui.System(os.LookupEnv), signals: listen(), typed: sync.OnceValue(typed)}
	out := &output{w: a.streams.Out, interrupt: a.signals.interrupt}
	a.streams.Out = out
	a.streams.Err = &output{w: a.streams.Err, interrupt: a.signals.interrupt}
	root := a.root()
	root.SetArgs(args)
	root.SetOut(a.streams.Out)
	root.SetErr(a.streams.Err)
	err := root.ExecuteContext(a.signals.soft)
	if failure := out.failure(); err == nil && failure != nil {
		err = fmt.Errorf("writing to standard output: %w", failure)
	}
	code := fault.CodeOf(err)
	if code == fault.Interrupted && errors.Is(err, context.Canceled) {
		err = errors.Join(errors.New("interrupted"), besidesInterrupt(err))
	}
	if err != nil && !fault.IsTold(err) {
		a.streams.PrintError(err, fault.HintsOf(err))
	}
	return code
}

// besidesInterrupt returns those of joined errors that are no end of a context: what
// went wrong while all was tidied up. Its hints stay with it.
func besidesInterrupt(err error) error {
	switch e := err.(type) { //nolint:errorlint // every layer is visited
	case interface{ Unwrap() []error }:
		var rest []error
		for _, inner := range e.Unwrap() {
			rest = append(rest, besidesInterrupt(inner))
		}
		return errors.Join(rest...)
	case interface{ Unwrap() error }:
		if errors.Is(err, context.Canceled) {
			return besidesInterrupt(e.Unwrap())
		}
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use: "trainyard COMMAND",
		// Under this name kubectl calls us as its plug-in.
		Annotations: displayName(os.Args[0]),
		Short:       "Run multi-node PyTorch jobs with Ray Train, and prove which network carried them",
		Long: `trainyard runs a PyTorch job with Ray Train on a Ray cluster of several nodes
and says from evidence which network carried it: NCCL falls back from a fast
fabric to TCP without a word, and the job goes on at a fraction of the speed.

  trainyard train                          train a small model on this machine
  trainyard train -- python my_script.py   run a program of your own
  trainyard verify rank*.log               judge the logs of any job

Exit codes: 0 done, 1 error, 2 usage or run file, 3 the job failed, 4 the fabric
check says FAIL, 5 it says UNKNOWN, 6 no capacity or quota, 130 interrupted.`,
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2, // letters that may differ; cobra sets its default too late for us
		CompletionOptions:          cobra.CompletionOptions{HiddenDefaultCmd: true},
		Args:                       cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownCommand(cmd, args[0])
		},
	}
	root.PersistentFlags().StringVar(&a.progress, "progress", "auto", "`MODE` in which to tell what happens, on standard error: auto, plain, json or quiet")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fault.WithCode(fault.Usage, fault.WithHint(cmd.CommandPath()+" --help lists the flags", err))
	})
	root.SetUsageFunc(printUsage)
	root.SetHelpFunc(printHelp)
	root.AddGroup(&cobra.Group{ID: "run", Title: "Run:"}, &cobra.Group{ID: "look", Title: "Look:"}, &cobra.Group{ID: "set", Title: "Set up:"})
	root.AddCommand(
		a.trainCommand(), a.attachCommand(), a.stopCommand(), a.downCommand(),
		a.verifyCommand(), a.runsCommand(), a.statusCommand(), a.logsCommand(), a.checkCommand(), a.capacityCommand(), a.typesCommand(),
		a.initCommand(), a.configCommand(), a.renderCommand(), a.addonsCommand(), a.versionCommand(),
	)
	root.SetHelpCommandGroupID("set")
	showStandardTarget(root, os.Args[0])
	return root
}

func unknownCommand(cmd *cobra.Command, name string) error {
	hint := cmd.CommandPath() + " --help lists the commands"
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return fault.WithCode(fault.Usage, fault.WithHint(hint, fmt.Errorf("unknown command %q", name)))
}

// usage makes argument checks usage errors.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return fault.WithCode(fault.Usage, fault.WithHint("usage: "+cmd.UseLine(), err))
		}
		return nil
	}
}

// workspace assembles what the stories need. end leaves the terminal tidy.
func (a *app) workspace(ctx context.Context) (w workflow.Workspace, end func(), err error) {
	mode, err := ui.ParseMode(a.progress)
	if err != nil {
		return w, nil, fault.WithCode(fault.Usage, err)
	}
	cache, state, err := folders()
	if err != nil {
		return w, nil, err
	}
	sink, end := a.streams.Teller(mode)
	story := ui.NewStory(sink)
	return workflow.Workspace{
		Runs:     runs.Store{Dir: filepath.Join(".trainyard", "runs")},
		Clusters: local.Store{Dir: local.Dir(ctx, state), Environ: os.Environ()},
		CacheDir: cache,
		Environ:  os.Environ(),
		Story:    story,
		Version:  buildVersion(),
		User:     userName(),
		Lookup:   os.LookupEnv,
		Hard:     a.signals.hard,
		Detach:   a.signals.hangUp,
		AskDetach: func(ctx context.Context) bool {
			return (mode == ui.Auto || mode == ui.Plain) && a.askDetach(ctx, story)
		},
	}, end, nil
}

// inWorkspace runs a story that looks at or changes runs, after the leftovers
// of killed ones are gone.
func (a *app) inWorkspace(ctx context.Context, story func(workflow.Workspace) error) error {
	w, end, err := a.workspace(ctx)
	if err != nil {
		return err
	}
	defer end()
	if err := w.EndOrphans(ctx); err != nil {
		return err
	}
	return story(w)
}

// userEnv says who works here where several share a login.
const userEnv = "TRAINYARD_USER"

// userName is who works here, to whom clusters and reservations belong. A user of
// this machine that has no name, as containers run, is known by number.
func userName() string {
	if name := os.Getenv(userEnv); name != "" {
		return name
	}
	if me, err := user.Current(); err == nil {
		return me.Username
	}
	return strconv.Itoa(os.Getuid())
}

// folders are the user's cache folder, for what can be made again, and state
// folder, for what runs now. Source: XDG Base Directory Specification.
func folders() (cache, state string, err error) {
	if cache, err = os.UserCacheDir(); err != nil {
		return "", "", fault.WithHint("set HOME or XDG_CACHE_HOME", fmt.Errorf("finding the cache folder: %w", err))
	}
	state = os.Getenv("XDG_STATE_HOME")
	if state == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", "", fault.WithHint("set HOME or XDG_STATE_HOME", fmt.Errorf("finding the state folder: %w", err))
		}
		state = filepath.Join(home, ".local", "state")
	}
	if cache, err = filepath.Abs(cache); err == nil {
		state, err = filepath.Abs(state)
	}
	return filepath.Join(cache, "trainyard"), state, err
}

// buildVersion is the version stamped by the linker, else by the Go tool.
func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel-" + s.Value[:min(12, len(s.Value))]
		}
	}
	return "devel"
}

// withRun runs a story about the run that the arguments name: at most one, else
// the newest that goes on, or the newest of all.
func (a *app) withRun(cmd *cobra.Command, args []string, story func(workflow.Workspace, *runs.Run) error) error {
	cfg, err := loadConfig(cmd, nil)
	if err != nil {
		return err
	}
	return a.inWorkspace(cmd.Context(), func(w workflow.Workspace) error {
		run, err := w.Find(cmd.Context(), cfg, cmp.Or(append(args, "")...))
		if err != nil {
			return err
		}
		return story(w, run)
	})
}
