package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/runs"
	"github.com/trainyard/trainyard/internal/workflow"
)

func (a *app) trainCommand() *cobra.Command {
	var opts trainOptions
	cmd := &cobra.Command{
		Use:     "train [flags] [-- COMMAND...]",
		GroupID: "run",
		Short:   "Run a training job and say which network carried it",
		Long: `Run the built-in training, or with a COMMAND any program that uses Ray, on a Ray
cluster of several nodes: on this machine, or with --target kubernetes in pods that
KubeRay makes. Output comes live on standard error, the result on standard output;
everything is kept in .trainyard/runs/ID.

On a terminal Ctrl-C asks whether to stop the job or to detach from it; elsewhere it
stops the job; one more while that takes its time ends everything at once. A cluster on
this machine ends with the run, unless --keep is given; one on Kubernetes stays for the
next run, unless --rm is.`,
		Example: `  trainyard train --steps 500
  trainyard train --working-dir . -- python train.py --lr 1e-4
  trainyard train --target kubernetes --node-type p5.48xlarge --nodes 4
  trainyard train --detach && trainyard attach`,
		Args: commandAfterDash,
		RunE: func(cmd *cobra.Command, args []string) error { return a.train(cmd, opts, args) },
	}
	addRunFileFlag(cmd)
	config.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&opts.detach, "detach", false, "return once the job is submitted; attach follows it later")
	cmd.Flags().BoolVar(&opts.remove, "rm", false, "delete the RayCluster when the run has ended")
	cmd.Flags().StringVar(&opts.dryRun, "dry-run", "", "change nothing: `HOW` far to go, client or server, and print the RayCluster")
	cmd.Flags().BoolVar(&opts.diff, "diff", false, "change nothing: print what would be different of the RayCluster")
	complete(cmd, "dry-run", "client", "server")
	addOutputFlag(cmd, &opts.output, "text", "json")
	return cmd
}

type trainOptions struct {
	detach bool
	remove bool
	dryRun string
	diff   bool
	output string
}

// rehearsal is the one that the flags ask for; "" where they ask for a run.
func (o trainOptions) rehearsal() (workflow.Rehearsal, error) {
	switch {
	case o.dryRun == "" && !o.diff:
		return "", nil
	case o.dryRun != "":
		if err := checkChoice("dry-run", o.dryRun, string(workflow.RehearseClient), string(workflow.RehearseServer)); err != nil {
			return "", err
		}
	}
	if o.diff && o.dryRun == string(workflow.RehearseClient) {
		return "", fault.WithCode(fault.Usage, errors.New("--diff with --dry-run=client: only the server can tell what is different"))
	}
	if o.diff && o.output == "json" {
		return "", fault.WithCode(fault.Usage, errors.New("--diff with --output json: a difference is text; --dry-run=server prints the RayCluster as JSON"))
	}
	if o.diff {
		return workflow.RehearseDiff, nil
	}
	return workflow.Rehearsal(o.dryRun), nil
}

// commandAfterDash wants the user's command behind --, so that its flags are
// not taken for ours.
func commandAfterDash(cmd *cobra.Command, args []string) error {
	if dash := cmd.ArgsLenAtDash(); len(args) > 0 && dash != 0 {
		return fault.WithCode(fault.Usage, fault.WithHint("put -- before your command: trainyard train -- "+args[0]+" …",
			fmt.Errorf("unexpected argument %q", args[0])))
	}
	return nil
}

func (a *app) train(cmd *cobra.Command, opts trainOptions, args []string) error {
	if err := checkOutput(opts.output, "text", "json"); err != nil {
		return err
	}
	cfg, err := loadConfig(cmd, args)
	if err != nil {
		return err
	}
	rehearsal, err := opts.rehearsal()
	if err != nil {
		return err
	}
	request := workflow.TrainRequest{Config: cfg, Arguments: os.Args[1:], Detach: opts.detach, Remove: opts.remove}
	var run *runs.Run
	err = a.inWorkspace(cmd.Context(), func(w workflow.Workspace) (err error) {
		if rehearsal != "" {
			text, err := w.Rehearse(cmd.Context(), request, rehearsal)
			if err != nil {
				return err
			}
			return a.printRehearsal(text, opts.output)
		}
		run, err = w.Train(cmd.Context(), request)
		return err
	})
	if run != nil {
		a.printRun(run, opts.output)
	}
	return err
}

// printRehearsal writes what a run would apply: a manifest, or a difference.
func (a *app) printRehearsal(text, output string) error {
	if output == "json" && text != "" { // there is none of a run on this machine
		object, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			return fmt.Errorf("writing the RayCluster as JSON: %w", err)
		}
		text = string(object) + "\n"
	}
	_, _ = fmt.Fprint(a.streams.Out, text) // Main asks the stream
	return nil
}

// printRun writes a run's result to standard output.
func (a *app) printRun(run *runs.Run, output string) {
	switch {
	case output == "json":
		a.printJSON(struct {
			runs.Info
			Dir     string          `json:"dir"`
			Verdict json.RawMessage `json:"verdict,omitempty"`
		}{run.Info, run.Dir, rawFile(filepath.Join(run.Dir, "verdict.json"))})
	case run.Info.Detached:
		_, _ = fmt.Fprintf(a.streams.Out, "%s runs detached; trainyard attach %s follows it\n", run.Info.ID, run.Info.ID)
	default:
		outcome, text := workflow.Summary(run)
		_, _ = fmt.Fprintln(a.streams.Out, a.streams.Result(outcome, text, run.Dir))
	}
}

func rawFile(path string) json.RawMessage {
	data, err := os.ReadFile(path)
	if err != nil || !json.Valid(data) {
		return nil
	}
	return data
}
