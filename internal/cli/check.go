package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/internal/addons"
	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/workflow"
)

// checkable are the targets that can be checked.
var checkable = []string{"kubernetes"}

type checkOptions struct {
	target, output string
	fix, yes       bool
	addons         addonsOptions
}

func (a *app) checkCommand() *cobra.Command {
	var opts checkOptions
	cmd := &cobra.Command{
		Use:     "check [flags]",
		GroupID: "look",
		Short:   "Say what in a Kubernetes cluster stands in a job's way",
		Long: `Look at a Kubernetes cluster and say what stands in the way of a job with these
settings: KubeRay, device plugins, GPUs and EFA interfaces that nodes do not
offer, drivers, taints, zones, room, quotas and permissions. Each finding says
what comes of it and what to do. Nothing is changed, but with --fix: that installs
the add-ons that are missing, and checks again.

What could not be seen is unknown, never ok. The exit code is 1 where there are
problems; unknowns and warnings leave it 0.`,
		Example: `  trainyard check
  trainyard check --context prod --node-type p5.48xlarge --nodes 4
  trainyard check --fix
  trainyard check -o json | jq '.findings[] | select(.level == "problem")'`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.check(cmd, opts) },
	}
	addRunFileFlag(cmd)
	cmd.Flags().StringVar(&opts.target, "target", checkable[0], "`NAME` of what to check: "+orList(checkable))
	config.AddFlags(cmd.Flags(), "cluster", "kubernetes")
	addOutputFlag(cmd, &opts.output, "text", "json")
	cmd.Flags().BoolVar(&opts.fix, "fix", false, "install the add-ons that are missing, as trainyard addons does; asks first")
	cmd.Flags().BoolVarP(&opts.yes, "yes", "y", false, "do not ask before --fix installs")
	addSourceFlags(cmd, &opts.addons)
	complete(cmd, "target", checkable...)
	complete(cmd, "output", "text", "json")
	return cmd
}

func (a *app) check(cmd *cobra.Command, opts checkOptions) error {
	if err := checkOutput(opts.output, "text", "json"); err != nil {
		return err
	}
	if err := checkChoice("target", opts.target, checkable...); err != nil {
		return err
	}
	cfg, err := loadRemoteConfig(cmd, nil)
	if err != nil {
		return err
	}
	if err := a.notePlainValues(cfg); err != nil {
		return err
	}
	if opts.fix && !opts.yes && !isTerminal(os.Stdin) {
		return fault.WithCode(fault.Usage, errors.New("--fix asks before it installs, and there is nobody to ask: add --yes"))
	}
	result, err := workflow.Check(cmd.Context(), workflow.CheckRequest{Config: cfg, Kubeconfig: os.Getenv("KUBECONFIG"), User: userName()})
	if err != nil {
		return err
	}
	if names := result.Fixable(); opts.fix && len(names) > 0 {
		if opts.output == "text" {
			_, _ = fmt.Fprint(a.streams.Out, checkText(result, a.streams.OutColor)+"\n")
		}
		return a.fix(cmd, cfg, opts, names)
	}
	return a.printCheck(result, opts.output)
}

func (a *app) printCheck(result workflow.ClusterCheck, output string) error {
	if output == "json" {
		a.printJSON(result)
		return result.Err()
	}
	_, _ = fmt.Fprint(a.streams.Out, checkText(result, a.streams.OutColor)) // Main asks the stream
	return fault.Told(result.Err())
}

// fix installs add-ons, if the user agrees, and checks again.
func (a *app) fix(cmd *cobra.Command, cfg *config.Config, opts checkOptions, names []addons.Name) error {
	if !opts.yes {
		agreed, err := a.ask(cmd.Context(), "install "+joinNames(names)+"?")
		if err != nil {
			return err
		}
		if !agreed {
			return errors.New("checking the cluster: nothing was installed")
		}
	}
	w, end, err := a.workspace(cmd.Context())
	if err != nil {
		return err
	}
	err = w.InstallAddons(cmd.Context(), opts.addons.request(cfg, names))
	end()
	if err != nil {
		return err
	}
	opts.fix = false
	return a.check(cmd, opts)
}
