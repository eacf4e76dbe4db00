package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/workflow"
)

func (a *app) typesCommand() *cobra.Command {
	var req workflow.TypesRequest
	var output string
	cmd := &cobra.Command{
		Use:     "types [flags]",
		GroupID: "look",
		Short:   "List AWS's instance types with GPUs, their EFA and prices",
		Long: `List the instance types that have GPUs of NVIDIA's and x86-64: GPUs and their
memory, EFA interfaces, network, whether EFA is expected to reach the GPUs' memory
directly, and the On-Demand price of one for an hour.

AWS itself is asked, in one region. Where it does not answer, or there are no
credentials, the table is used that is built in, which has no prices; standard error
says so.`,
		Example: `  trainyard types --efa
  trainyard types --gpu H100 -o json`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output, "text", "json"); err != nil {
				return err
			}
			if req.Deadline <= 0 {
				return fault.WithCode(fault.Usage, fmt.Errorf("--deadline is %s: it is more than 0", req.Deadline))
			}
			w, end, err := a.workspace(cmd.Context())
			if err != nil {
				return err
			}
			all, err := w.Types(cmd.Context(), req)
			end()
			if err != nil {
				return err
			}
			a.printTypes(all, output)
			return nil
		},
	}
	cmd.Flags().StringVar(&req.GPU, "gpu", "", "`MODEL` of GPUs, such as H100")
	cmd.Flags().BoolVar(&req.EFA, "efa", false, "only types with EFA")
	cmd.Flags().BoolVar(&req.Offline, "offline", false, "use the table that is built in")
	cmd.Flags().StringVar(&req.Region, "region", "", "`REGION` to ask; empty: that of AWS's configuration, or us-east-1")
	cmd.Flags().StringVar(&req.Profile, "profile", "", "`NAME` of the profile of AWS's configuration; empty: AWS_PROFILE")
	cmd.Flags().DurationVar(&req.Deadline, "deadline", 30*time.Second, "`TIME` after which AWS is given up")
	addOutputFlag(cmd, &output, "text", "json")
	complete(cmd, "output", "text", "json")
	return cmd
}

func (a *app) printTypes(all []workflow.TypePrice, output string) {
	if output == "json" {
		a.printJSON(all)
		return
	}
	rows := [][]string{{"TYPE", "GPUS", "GPU", "GIB EACH", "VCPUS", "GIB", "EFA", "GBPS", "GPUDIRECT", "$/H"}}
	for _, t := range all {
		direct, usd := "-", "-"
		if t.GPUDirect {
			direct = "yes"
		}
		if t.USDPerHour != nil {
			usd = fmt.Sprintf("%.2f", *t.USDPerHour)
		}
		rows = append(rows, []string{
			t.Name, fmt.Sprint(t.GPUs), t.GPU, fmt.Sprint(t.GPUMemoryMiB >> 10), fmt.Sprint(t.VCPUs), fmt.Sprint(t.MemoryMiB >> 10),
			fmt.Sprint(t.EFA), fmt.Sprint(t.NetworkGbps), direct, usd,
		})
	}
	printTable(a.streams.Out, rows)
}
