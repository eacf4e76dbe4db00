package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/ui"
	"github.com/trainyard/trainyard/internal/workflow"
)

var manifestKinds = []string{workflow.KindRayCluster, workflow.KindRayJob}

type renderOptions struct {
	kind string
	set  []string
}

func (a *app) renderCommand() *cobra.Command {
	var opts renderOptions
	cmd := &cobra.Command{
		Use:     "render [flags] [-- COMMAND...]",
		GroupID: "set",
		Short:   "Print the Ray cluster for Kubernetes as YAML, to review or apply",
		Long: `Print the RayCluster that KubeRay is to make, as YAML on standard output. No
cluster is asked: what a node has comes from a table of AWS's instance types, or
from the settings.

With --kind rayjob it is a RayJob, which makes the cluster, runs the COMMAND on it
and deletes it. Nobody sends a RayJob files: the program must be in the image or on
a volume.

The section kubernetes of the run file has more settings than there are flags:
volumes, tolerations, patches and others.`,
		Example: `  trainyard render --node-type p5.48xlarge --nodes 4 | kubectl apply -f -
  trainyard render --set spec.headGroupSpec.template.spec.hostNetwork=true
  trainyard render --kind rayjob -- python /app/train.py`,
		Args: commandAfterDash,
		RunE: func(cmd *cobra.Command, args []string) error { return a.render(cmd, opts, args) },
	}
	addRunFileFlag(cmd)
	config.AddFlags(cmd.Flags(), "cluster", "kubernetes", "job")
	cmd.Flags().StringVar(&opts.kind, "kind", workflow.KindRayCluster, "`KIND` of manifest: "+orList(manifestKinds))
	cmd.Flags().StringArrayVar(&opts.set, "set", nil, "`PATH=VALUE` to change in the RayCluster, such as spec.suspend=true")
	complete(cmd, "kind", manifestKinds...)
	return cmd
}

func (a *app) render(cmd *cobra.Command, opts renderOptions, args []string) error {
	if err := checkChoice("kind", opts.kind, manifestKinds...); err != nil {
		return err
	}
	cfg, err := loadRemoteConfig(cmd, args)
	if err != nil {
		return err
	}
	manifest, err := workflow.Render(workflow.RenderRequest{Config: cfg, User: userName(), Kind: opts.kind, Set: opts.set})
	if err != nil {
		return err
	}
	if err := a.notePlainValues(cfg); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(a.streams.Out, "%s", manifest) // Main asks the stream
	return nil
}

// notePlainValues tells of settings whose plain names in the environment may
// be there for another reason.
func (a *app) notePlainValues(cfg *config.Config) error {
	mode, err := ui.ParseMode(a.progress)
	if err != nil {
		return fault.WithCode(fault.Usage, err)
	}
	sink, end := a.streams.Teller(mode)
	defer end()
	story := ui.NewStory(sink)
	for _, v := range cfg.PlainValues() {
		story.Note(fmt.Sprintf("%s = %s, from the %s", v.Key, v.Text, v.Origin))
	}
	return nil
}
