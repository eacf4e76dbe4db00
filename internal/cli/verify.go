package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/fabric"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/report"
	"github.com/trainyard/trainyard/internal/ui"
	"github.com/trainyard/trainyard/internal/workflow"
)

// verifyForms are the forms in which a verdict can be written.
var verifyForms = []string{"text", "json", "markdown", "junit"}

type verifyOptions struct {
	expect, output string
	ranks, nodes   int
	explain        bool
}

func (a *app) verifyCommand() *cobra.Command {
	var opts verifyOptions
	cmd := &cobra.Command{
		Use:     "verify [flags] PATH...",
		GroupID: "look",
		Short:   "Say from the logs of any job which network carried it",
		Long: `Read what the ranks of a job printed with NCCL_DEBUG=INFO and say which network
carried it: PASS, FAIL or UNKNOWN, why, what to do, and the lines that prove it.

A PATH is a log file, a folder of them, - for standard input, a folder of
.trainyard/runs, or the folder of a Ray session. Files may be packed by gzip,
zstd or bzip2; what mpirun, srun, kubectl, Docker, Ray and others put around
NCCL's lines does not matter. Files of several jobs are told apart.

The exit code is 0 for PASS, 4 for FAIL and 5 for UNKNOWN, which is no PASS.`,
		Example: `  trainyard verify rank*.log
  trainyard verify --expect efa /tmp/ray/session_latest
  kubectl logs -l job-name=train --prefix --tail=-1 | trainyard verify -
  trainyard verify -o junit logs > fabric.xml`,
		Args: usage(atLeastOnePath),
		RunE: func(cmd *cobra.Command, args []string) error { return a.verify(cmd, opts, args) },
	}
	var names []string
	for _, e := range fabric.Expectations() {
		names = append(names, string(e))
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.expect, "expect", string(fabric.RDMA), "`NETWORK` that must have carried the job: "+strings.Join(names, ", ")+
		" (rdma is EFA, InfiniBand or RoCE; any demands nothing)")
	flags.IntVar(&opts.ranks, "ranks", 0, "`NUMBER` of ranks that the job had, where the logs may lack some")
	flags.IntVar(&opts.nodes, "nodes", 0, "`NUMBER` of nodes that the job had")
	flags.BoolVar(&opts.explain, "explain", false, "tell step by step how the verdict came about")
	addOutputFlag(cmd, &opts.output, verifyForms...)
	complete(cmd, "expect", names...)
	complete(cmd, "output", verifyForms...)
	return cmd
}

func atLeastOnePath(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("there is no PATH to judge")
	}
	return nil
}

// complete offers the values of a flag to the shell.
func complete(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // fails for unknown flags only
}

func (a *app) verify(cmd *cobra.Command, opts verifyOptions, paths []string) error {
	if err := checkOutput(opts.output, verifyForms...); err != nil {
		return err
	}
	expect, err := fabric.ParseExpectation(opts.expect)
	if err != nil {
		return fault.WithCode(fault.Usage, fmt.Errorf("flag --expect: %w", err))
	}
	if opts.ranks < 0 || opts.nodes < 0 {
		return fault.WithCode(fault.Usage, fmt.Errorf("flags --ranks and --nodes: %d and %d, must not be negative", opts.ranks, opts.nodes))
	}
	mode, err := ui.ParseMode(a.progress)
	if err != nil {
		return fault.WithCode(fault.Usage, err)
	}
	sink, end := a.streams.Teller(mode)
	result, err := workflow.Verify(cmd.Context(), workflow.VerifyRequest{
		Paths: paths, Stdin: cmd.InOrStdin(), Expect: expect, Ranks: opts.ranks, Nodes: opts.nodes, Story: ui.NewStory(sink),
	})
	end()
	if err != nil {
		return err
	}
	return a.printVerdict(result, opts)
}

// printVerdict writes a verdict and returns the error that stands for it. Text
// for people says all that the error would.
func (a *app) printVerdict(r fabric.Report, opts verifyOptions) error {
	var text string
	switch opts.output {
	case "json", "junit":
		write := report.JSON
		if opts.output == "junit" {
			write = report.JUnit
		}
		data, err := write(r)
		if err != nil {
			return err
		}
		text = string(data)
	case "markdown":
		text = report.Markdown(r, opts.explain)
	default:
		text = report.Text(r, report.TextOptions{Color: a.streams.OutColor, Explain: opts.explain})
	}
	_, _ = fmt.Fprint(a.streams.Out, text) // Main asks the stream
	err := workflow.Demanded(r.Verdict)
	if opts.output == "text" {
		return fault.Told(err)
	}
	return err
}
