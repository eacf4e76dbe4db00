package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trainyard/trainyard/internal/capacity"
	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/workflow"
)

var capacityForms = []string{"text", "json", "csv", "yaml"}

// Bounds of what can be asked for.
const (
	shortestReserve = time.Minute
	longestReserve  = 24 * time.Hour
	mostAtOnce      = 10
)

type capacityOptions struct {
	workflow.CapacityRequest
	yes, explain bool
	output       string
}

func (a *app) capacityCommand() *cobra.Command {
	var opts capacityOptions
	cmd := &cobra.Command{
		Use:     "capacity [flags]",
		GroupID: "look",
		Short:   "Find where AWS has room for a job, and prove it",
		Long: `Ask all regions at once where AWS has room for so many nodes of an instance type:
where it is offered, how much quota is left, Spot placement scores, prices, Capacity
Blocks. Zones are ranked, and what to do next is said. Credentials are found as every
AWS tool finds them. What could not be learned is unknown, never good.

Only a capacity reservation proves that there is stock: --probe makes one in the best
zone, and the next, until AWS agrees, and cancels it at once. It asks before that
costs money. With --keep the reservation stays for --reserve-for, to launch into.
What earlier commands of yours left that were killed is cancelled.

Type and nodes are cluster.nodeType and cluster.nodes of the run file. The exit code
is 6 where the job fits nowhere, and 1 where that is not known. docs/capacity.md says
how to read the table.`,
		Example: `  trainyard capacity
  trainyard capacity --type p5.48xlarge,p5en.48xlarge --nodes 4 --region us-east-1,us-west-2
  trainyard capacity --probe --keep --reserve-for 30m
  trainyard capacity -o json | jq '.zones[] | select(.fit == "yes") | .zone'`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.capacity(cmd, opts) },
	}
	addRunFileFlag(cmd)
	config.AddFlags(cmd.Flags(), "cluster.nodes", "cluster.nodeType")
	flags := cmd.Flags()
	flags.StringSliceVar(&opts.Types, "type", nil, "`TYPES` of instances, any of which will do, instead of --node-type")
	flags.StringSliceVar(&opts.Regions, "region", nil, "`REGIONS` to ask, or all, which is the default")
	flags.BoolVar(&opts.Spot, "spot", false, "rank by Spot's quota, score and price")
	flags.BoolVar(&opts.EFA, "efa", false, "refuse types without EFA")
	flags.StringVar(&opts.Cluster, "cluster", "", "`NAME` of an EKS cluster that should have a private subnet there; TRAINYARD_CLUSTER or CLUSTER_NAME")
	flags.StringVar(&opts.Profile, "profile", "", "`NAME` of the profile of AWS's configuration; empty: AWS_PROFILE")
	opts.Block = capacity.DefaultBlock
	flags.Var((*days)(&opts.Block), "block-for", "`TIME` that Capacity Blocks should last: up to 14 days, or weeks, 7d")
	flags.DurationVar(&opts.Deadline, "deadline", 30*time.Second, "`TIME` after which a region that has not answered is given up")
	flags.BoolVar(&opts.Probe, "probe", false, "prove that there is stock, by a reservation; asks first")
	flags.BoolVar(&opts.AllZones, "all", false, "probe all zones into which the job may fit, not only until one has stock")
	flags.BoolVar(&opts.Keep, "keep", false, "keep the reservation that --probe made, to launch into")
	flags.DurationVar(&opts.Reserve, "reserve-for", capacity.DefaultReserve, "`TIME` that a reservation lasts if nobody cancels it; AWS may take an hour more to end it")
	flags.IntVar(&opts.AtOnce, "at-once", 1, "`N` zones to probe at once, each in another region")
	flags.BoolVar(&opts.RequestQuota, "request-quota", false, "where quota is short, request more from AWS; asks first")
	flags.BoolVarP(&opts.yes, "yes", "y", false, "do not ask before anything that costs money, or before --request-quota")
	flags.BoolVar(&opts.explain, "explain", false, "say of every zone why it has its place")
	addOutputFlag(cmd, &opts.output, capacityForms...)
	complete(cmd, "output", capacityForms...)
	return cmd
}

func (a *app) capacity(cmd *cobra.Command, opts capacityOptions) error {
	if err := opts.check(cmd.Flags()); err != nil {
		return err
	}
	cfg, err := loadRemoteConfig(cmd, nil)
	if err != nil {
		return err
	}
	if err := opts.complete(cfg); err != nil {
		return err
	}
	if err := a.notePlainValues(cfg); err != nil {
		return err
	}
	w, end, err := a.workspace(cmd.Context())
	if err != nil {
		return err
	}
	opts.Show = func(rows []capacity.Row, need capacity.Need) string {
		return strings.TrimRight(capacityTable(capacity.Rank(rows, need), need, liveRows, false), "\n")
	}
	if !opts.yes {
		opts.Agree = func(ctx context.Context, question string) (bool, error) {
			return a.ask(ctx, question)
		}
	}
	result, err := w.Capacity(cmd.Context(), opts.CapacityRequest)
	end()
	if len(result.Rows) == 0 {
		return err
	}
	if printErr := a.printCapacity(result, opts); printErr != nil {
		return errors.Join(err, printErr)
	}
	switch unfit := result.Err(); {
	case err != nil:
		return err
	case opts.output == "text" && result.Advice.Best == nil: // the text says all that the error would
		return fault.Told(unfit)
	default:
		return unfit
	}
}

// check refuses what makes no sense, all at once.
func (o capacityOptions) check(flags *pflag.FlagSet) error {
	var problems []error
	wrong := func(is bool, format string, args ...any) {
		if is {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	if err := checkOutput(o.output, capacityForms...); err != nil {
		problems = append(problems, err)
	}
	wrong(flags.Changed("type") && len(tidy(o.Types)) == 0, "--type is empty")
	wrong(flags.Changed("region") && len(tidy(o.Regions)) == 0, "--region is empty: all stands for all regions")
	wrong(len(tidy(o.Regions)) > 1 && slices.Contains(tidy(o.Regions), "all"), "--region all is all regions: leave out the others, or all")
	wrong(!o.Probe && (o.Keep || o.AllZones), "--keep and --all say how to probe: add --probe")
	wrong(o.Probe && o.Spot, "--probe reserves On-Demand capacity, which says nothing of Spot: leave out one of them")
	wrong(o.Reserve < shortestReserve || o.Reserve > longestReserve, "--reserve-for is %s: it is from %s to %s", o.Reserve, shortestReserve, longestReserve)
	if err := capacity.CheckBlock(o.Block); err != nil {
		problems = append(problems, fmt.Errorf("--block-for: %w", err))
	}
	wrong(o.Deadline <= 0, "--deadline is %s: it is more than 0", o.Deadline)
	wrong(o.AtOnce < 1 || o.AtOnce > mostAtOnce, "--at-once is %d: it is from 1 to %d", o.AtOnce, mostAtOnce)
	asks := o.Probe || o.RequestQuota
	wrong(asks && !o.yes && !isTerminal(os.Stdin), "--probe and --request-quota ask first, and there is nobody to ask: add --yes")
	return fault.WithCode(fault.Usage, errors.Join(problems...))
}

// complete takes from the settings what flags leave open.
func (o *capacityOptions) complete(cfg *config.Config) error {
	o.Nodes = cfg.Cluster.Nodes
	if len(o.Types) == 0 && cfg.Cluster.NodeType != "" {
		o.Types = []string{cfg.Cluster.NodeType}
	}
	o.Types = tidy(o.Types)
	if len(o.Types) == 0 {
		return fault.WithCode(fault.Usage, fault.WithHint("trainyard types lists them", errors.New("no instance type: neither --type nor cluster.nodeType names one")))
	}
	if o.Regions = tidy(o.Regions); slices.Contains(o.Regions, "all") {
		o.Regions = nil
	}
	for _, name := range []string{"TRAINYARD_CLUSTER", "CLUSTER_NAME"} {
		if o.Cluster == "" {
			o.Cluster = os.Getenv(name)
		}
	}
	return nil
}

// tidy drops blanks, empty words and repetitions.
func tidy(words []string) []string {
	var all []string
	for _, word := range words {
		if word = strings.TrimSpace(word); word != "" && !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return all
}
