package cli

import (
	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/runs"
	"github.com/trainyard/trainyard/internal/workflow"
)

func (a *app) attachCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "attach [RUN]",
		GroupID: "run",
		Short:   "Follow a detached run to its end",
		Long: `Follow a detached run, the newest that goes on where none is named: all its
output from the first line, then its verdict and exit code, as train itself would have given
them. Ctrl-C leaves the run going.

With --target kubernetes it may be any job on a RayCluster of trainyard's in the
namespace, by its name in trainyard status, wherever it was started from.`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output, "text", "json"); err != nil {
				return err
			}
			var run *runs.Run
			err := a.withRun(cmd, args, func(w workflow.Workspace, found *runs.Run) error {
				run = found
				return w.Attach(cmd.Context(), run)
			})
			if run != nil && run.Info.State.Final() {
				a.printRun(run, output)
			}
			return err
		},
	}
	addWhereFlags(cmd)
	addOutputFlag(cmd, &output, "text", "json")
	return cmd
}

func (a *app) stopCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "stop [RUN]",
		GroupID: "run",
		Short:   "Stop a run's job; its logs and verdict are kept",
		Long: `Stop the job of a run, the newest that goes on where none is named. The trainyard
that follows the run ends it; where none does, stop gathers logs and verdict. With
--target kubernetes it may be a job that was started elsewhere, as for attach.`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withRun(cmd, args, func(w workflow.Workspace, run *runs.Run) error { return w.Stop(cmd.Context(), run) })
		},
	}
	addWhereFlags(cmd)
	return cmd
}

func (a *app) downCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:     "down",
		GroupID: "run",
		Short:   "End the Ray clusters that train left",
		Long: `End the Ray clusters that train --keep left on this machine; clusters that a run
uses stay, unless --force gives those runs up. With --target kubernetes, delete the
RayCluster that train made there, unless a job runs on it, and wait until it is gone.`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(cmd, nil)
			if err != nil {
				return err
			}
			return a.inWorkspace(cmd.Context(), func(w workflow.Workspace) error {
				if cfg.Target == config.TargetKubernetes {
					return w.DownKubernetes(cmd.Context(), cfg, force)
				}
				return w.Down(cmd.Context(), force)
			})
		},
	}
	addWhereFlags(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "end clusters that a run uses, too; those runs are lost")
	return cmd
}
