package nccllog_test

import (
	"fmt"
	"io"
	"strings"

	"github.com/trainyard/trainyard/nccllog"
)

func Example() {
	file := strings.NewReader(`node0:7:7 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 4 nics)
node0:7:7 [0] NCCL INFO Using network Libfabric
node0:7:7 [0] NCCL INFO ncclCommInitRank comm 0xa0 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0x7 - Init START
node0:7:7 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Libfabric/2/GDRDMA
`)
	p := nccllog.NewParser("worker-0.out")
	if _, err := io.Copy(p, file); err != nil {
		panic(err)
	}
	p.Close()

	for _, proc := range p.Log().Processes {
		fmt.Printf("%s:%d provider %s, %d NICs\n", proc.Host, proc.PID, proc.Providers[0].Name, proc.Providers[0].NICs)
		for _, e := range proc.Edges {
			comm := proc.CommOf(e)
			fmt.Printf("channel %d of %s: %d -> %d over %s, card %d, GPUDirect %v\n", e.Channel, comm.ID, e.From, e.To, e.Net, e.Device, e.GDR)
		}
	}
	// Output:
	// node0:7 provider efa, 4 NICs
	// channel 0 of 0x7: 0 -> 1 over Libfabric, card 2, GPUDirect true
}
