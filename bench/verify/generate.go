package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	gpusPerNode = 8
	channels    = 16
)

// kind is one kind of log: line returns the line number i, without its end.
type kind struct {
	name string
	line func(i int) string
}

var kinds = []kind{
	{"a  training log, few NCCL lines", training},
	{"b  NCCL INFO only", info},
	{"c  mixed-network storm", storm},
	{"d  docker JSON of b", docker(info)},
	{"d' docker JSON of a", docker(training)},
	{"e  b in Ray's driver log, coloured", ray(info)},
}

// generate writes a log of about the size; lines repeat after a few megabytes.
// It keeps nothing in memory: what a program's parent holds counts as its own.
func generate(path string, k kind, size int64) (int64, error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	var unit int64
	for i := 0; unit < 16<<20; i++ {
		n, err := w.WriteString(k.line(i) + "\n")
		if err != nil {
			return 0, err
		}
		unit += int64(n)
	}
	if err := w.Flush(); err != nil {
		return 0, err
	}
	written := unit
	for written < size {
		n, err := io.Copy(f, io.NewSectionReader(f, 0, unit))
		if err != nil {
			return written, err
		}
		written += n
	}
	return written, f.Close()
}

// training is what a training program prints: metrics, progress bars, logging,
// and NCCL's lines while its communicator is initialised.
func training(i int) string {
	if i < 200 {
		return info(i)
	}
	step := i / 8
	switch i % 8 {
	case 0, 4:
		return fmt.Sprintf(`{"step": %d, "loss": %.4f, "grad_norm": %.3f, "tokens_per_s": %d, "lr": 3e-05, "epoch": %.2f}`,
			step, 2+float64(i%97)/100, float64(i%31)/10, 18000+i%811, float64(step)/4096)
	case 1:
		return fmt.Sprintf("2026-11-29 22:41:%02d,%03d INFO trainer.py:%d -- step %d of 40960 done in %d ms", i%60, i%1000, 100+i%9, step, 800+i%57)
	case 2:
		return fmt.Sprintf("\r %d%%|%-40s| %d/40960 [%02d:%02d<12:03:11,  1.21it/s]", step%100, strings.Repeat("█", step%40), step, i/60%60, i%60)
	case 3:
		return "\x1b[36m(RayTrainWorker pid=3360, ip=10.0.0.7)\x1b[0m Reporting training result: TrainingReport(checkpoint=None, validation=False)"
	case 5:
		return fmt.Sprintf("  File \"/usr/lib/python3/dist-packages/torch/nn/modules/module.py\", line %d, in _call_impl", 1500+i%20)
	case 6:
		return fmt.Sprintf("[rank%d]: UserWarning: Grad strides do not match bucket view strides (%d, %d)", i%8, i%1024, i%512)
	}
	return fmt.Sprintf("INFO:root:GPU %d memory allocated %.2f GiB, reserved %.2f GiB, Now at shard %d", i%8, 31.5, 38.25, i)
}

// info is NCCL's output of eight ranks in one file, line by line.
func info(i int) string {
	rank, n := i%gpusPerNode, i/gpusPerNode
	lines := rankLines(rank, 64)
	return lines[n%len(lines)]
}

// storm is what the ranks on Socket print where others use another network.
func storm(i int) string {
	if i < 400 {
		return info(i)
	}
	return fmt.Sprintf("node-0:7375:7820 [1] NCCL INFO socketFinalizeAccept: didn't receive a valid magic from 10.0.0.7<%d>", 1024+i%60000)
}

// ray wraps lines as Ray's driver log does.
func ray(line func(int) string) func(int) string {
	return func(i int) string {
		return fmt.Sprintf("\x1b[36m(RayTrainWorker pid=%d, ip=10.0.0.7)\x1b[0m %s", 100+i%gpusPerNode, line(i))
	}
}

// docker wraps lines as Docker's json-file driver does.
func docker(line func(int) string) func(int) string {
	return func(i int) string {
		text, _ := json.Marshal(line(i) + "\n")
		return fmt.Sprintf(`{"log":%s,"stream":"stdout","time":"2026-11-29T22:41:22.%09dZ"}`, text, i)
	}
}

var rankCache = map[[2]int][]string{}

// rankLines returns NCCL's lines of one rank of a healthy job on EFA.
func rankLines(rank, ranks int) []string {
	key := [2]int{rank, ranks}
	if lines, ok := rankCache[key]; ok {
		return lines
	}
	lines := append(initLines(rank, ranks), edgeLines(rank, ranks)...)
	if rank < gpusPerNode {
		rankCache[key] = lines
	}
	return lines
}

func initLines(rank, ranks int) []string {
	comm := fmt.Sprintf("comm 0x55d0c0ffee%02x rank %d nranks %d cudaDev %d nvmlDev %d busId %x0 commId 0xfeedbeefcafe",
		rank%gpusPerNode, rank, ranks, rank%gpusPerNode, rank%gpusPerNode, 0x53+rank%gpusPerNode)
	messages := []string{
		"NCCL_SOCKET_IFNAME set by environment to ^lo,docker",
		fmt.Sprintf("Bootstrap: Using eth0:10.0.%d.%d<0>", rank/gpusPerNode/256, rank/gpusPerNode%256),
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
		fmt.Sprintf("NET/OFI Selected provider is efa, fabric is efa-direct (found %d nics)", gpusPerNode),
	}
	for i := range gpusPerNode {
		messages = append(messages, fmt.Sprintf("NET/OFI NIC group %d device #0 0000:%02x:00.0", i, 0x50+i))
	}
	messages = append(messages,
		"Initialized NET plugin Libfabric",
		"Assigned NET plugin Libfabric to comm",
		"Using network Libfabric",
		"ncclCommInitRankConfig "+comm+" - Init START",
		"Setting affinity for GPU 0 to ffff",
		fmt.Sprintf("comm 0x55d0c0ffee%02x rank %d nRanks %d nNodes %d localRanks %d localRank %d MNNVL 0",
			rank%gpusPerNode, rank, ranks, ranks/gpusPerNode, gpusPerNode, rank%gpusPerNode),
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
	node, gpu := rank/gpusPerNode, rank%gpusPerNode
	nodes := ranks / gpusPerNode
	var messages []string
	for c := range channels {
		enter, leave := c%gpusPerNode, (c+gpusPerNode-1)%gpusPerNode
		if gpu == enter {
			from := (node+nodes-1)%nodes*gpusPerNode + leave
			messages = append(messages, fmt.Sprintf("Channel %02d/0 : %d[%d] -> %d[%d] [receive] via NET/Libfabric/%d/GDRDMA", c, from, leave, rank, gpu, gpu))
		}
		if gpu == leave {
			to := (node+1)%nodes*gpusPerNode + enter
			messages = append(messages, fmt.Sprintf("Channel %02d/0 : %d[%d] -> %d[%d] [send] via NET/Libfabric/%d/GDRDMA", c, rank, gpu, to, enter, gpu))
		} else {
			messages = append(messages, fmt.Sprintf("Channel %02d/0 : %d[%d] -> %d[%d] via P2P/CUMEM/read", c, rank, gpu, node*gpusPerNode+(gpu+1)%gpusPerNode, (gpu+1)%gpusPerNode))
		}
	}
	messages = append(messages, "Connected all rings, use ring PXN 0 GDR 1")
	return prefixed(rank, messages)
}

func prefixed(rank int, messages []string) []string {
	lines := make([]string, len(messages))
	for i, m := range messages {
		lines[i] = fmt.Sprintf("node-%d:%d:%d [%d] NCCL INFO %s", rank/gpusPerNode, 100+rank%gpusPerNode, 900+rank%gpusPerNode, rank%gpusPerNode, m)
	}
	return lines
}

// jobBytes is about what each rank of the job prints.
const jobBytes = 500 << 10

// generateJob writes one file a rank: NCCL's lines, then the training's.
func generateJob(dir string, ranks int) (int64, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return 0, err
	}
	var rest strings.Builder
	for i := 200; rest.Len() < jobBytes; i++ {
		rest.WriteString(training(i) + "\n")
	}
	var size int64
	for rank := range ranks {
		n, err := writeRank(filepath.Join(dir, fmt.Sprintf("rank-%04d.out", rank)), rankLines(rank, ranks), rest.String())
		if err != nil {
			return size, err
		}
		size += n
	}
	return size, nil
}

func writeRank(path string, lines []string, rest string) (int64, error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	size := 0
	for _, text := range append(lines, rest) {
		n, _ := w.WriteString(strings.TrimSuffix(text, "\n") + "\n")
		size += n
	}
	if err := w.Flush(); err != nil {
		return 0, err
	}
	return int64(size), f.Close()
}
