package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/internal/addons"
	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/workflow"
)

// addonsTimeout is how long what was installed may take to work: images are
// pulled on every node.
const addonsTimeout = 10 * time.Minute

type addonsOptions struct {
	charts   string
	registry string
	timeout  time.Duration
	force    bool
	output   string
}

func (a *app) addonsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "addons COMMAND",
		GroupID: "set",
		Short:   "Install in a Kubernetes cluster what jobs with GPUs need",
		Long: fmt.Sprintf(`Install in a Kubernetes cluster what jobs with GPUs need and it may lack:

  nvidia   %s %s: nodes offer nvidia.com/gpu
  efa      %s %s: nodes offer vpc.amazonaws.com/efa
  kuberay  %s %s: makes Ray clusters

What somebody else has installed, the GPU Operator or a DRA driver for instance, is
found and left alone. Everything goes into namespace %s.`,
			addons.NVIDIA.Title(), addons.NVIDIA.Version(), addons.EFA.Title(), addons.EFA.Version(),
			addons.KubeRay.Title(), addons.KubeRay.Version(), addons.Namespace),
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownCommand(cmd, args[0])
		},
	}
	cmd.AddCommand(a.addonsInstallCommand(), a.addonsStatusCommand(), a.addonsRemoveCommand())
	return cmd
}

func (a *app) addonsInstallCommand() *cobra.Command {
	var opts addonsOptions
	cmd := &cobra.Command{
		Use:   "install [flags] [nvidia] [efa] [kuberay]",
		Short: "Install add-ons, and wait until they work",
		Long: `Install the add-ons that are named, or all that the cluster has a use for, and
wait until every node offers its devices and the operator runs. Interrupted, the
same command goes on.

Charts come from their makers, over the Internet, at pinned versions and checksums.
For clusters without it --charts names a folder with what helm pull fetched
elsewhere, or an OCI mirror, and --registry a registry that mirrors the images
under the same paths: nvidia/k8s-device-plugin, eks/aws-efa-k8s-device-plugin and
kuberay/operator.`,
		Example: `  trainyard addons install
  trainyard addons install --context prod nvidia efa
  trainyard addons install --charts ./charts --registry registry.example.com/mirror`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withAddons(cmd, args, opts, func(ctx context.Context, w workflow.Workspace, req workflow.AddonsRequest) error {
				return w.InstallAddons(ctx, req)
			})
		},
	}
	addAddonsFlags(cmd)
	addSourceFlags(cmd, &opts)
	return cmd
}

// addSourceFlags adds the flags that say how add-ons are installed.
func addSourceFlags(cmd *cobra.Command, opts *addonsOptions) {
	cmd.Flags().StringVar(&opts.charts, "charts", "", "`PLACE` of charts: a folder, or oci://HOST/PATH; empty: their makers'")
	cmd.Flags().StringVar(&opts.registry, "registry", "", "`HOST/PATH` of a registry that mirrors the images; empty: their own")
	cmd.Flags().DurationVar(&opts.timeout, "timeout", addonsTimeout, "`TIME` to wait until they work; 0 does not wait")
}

func (a *app) addonsStatusCommand() *cobra.Command {
	var opts addonsOptions
	cmd := &cobra.Command{
		Use:   "status [flags] [nvidia] [efa] [kuberay]",
		Short: "Say which add-ons there are, and what nodes offer",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(opts.output, "text", "json"); err != nil {
				return err
			}
			return a.withAddons(cmd, args, opts, func(ctx context.Context, w workflow.Workspace, req workflow.AddonsRequest) error {
				cluster, all, err := w.AddonsStatus(ctx, req)
				if err == nil {
					a.printAddons(cluster.Context, all, opts.output)
				}
				return err
			})
		},
	}
	addAddonsFlags(cmd)
	addOutputFlag(cmd, &opts.output, "text", "json")
	complete(cmd, "output", "text", "json")
	return cmd
}

func (a *app) addonsRemoveCommand() *cobra.Command {
	var opts addonsOptions
	cmd := &cobra.Command{
		Use:   "remove [flags] [nvidia] [efa] [kuberay]",
		Short: "Remove the add-ons that trainyard installed",
		Long: `Remove the add-ons that are named, or all, as far as trainyard installed them, and
wait until they are gone. The operator stays while it has something to look after,
and CustomResourceDefinitions stay in any case.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withAddons(cmd, args, opts, func(ctx context.Context, w workflow.Workspace, req workflow.AddonsRequest) error {
				return w.RemoveAddons(ctx, req)
			})
		},
	}
	addAddonsFlags(cmd)
	cmd.Flags().BoolVar(&opts.force, "force", false, "remove the operator though there are Ray clusters")
	return cmd
}

// addAddonsFlags adds the flags that say which cluster is meant.
func addAddonsFlags(cmd *cobra.Command) {
	addRunFileFlag(cmd)
	config.AddFlags(cmd.Flags(), "kubernetes.context", "kubernetes.kubeconfig")
	cmd.ValidArgsFunction = cobra.FixedCompletions(strings.Fields(strings.ReplaceAll(joinNames(addons.Names()), ",", "")), cobra.ShellCompDirectiveNoFileComp)
}

// withAddons runs a story about the add-ons that the arguments name.
func (a *app) withAddons(cmd *cobra.Command, args []string, opts addonsOptions, story func(context.Context, workflow.Workspace, workflow.AddonsRequest) error) error {
	if opts.timeout < 0 {
		return fault.WithCode(fault.Usage, fmt.Errorf("flag --timeout: %s is negative", opts.timeout))
	}
	names, err := addons.Parse(args)
	if err != nil {
		return err
	}
	cfg, err := loadRemoteConfig(cmd, nil)
	if err != nil {
		return err
	}
	w, end, err := a.workspace(cmd.Context())
	if err != nil {
		return err
	}
	defer end()
	return story(cmd.Context(), w, opts.request(cfg, names))
}

func (o addonsOptions) request(cfg *config.Config, names []addons.Name) workflow.AddonsRequest {
	return workflow.AddonsRequest{Config: cfg, Names: names, Charts: addons.Source(o.charts), Registry: o.registry, Timeout: o.timeout, Force: o.force}
}

func joinNames(names []addons.Name) string {
	words := make([]string, len(names))
	for i, name := range names {
		words[i] = string(name)
	}
	return strings.Join(words, ", ")
}

// printAddons shows a line for each add-on, and below what nodes lack.
func (a *app) printAddons(context string, all []workflow.AddonStatus, output string) {
	if output == "json" {
		a.printJSON(all)
		return
	}
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(a.streams.Out, format+"\n", args...) }
	say("context %s", orDash(context))
	rows := [][]string{{"ADD-ON", "STATE", "VERSION", "PODS", "NODES", "WHAT"}}
	for _, s := range all {
		pods, nodes := "-", "-"
		if s.Wanted > 0 {
			pods = fmt.Sprintf("%d of %d", s.Ready, s.Wanted)
		}
		if s.Nodes > 0 {
			nodes = fmt.Sprintf("%d of %d", s.Offered, s.Nodes)
		}
		rows = append(rows, []string{string(s.Name), string(s.State), orDash(s.Version), pods, nodes, orDash(strings.Join(s.Providers, "; ") + clean(s.Problem))})
	}
	printTable(a.streams.Out, rows)
	for _, s := range all {
		for _, f := range s.Lacking {
			say("\n%s: %s\n  do: %s", where(f.Where), f.What, f.Remedy)
		}
		if len(s.Down) > 0 {
			say("\n%s: down; what they offer of %s is not known", where(s.Down), s.Title)
		}
	}
}
