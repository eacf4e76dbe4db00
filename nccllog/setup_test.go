package nccllog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/nccllog"
)

// say makes a line of the thread tid of process 1: "2 Using network IB".
func say(messages ...string) string {
	var b strings.Builder
	for _, m := range messages {
		tid, msg, _ := strings.Cut(m, " ")
		fmt.Fprintf(&b, "h:1:%s [0] NCCL INFO %s\n", tid, msg)
	}
	return b.String()
}

// runs tells of each edge its run and its communicator, and what ended the runs.
func runs(log *nccllog.Log) []string {
	var list []string
	for _, p := range log.Processes {
		for _, e := range p.Edges {
			list = append(list, fmt.Sprintf("run %d comm %x: %02d/%d %d -> %d %s", e.Setup, e.Comm, e.Channel, e.Conn, e.From, e.To, e.Transport))
		}
		for _, c := range p.Connected {
			list = append(list, fmt.Sprintf("run %d comm %x: %s", c.Setup, c.Comm, c.Kind))
		}
	}
	return list
}

const (
	world   = "ncclCommInitRankConfig comm 0xaa rank 0 nranks 8 cudaDev 0 nvmlDev 0 busId 60 commId 0x1 - Init "
	shard   = "ncclCommSplit comm 0xbb rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 60 parent 0xaa splitCount 1 color 0 key 0"
	replica = "ncclCommInitRankConfig comm 0xcc rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0x3 - Init "
)

func TestSetup(t *testing.T) {
	tests := []struct {
		name  string
		lines []string
		want  []string
	}{
		{"one communicator, connected at run time", []string{
			"2 Using network Libfabric", "2 " + world + "START", "2 " + world + "COMPLETE",
			"2 Channel 00/0 : 7[7] -> 0[0] [receive] via NET/Libfabric/0/GDRDMA",
			"2 Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM",
			"2 Connected all rings, use ring PXN 0 GDR 1",
			"3 Channel 00/0 : 0[0] -> 4[4] [send] via NET/Libfabric/0/GDRDMA",
			"3 Connected all trees",
			"3 Channel 00/1 : 0[0] -> 5[5] [send] via NET/Libfabric/0/GDRDMA",
		}, []string{
			"run 1 comm aa: 00/0 7 -> 0 NET", "run 1 comm aa: 00/0 0 -> 1 P2P",
			"run 1 comm aa: 00/0 0 -> 4 NET", "run 1 comm aa: 00/1 0 -> 5 NET",
			"run 1 comm aa: rings", "run 1 comm aa: trees",
		}},
		{"HSDP: all ranks are 0, Connected ends the runs", []string{
			"2 " + world + "START", "2 " + world + "COMPLETE",
			"2 " + shard + "- Init START", "2 " + shard + " - Init COMPLETE",
			"2 " + replica + "START", "2 " + replica + "COMPLETE",
			"2 Channel 00/0 : 1[1] -> 0[0] [receive] via NET/Socket/0",
			"2 Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0",
			"2 Connected all rings, use ring PXN 0 GDR 0",
			"2 Channel 00/0 : 3[3] -> 0[0] [receive] via NET/Libfabric/0",
			"2 Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM",
			"2 Connected all rings, use ring PXN 0 GDR 1",
			"2 Channel 00/0 : 2[2] -> 0[0] [receive] via NET/Libfabric/0",
			"2 Channel 00/0 : 0[0] -> 5[5] [send] via NET/Libfabric/0",
			"2 Connected all trees",
		}, []string{
			"run 1 comm 0: 00/0 1 -> 0 NET", "run 1 comm 0: 00/0 0 -> 1 NET",
			"run 2 comm 0: 00/0 3 -> 0 NET", "run 2 comm 0: 00/0 0 -> 1 P2P",
			"run 3 comm aa: 00/0 2 -> 0 NET", "run 3 comm aa: 00/0 0 -> 5 NET",
			"run 1 comm 0: rings", "run 2 comm 0: rings", "run 3 comm aa: trees",
		}},
		{"threads connect at the same time", []string{
			"2 " + world + "START", "2 " + world + "COMPLETE", "2 " + replica + "START", "2 " + replica + "COMPLETE",
			"5 Channel 00/0 : 1[1] -> 0[0] [receive] via NET/Socket/0",
			"6 Channel 00/0 : 1[1] -> 0[0] [receive] via NET/Socket/0",
			"5 Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0",
			"6 Connected all rings",
			"5 Connected all rings",
		}, []string{
			"run 1 comm 0: 00/0 1 -> 0 NET", "run 2 comm 0: 00/0 1 -> 0 NET", "run 1 comm 0: 00/0 0 -> 1 NET",
			"run 2 comm 0: rings", "run 1 comm 0: rings",
		}},
		{"NVLS names the communicator of its trees", []string{
			"2 " + world + "START", "2 " + world + "COMPLETE", "2 " + replica + "START", "2 " + replica + "COMPLETE",
			"2 NVLS comm 0xcc headRank 0 nHeads 2 nvlsRanks 2 buffSize 1048576 nvlsPerRankSize 1 nvlsTotalSize 2",
			"2 Channel 00/0 : 1[1] -> 0[0] [receive] via NET/IB/0/GDRDMA",
			"2 Connected NVLS tree",
			"2 Channel 00/0 : 1[1] -> 0[0] [receive] via NET/IB/0/GDRDMA",
		}, []string{
			"run 1 comm cc: 00/0 1 -> 0 NET", "run 2 comm 0: 00/0 1 -> 0 NET", "run 1 comm cc: nvls trees",
		}},
		{"pipeline: peers are runs of their own", []string{
			"2 " + world + "START", "2 " + world + "COMPLETE", "2 " + replica + "START", "2 " + replica + "COMPLETE",
			"2 Channel 00/1 : 0[0] -> 1[1] [send] via NET/Socket/0",
			"2 Channel 01/1 : 0[0] -> 1[1] [send] via NET/Socket/0",
			"2 Channel 00/1 : 0[0] -> 1[1] [send] via NET/Libfabric/0",
			"2 Channel 00/1 : 0[0] -> 5[5] [send] via NET/Libfabric/0",
		}, []string{
			"run 1 comm 0: 00/1 0 -> 1 NET", "run 1 comm 0: 01/1 0 -> 1 NET", "run 2 comm 0: 00/1 0 -> 1 NET",
			"run 3 comm aa: 00/1 0 -> 5 NET",
		}},
		{"SHM edges do not tell whether they are of a collective", []string{
			"2 " + world + "START", "2 " + world + "COMPLETE", "2 " + replica + "START", "2 " + replica + "COMPLETE",
			"2 Channel 00 : 0[0] -> 1[1] via SHM/direct/direct",
			"2 Channel 00/0 : 1[1] -> 0[0] [receive] via NET/IB/0",
			"2 Channel 01 : 0[0] -> 1[1] via SHM/direct/direct",
			"2 Connected all rings",
		}, []string{
			"run 1 comm 0: 00/0 0 -> 1 SHM", "run 2 comm 0: 00/0 1 -> 0 NET", "run 2 comm 0: 01/0 0 -> 1 SHM",
			"run 2 comm 0: rings",
		}},
		{"one process with two GPUs", []string{
			"2 " + world + "START", "2 " + world + "COMPLETE",
			"3 " + strings.Replace(strings.Replace(world, "0xaa", "0xab", 1), "rank 0", "rank 1", 1) + "COMPLETE",
			"5 Channel 00/0 : 0[0] -> 1[1] via P2P/direct pointer",
			"6 Channel 00/0 : 1[1] -> 2[2] [send] via NET/IB/0",
		}, []string{"run 1 comm aa: 00/0 0 -> 1 P2P", "run 2 comm ab: 00/0 1 -> 2 NET"}},
		{"NCCL 2.16: the name comes last", []string{
			"2 Using network IB", "2 Trees [0] 1/-1/-1->0->-1",
			"2 Channel 00/0 : 1[1b0] -> 0[1b0] [receive] via NET/IB/0", "2 Connected all rings",
			"2 Channel 00/0 : 0[1b0] -> 1[1b0] [send] via NET/IB/0", "2 Connected all trees",
			"2 comm 0xaa rank 0 nranks 2 cudaDev 0 busId 1b0 commId 0x1 - Init COMPLETE",
			"2 Using network IB", "2 Trees [0] 1/-1/-1->0->-1",
			"2 Channel 00/0 : 3[1b0] -> 0[1b0] [receive] via NET/IB/0", "2 Connected all rings",
			"2 comm 0xbb rank 0 nranks 4 cudaDev 0 busId 1b0 commId 0x2 - Init COMPLETE",
			"2 Channel 00/1 : 0[1b0] -> 1[1b0] [send] via NET/IB/0/Shared",
		}, []string{
			"run 1 comm aa: 00/0 1 -> 0 NET", "run 1 comm aa: 00/0 0 -> 1 NET", "run 2 comm bb: 00/0 3 -> 0 NET",
			"run 3 comm 0: 00/1 0 -> 1 NET",
			"run 1 comm aa: rings", "run 1 comm aa: trees", "run 2 comm bb: rings",
		}},
		{"NCCL 2.8: the network is named once a process", []string{
			"2 Using network IB",
			"2 Channel 00/02 :    0   1", "2 Trees [0] 1/-1/-1->0->-1",
			"2 Channel 00 : 1[1b0] -> 0[1b0] [receive] via NET/IB/0", "2 Connected all rings",
			"2 comm 0xaa rank 0 nranks 2 cudaDev 0 busId 1b0 - Init COMPLETE",
			"2 Trees [0] 1/-1/-1->0->-1",
			"2 Channel 00 : 1[1b0] -> 0[1b0] [receive] via NET/IB/0", "2 Connected all rings",
			"2 comm 0xbb rank 0 nranks 4 cudaDev 0 busId 1b0 - Init COMPLETE",
		}, []string{
			"run 1 comm aa: 00/0 1 -> 0 NET", "run 2 comm bb: 00/0 1 -> 0 NET",
			"run 1 comm aa: rings", "run 2 comm bb: rings",
		}},
		{"NCCL 2.4", []string{
			"2 Channel 00 :    0   1", "2 Channel 01 :    0   1",
			"2 Ring 00 : 1 -> 0 [receive] via NET/Socket/0", "2 Ring 00 : 0 -> 1 [send] via NET/Socket/0",
			"2 comm 0xaa rank 0 nranks 2 cudaDev 0 nvmlDev 0 - Init COMPLETE",
		}, []string{"run 1 comm aa: 00/0 1 -> 0 NET", "run 1 comm aa: 00/0 0 -> 1 NET"}},
		{"RCCL names the communicator", []string{
			"2 Channel 00/0 : 1[1] -> 0[0] [receive] via NET/IB/0 comm 0xaa nRanks 02",
			"2 Channel 00/0 : 3[1] -> 0[0] [receive] via NET/IB/0 comm 0xbb nRanks 04",
			"2 comm 0xaa rank 0 nranks 2 cudaDev 0 busId c1000 localSize 88 used 18944 bytes - Init COMPLETE",
			"2 Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0 comm 0xbb nRanks 04",
		}, []string{"run 1 comm aa: 00/0 1 -> 0 NET", "run 2 comm bb: 00/0 3 -> 0 NET", "run 2 comm bb: 00/0 0 -> 1 NET"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, runs(parse(say(tt.lines...)))); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCommOf: the pointer of a communicator that is gone may be used again.
func TestCommOf(t *testing.T) {
	const start = "2 ncclCommInitRank comm 0xaa rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0x%d - Init %s"
	const edge = "2 Channel 00/0 : 1[1] -> 0[0] [receive] via NET/IB/0"
	log := parse(say(
		fmt.Sprintf(start, 1, "START"), edge, fmt.Sprintf(start, 1, "COMPLETE"),
		"2 comm 0xaa rank 0 nranks 2 cudaDev 0 busId 60 - Destroy COMPLETE",
		fmt.Sprintf(start, 2, "START"), edge, fmt.Sprintf(start, 2, "COMPLETE"),
	))
	var got []string
	for _, p := range log.Processes {
		for _, e := range p.Edges {
			got = append(got, p.CommOf(e).ID)
		}
	}
	if diff := cmp.Diff([]string{"0x1", "0x2"}, got); diff != "" {
		t.Errorf("communicators (-want +got):\n%s", diff)
	}
}
