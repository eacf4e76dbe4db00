package nccllog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/trainyard/trainyard/nccllog"
)

func TestEdges(t *testing.T) {
	type edge = nccllog.Edge
	tests := []struct {
		line string
		want edge
	}{
		{"Channel 00/0 : 1[1] -> 0[0] [receive] via NET/Socket/0", edge{From: 1, Direction: "receive", Transport: "NET", Net: "Socket", Proxy: -1}},
		{"Channel 03/1 : 12[4] -> 7[3] [send] via NET/Libfabric/2(5)/GDRDMA(PCI)/Shared", edge{Channel: 3, Conn: 1, From: 12, To: 7, Direction: "send", Transport: "NET", Net: "Libfabric", Device: 2, Proxy: 5, GDR: true, Shared: true}},
		{"Channel 00/0 : 1[a01d0] -> 2[a01d0] [send] via NET/AWS Libfabric/0/GDRDMA", edge{From: 1, To: 2, Direction: "send", Transport: "NET", Net: "AWS Libfabric", Proxy: -1, GDR: true}},
		{"Channel 01 : 0[1b0] -> 1[1c0] [receive] via NET/IB/1/Shared", edge{Channel: 1, To: 1, Direction: "receive", Transport: "NET", Net: "IB", Device: 1, Proxy: -1, Shared: true}},
		{"Ring 00 : 1 -> 0 [receive] via NET/Socket/0", edge{From: 1, Direction: "receive", Transport: "NET", Net: "Socket", Proxy: -1}},
		{"Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read", edge{To: 1, Transport: "P2P", Net: "CUMEM/read", Proxy: -1}},
		{"Channel 00 : 0[0] -> 1[1] via SHM/direct/direct", edge{To: 1, Transport: "SHM", Net: "direct/direct", Proxy: -1}},
		{"Channel 00 : 0[1b0] -> 1[1c0] via direct shared memory", edge{To: 1, Transport: "SHM", Net: "direct", Proxy: -1}},
		{"Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0 comm 0x55 nRanks 02", edge{To: 1, Direction: "send", Transport: "NET", Net: "IB", Proxy: -1}},
		{"Channel 00/0 : 0[0] -> 1[1] [send] via NET/IBext_v8/1(6)/GDRDMA", edge{To: 1, Direction: "send", Transport: "NET", Net: "IBext_v8", Device: 1, Proxy: 6, GDR: true}},
		// 2.4 to 2.6 say Ring; 2.4 prints no devices, or CUDA's.
		{"Ring 01 : 0 -> 1 [send] via NET/IB/0/GDRDMA", edge{Channel: 1, To: 1, Direction: "send", Transport: "NET", Net: "IB", Proxy: -1, GDR: true}},
		{"Ring 00 : 0[3] -> 1[4] via P2P/IPC", edge{To: 1, Transport: "P2P", Net: "IPC", Proxy: -1}},
		{"Ring 00 : 0 -> 1 via P2P/common device", edge{To: 1, Transport: "P2P", Net: "common device", Proxy: -1}},
		{"Ring 00 : 0[1b0] -> 1[1c0] via direct shared memory", edge{To: 1, Transport: "SHM", Net: "direct", Proxy: -1}},
		// 2.12 brought the index of the connection and borrowed cards, 2.26 (PCI).
		{"Channel 00/0 : 0[1b0] -> 8[1b0] [send] via NET/AWS Libfabric/1(3)/GDRDMA", edge{To: 8, Direction: "send", Transport: "NET", Net: "AWS Libfabric", Device: 1, Proxy: 3, GDR: true}},
		{"Channel 02/1 : 0[0] -> 8[0] [send] via NET/IB/1(3)/GDRDMA/Shared", edge{Channel: 2, Conn: 1, To: 8, Direction: "send", Transport: "NET", Net: "IB", Device: 1, Proxy: 3, GDR: true, Shared: true}},
		{"Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/1/GDRDMA(PCI)", edge{To: 8, Direction: "send", Transport: "NET", Net: "IB", Device: 1, Proxy: -1, GDR: true}},
		{"Channel 00/0 : 0[0] -> 8[0] [send] via NET/OFI/12", edge{To: 8, Direction: "send", Transport: "NET", Net: "OFI", Device: 12, Proxy: -1}},
		{"Channel 00/0 : 0[0] -> 8[0] [send] via NET/FasTrak/7/GDRDMA", edge{To: 8, Direction: "send", Transport: "NET", Net: "FasTrak", Device: 7, Proxy: -1, GDR: true}},
		{"Channel 00/0 : 0[1b0] -> 1[1c0] via P2P/direct pointer/read", edge{To: 1, Transport: "P2P", Net: "direct pointer/read", Proxy: -1}},
		{"Channel 00/0 : 0[0] -> 1[1] via P2P/indirect/3[3]/read", edge{To: 1, Transport: "P2P", Net: "indirect/3[3]/read", Proxy: -1}},
		{"Channel 00/0 : 0[0] -> 1[1] via P2P/IPC/read/CE", edge{To: 1, Transport: "P2P", Net: "IPC/read/CE", Proxy: -1}},
		{"Channel 00/0 : 0[0] -> 4[0] via P2P/MNNVL", edge{To: 4, Transport: "P2P", Net: "MNNVL", Proxy: -1}},
		{"Channel 00 : 0[0] -> 1[1] via SHM/CE/direct", edge{To: 1, Transport: "SHM", Net: "CE/direct", Proxy: -1}},
		{"Channel 00 : 0[0] -> 1[1] via SHM/direct", edge{To: 1, Transport: "SHM", Net: "direct", Proxy: -1}},
		{"Channel 00/0 : 0[0] -> 1[1] via P2P/IPC comm 0x55 nRanks 02", edge{To: 1, Transport: "P2P", Net: "IPC", Proxy: -1}},
	}
	ignore := cmpopts.IgnoreFields(edge{}, "Comm", "Setup", "Count", "Fact")
	for _, tt := range tests {
		p := one(t, tt.line)
		if len(p.Edges) != 1 {
			t.Errorf("%s: %d edges", tt.line, len(p.Edges))
			continue
		}
		if diff := cmp.Diff(&tt.want, p.Edges[0], ignore); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.line, diff)
		}
	}
}

func TestNoEdges(t *testing.T) {
	tests := []struct {
		line     string
		unparsed int64
	}{
		{"Channel 00/08 :    0   1   2   3", 0},
		{"Ring 00 : 1 -> 0 -> 1", 0},
		{"Channel 00 :    0   1   2   3", 0},
		{"Channel 00/08 :", 0},
		{"Channel 00/08 : 0 1 2 ", 0},
		{"CollNet 00/0 : 0 [receive] via COLLNET/SHARP/1/GDRDMA", 0},
		{"CollNet 00 : 0 [send] via COLLNET/SHARP/1/GDRDMA", 0},
		{"Coll 00 : 0 [send] via COLLNET/SHARP/1/GDRDMA", 0},
		{"Trees [0] 1/-1/-1->0->-1", 0},
		{"NVLS comm 0x7f headRank 0 nHeads 8 buffSize 1048576 memSize 2097152 nvlsPerRankSize 201326592 nvlsTotalSize 1610612736", 0},
		{"NVLS multicast support is available on dev 0 (NVLS_NCHANNELS 16)", 0},
		{"Channel 00/0 : 1[1] -> 0[0] [rece", 1},
		{"Channel 00/0 : 1[1] -> 0[0] [receive] via NET/Sock", 1},
		{"Channel 00/0 : 1[1] -> 0[0] [receive] via NET/Socket/", 1},
		{"Channel 00/0 : 1[1] -> 0[0] [receive] via NET/Libfabric/0/GDRD", 1},
		{"Channel 00/0 : 1[1] -> 0[0] via NET/Socket/0", 1},
		{"Channel 00/0 : 1[1 -> 0[0] via P2P/IPC", 1},
		{"Channel 00/0 : 1[] -> 0[0] via P2P/IPC", 1},
		{"Channel 00/0 : 1[1] -> 0[", 1},
		{"Channel 00/0 : 1[1] -> 0[0]", 1},
		{"Channel 99999999999999999999/0 : 1[1] -> 0[0] via P2P/IPC", 1},
	}
	for _, tt := range tests {
		log := parse("h:1:2 [0] NCCL INFO " + tt.line + "\n")
		if n := len(log.Processes[0].Edges); n != 0 || log.Unparsed.Count != tt.unparsed {
			t.Errorf("%s: %d edges, %d unparsed, want %d", tt.line, n, log.Unparsed.Count, tt.unparsed)
		}
	}
}
