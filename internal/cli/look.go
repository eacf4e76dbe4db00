package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/runs"
	"github.com/trainyard/trainyard/internal/target/local"
	"github.com/trainyard/trainyard/internal/ui"
	"github.com/trainyard/trainyard/internal/workflow"
)

func (a *app) runsCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "runs",
		GroupID: "look",
		Short:   "List the runs of this folder, newest first",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output, "text", "json"); err != nil {
				return err
			}
			return a.inWorkspace(cmd.Context(), func(w workflow.Workspace) error {
				all, err := w.Runs.List()
				if err != nil {
					return err
				}
				a.printRuns(w, all, output)
				return nil
			})
		},
	}
	addOutputFlag(cmd, &output, "text", "json")
	return cmd
}

func (a *app) printRuns(w workflow.Workspace, all []*runs.Run, output string) {
	if output == "json" {
		infos := make([]runs.Info, len(all))
		for i, run := range all {
			infos[i] = run.Info
			infos[i].State = run.Current()
		}
		a.printJSON(infos)
		return
	}
	if len(all) == 0 {
		w.Story.Note("no runs in this folder yet; trainyard train starts one")
		return
	}
	rows := [][]string{{"RUN", "STARTED", "STATE", "VERDICT", "RESULT"}}
	for _, run := range all {
		_, text := workflow.Summary(run)
		rows = append(rows, []string{
			run.Info.ID, ago(run.Info.Created), string(run.Current()), orDash(run.Info.Verdict), text,
		})
	}
	printTable(a.streams.Out, rows)
}

func (a *app) statusCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "status",
		GroupID: "look",
		Short:   "Show the Ray clusters there are and what they run",
		Long: `Show the Ray clusters of trainyard's runs and what they run: on this machine, or
with --target kubernetes in a namespace, with their pods, and how many GPUs and EFA
interfaces the nodes have left.`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output, "text", "json"); err != nil {
				return err
			}
			cfg, err := loadConfig(cmd, nil)
			if err != nil {
				return err
			}
			return a.inWorkspace(cmd.Context(), func(w workflow.Workspace) error {
				if cfg.Target == config.TargetKubernetes {
					status, err := w.StatusKubernetes(cmd.Context(), cfg)
					if err == nil {
						a.printKubernetesStatus(status, output)
					}
					return err
				}
				status, err := w.Status(cmd.Context())
				if err != nil {
					return err
				}
				a.printStatus(w, status, output)
				return nil
			})
		},
	}
	addWhereFlags(cmd)
	addOutputFlag(cmd, &output, "text", "json")
	return cmd
}

func (a *app) printStatus(w workflow.Workspace, status []workflow.ClusterStatus, output string) {
	if output == "json" {
		a.printJSON(status)
		return
	}
	if len(status) == 0 {
		w.Story.Note("no Ray cluster of trainyard's runs on this machine")
		return
	}
	rows := [][]string{{"CLUSTER", "NODES", "GPUS", "HELD BY", "JOB", "DASHBOARD"}}
	for _, s := range status {
		rows = append(rows, []string{
			s.ID, fmt.Sprintf("%d of %d", s.NodesAlive, s.Nodes), fmt.Sprint(s.GPUs),
			holder(s), orDash(strings.ToLower(s.JobStatus)), strings.TrimPrefix(s.Address, "http://"),
		})
	}
	printTable(a.streams.Out, rows)
}

func holder(s workflow.ClusterStatus) string {
	switch s.Holder {
	case local.HeldByRun:
		return "run " + s.Run
	case local.Detached:
		return "run " + s.Run + ", detached"
	case local.KeptForUse:
		return "nobody, kept"
	}
	return string(s.Holder)
}

func (a *app) logsCommand() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:     "logs [RUN]",
		GroupID: "look",
		Short:   "Print everything that a run's driver and workers printed",
		Long: `Print everything that a run's driver and workers printed, each line behind the
name of who printed it: of the run that is named, else of the newest that goes
on, else of the newest. With --target kubernetes it may be a job that was started
elsewhere, as for attach.`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withRun(cmd, args, func(w workflow.Workspace, run *runs.Run) error {
				return w.Logs(cmd.Context(), run, follow, a.streams.Out)
			})
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the job ends")
	addWhereFlags(cmd)
	return cmd
}

// printTable writes a table, whose first row is its head.
func printTable(out io.Writer, table [][]string) {
	for _, line := range ui.Align(table, isPrice) {
		_, _ = fmt.Fprintln(out, line) // Main asks the stream
	}
}

// isPrice tells whether a column is of dollars, which stand at the right.
func isPrice(head string) bool { return strings.Contains(head, "$") }

func ago(t time.Time) string { return ui.Duration(time.Since(t)) + " ago" }

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
