package fabric_test

import (
	"fmt"

	"github.com/trainyard/trainyard/fabric"
	"github.com/trainyard/trainyard/nccllog"
)

// A job was expected to run over EFA. One rank's log is enough to know better.
func ExampleJudge() {
	p := nccllog.NewParser("worker-1.out")
	fmt.Fprint(p, `
node1:41:41 [0] NCCL INFO NCCL version 2.29.7+cuda13.0
node1:41:41 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so
node1:41:41 [0] NCCL INFO NET/IB : No device found.
node1:41:41 [0] NCCL INFO Failed to initialize NET plugin IB
node1:41:41 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.2<0>
node1:41:41 [0] NCCL INFO Using network Socket
node1:41:41 [0] NCCL INFO [Rank 1] ncclCommInitRank comm 0xa0 rank 1 nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0x7 - Init START
node1:41:41 [0] NCCL INFO comm 0xa0 rank 1 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0
node1:41:41 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [receive] via NET/Socket/0
`)
	p.Close()

	v := fabric.Judge(fabric.Evidence{
		Expectation: fabric.EFA,
		Logs:        []fabric.LogFile{{Log: p.Log(), Node: "node1"}},
		GPUs:        -1,
	})
	fmt.Println(v.Verdict, v.Transport, v.Cause)
	fmt.Println(v.Remedy)
	for _, q := range v.Evidence {
		fmt.Printf("%s:%d %s\n", q.File, q.Line, q.Text)
	}
	// Output:
	// FAIL socket plugin-not-found
	// install aws-ofi-nccl in the image and put its lib folder on LD_LIBRARY_PATH; set NCCL_NET_PLUGIN=ofi where the library is called libnccl-net-ofi.so
	// worker-1.out:3 NET/Plugin: Could not find: libnccl-net.so
	// worker-1.out:7 Using network Socket
	// worker-1.out:10 Channel 00/0 : 0[0] -> 1[0] [receive] via NET/Socket/0
}

// Where there is no GPU there is nothing to prove.
func ExampleJudge_noGPU() {
	v := fabric.Judge(fabric.Evidence{Expectation: fabric.Any, GPUs: 0})
	fmt.Println(v.Verdict, v.Cause)
	fmt.Println(v.Summary)
	fmt.Println(v.Blocks())
	// Output:
	// UNKNOWN no-gpu
	// no GPU here, so NCCL carried nothing: nothing to prove
	// false
}

// The logs of a folder may be of several jobs: each gets a verdict, and the
// worst is on top.
func ExampleJudgeAll() {
	var logs []fabric.LogFile
	for _, net := range []string{"Socket", "IB"} {
		p := nccllog.NewParser(net + ".log")
		for rank := range 2 {
			prefix := fmt.Sprintf("node%d:41:41 [0] NCCL INFO ", rank)
			comm := fmt.Sprintf("comm 0xa0 rank %d nranks 2 commId 0x%d", rank, len(net))
			fmt.Fprintf(p, "%sUsing network %s\n%s%s - Init START\n", prefix, net, prefix, comm)
			fmt.Fprintf(p, "%scomm 0xa0 rank %d nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0\n", prefix, rank)
			fmt.Fprintf(p, "%s1 coll channels\n%s%s - Init COMPLETE\n", prefix, prefix, comm)
			fmt.Fprintf(p, "%sChannel 00/0 : %d[0] -> %d[0] [send] via NET/%s/0\n", prefix, rank, 1-rank, net)
			fmt.Fprintf(p, "%sChannel 00/0 : %d[0] -> %d[0] [receive] via NET/%s/0\n", prefix, 1-rank, rank, net)
			fmt.Fprintf(p, "%sConnected all rings\n", prefix)
		}
		p.Close()
		logs = append(logs, fabric.LogFile{Log: p.Log()})
	}
	report := fabric.JudgeAll(fabric.Evidence{Expectation: fabric.RDMA, Logs: logs, GPUs: -1})
	for _, job := range report.Jobs {
		fmt.Println(job.Name, job.Files, job.Verdict.Verdict, job.Transport)
	}
	fmt.Println("all:", report.Verdict.Verdict)
	// Output:
	// Socket.log [Socket.log] FAIL socket
	// IB.log [IB.log] PASS ib
	// all: FAIL
}
