// Package ranklog writes what NCCL prints in a large job, for benchmarks that read
// it.
package ranklog

import "fmt"

// GPUs of a node, and ranks and network cards: each has as many.
const GPUs = 8

const channels = 16

// Lines returns NCCL's lines of one rank of a healthy job on EFA.
func Lines(rank, ranks int) []string {
	return append(initLines(rank, ranks), edgeLines(rank, ranks)...)
}

func initLines(rank, ranks int) []string {
	comm := fmt.Sprintf("comm 0x55d0c0ffee%02x rank %d nranks %d cudaDev %d nvmlDev %d busId %x0 commId 0xfeedbeefcafe",
		rank%GPUs, rank, ranks, rank%GPUs, rank%GPUs, 0x53+rank%GPUs)
	messages := []string{
		"NCCL_SOCKET_IFNAME set by environment to ^lo,docker",
		fmt.Sprintf("Bootstrap: Using eth0:10.0.%d.%d<0>", rank/GPUs/256, rank/GPUs%256),
		"cudaDriverVersion 12080",
		"NCCL version 2.27.7+cuda12.9",
		"NET/Plugin: Loaded net plugin Libfabric (v10)",
		"Successfully loaded external plugin libnccl-net.so",
		"NET/OFI Initializing aws-ofi-nccl 1.16.2",
		"NET/OFI Using Libfabric version 2.1",
		"NET/OFI Using CUDA driver version 12080 with runtime 12090",
		"NET/OFI Configuring AWS-specific options",
		"NET/OFI Setting provider_filter to efa",
		"NET/OFI Internode latency set at 75.0 us",
		"NET/OFI Using transport protocol RDMA (platform set)",
		fmt.Sprintf("NET/OFI Selected provider is efa, fabric is efa-direct (found %d nics)", GPUs),
	}
	for i := range GPUs {
		messages = append(messages, fmt.Sprintf("NET/OFI NIC group %d device #0 0000:%02x:00.0", i, 0x50+i))
	}
	messages = append(messages,
		"Initialized NET plugin Libfabric",
		"Assigned NET plugin Libfabric to comm",
		"Using network Libfabric",
		"ncclCommInitRankConfig "+comm+" - Init START",
		"Setting affinity for GPU 0 to ffff",
		fmt.Sprintf("comm 0x55d0c0ffee%02x rank %d nRanks %d nNodes %d localRanks %d localRank %d MNNVL 0",
			rank%GPUs, rank, ranks, ranks/GPUs, GPUs, rank%GPUs),
		fmt.Sprintf("Trees [0] %d/-1/-1->%d->%d [1] %d/-1/-1->%d->%d", rank+1, rank, rank-1, rank+1, rank, rank-1),
		"P2P Chunksize set to 131072",
		"threadThresholds 8/8/64 | 512/8/64 | 512 | 512",
		fmt.Sprintf("%d coll channels, %d collnet channels, 0 nvls channels, %d p2p channels, 2 p2p channels per peer", channels, channels, channels),
		"CC Off, workFifoBytes 1048576",
		"ncclCommInitRankConfig "+comm+" - Init COMPLETE",
		fmt.Sprintf("Init timings - ncclCommInitRankConfig: rank %d nranks %d total 3.21 (kernels 0.20, alloc 0.41, bootstrap 1.02, allgathers 0.04, topo 0.90, graphs 0.01, connections 0.60, rest 0.03)", rank, ranks))
	return prefixed(rank, messages)
}

// edgeLines are the rings. The ring of each channel enters a node at another
// GPU, whose card is next to it, and leaves it at the GPU before.
func edgeLines(rank, ranks int) []string {
	node, gpu := rank/GPUs, rank%GPUs
	nodes := ranks / GPUs
	var messages []string
	for c := range channels {
		enter, leave := c%GPUs, (c+GPUs-1)%GPUs
		if gpu == enter {
			from := (node+nodes-1)%nodes*GPUs + leave
			messages = append(messages, fmt.Sprintf("Channel %02d/0 : %d[%d] -> %d[%d] [receive] via NET/Libfabric/%d/GDRDMA", c, from, leave, rank, gpu, gpu))
		}
		if gpu == leave {
			to := (node+1)%nodes*GPUs + enter
			messages = append(messages, fmt.Sprintf("Channel %02d/0 : %d[%d] -> %d[%d] [send] via NET/Libfabric/%d/GDRDMA", c, rank, gpu, to, enter, gpu))
		} else {
			messages = append(messages, fmt.Sprintf("Channel %02d/0 : %d[%d] -> %d[%d] via P2P/CUMEM/read", c, rank, gpu, node*GPUs+(gpu+1)%GPUs, (gpu+1)%GPUs))
		}
	}
	messages = append(messages, "Connected all rings, use ring PXN 0 GDR 1")
	return prefixed(rank, messages)
}

func prefixed(rank int, messages []string) []string {
	lines := make([]string, len(messages))
	for i, m := range messages {
		lines[i] = fmt.Sprintf("node-%d:%d:%d [%d] NCCL INFO %s", rank/GPUs, 100+rank%GPUs, 900+rank%GPUs, rank%GPUs, m)
	}
	return lines
}
