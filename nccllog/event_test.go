package nccllog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/nccllog"
)

// TestEvents has the wordings of all versions. Where nothing is wanted the
// message is INFO that is no error; harmless warnings are of the kind warn.
func TestEvents(t *testing.T) {
	const edge = "Channel 00/0 : 1[1] -> 0[0] [receive] via NET/Socket/0"
	tests := []struct {
		level, before, message string
		want                   nccllog.EventKind
	}{
		{"WARN", "", "Bootstrap : no socket interface found", "bootstrap"},
		{"WARN", "", "Bootstrap Root : mismatch in rank count from procs 4 : 2", "bootstrap"},
		{"WARN", "", "Bootstrap Root : rank 1 of 2 ranks has already checked in", "bootstrap"},
		{"WARN", "", "NET/Socket : No usable listening interface found", "bootstrap"},
		{"WARN", "", "Net : No interface found in the same subnet as remote address 10.0.0.2<7>", "bootstrap"},
		{"WARN", "", "Net : error encountered when getting address info : Name or service not known", "bootstrap"},
		{"WARN", "", "Invalid NCCL_COMM_ID, please use format: <ipv4>:<port> or [<ipv6>]:<port> or <hostname>:<port>", "bootstrap"},

		{"INFO", "", "Call to connect returned Connection refused, retrying", "retry"},
		{"INFO", "", "socketPollConnect: connect returned Connection refused, retrying (3/34) after sleep for 300 msec", "retry"},
		{"INFO", "", "socketPollConnect: connect to 10.0.0.2<4711> returned Connection refused, retrying (3/34) after sleep for 300 msec", "retry"},
		{"INFO", "", "ncclOsSocketPollConnect: connect to 10.0.0.2<4711> returned Connection timed out, retrying (3/34) after sleep for 300 msec", "retry"},

		{"WARN", "", "Connect to 10.0.0.2<4711> failed : No route to host", "bootstrap"},
		{"WARN", "", "Net : Connect to 10.0.0.2<4711> failed : No route to host", "bootstrap"},
		{"WARN", edge, "Net : Connect to 10.0.0.2<4711> failed : No route to host", "network"},
		{"WARN", "", "socketStartConnect: exceeded retries (20000)", "bootstrap"},
		{"WARN", edge, "socketStartConnect: exceeded timeouts (3)", "network"},
		{"WARN", edge, "socketStartConnect: Connect to 10.0.0.2<4711> failed : No route to host", "network"},
		{"WARN", "", "socketPollConnect: connect returned Connection refused, exceeded error retry count (35)", "bootstrap"},
		{"WARN", "", "socketPollConnect: connect to 10.0.0.2<4711> returned Connection refused, exceeded error retry count after 35 attempts", "bootstrap"},
		{"WARN", edge, "socketTryAccept: exceeded error retry count after 35 attempts, Bad file descriptor", "network"},
		{"WARN", edge, "socketPollConnect to 10.0.0.2<4711> failed with error Connection refused", "network"},
		{"WARN", edge, "ncclOsSocketPollConnect to 10.0.0.2<4711> failed with error Connection refused", "network"},

		{"WARN", "", "Net : Connection closed by remote peer", "network"},
		{"WARN", "", "Net : Connection closed by remote peer node1<4711>", "network"},
		{"WARN", "", "socketProgress: Connection closed by remote peer node1<4711>", "network"},
		{"WARN", "", "Call to recv failed : Connection reset by peer", "network"},
		{"WARN", "", "Net : Call to recv from 10.0.0.2<4711> failed : Connection reset by peer", "network"},
		{"WARN", "", "socketProgressOpt: Call to recv from 10.0.0.2<4711> failed : Connection reset by peer", "network"},
		{"WARN", "", "NET/Socket : socket progress error", "network"},

		{"WARN", "", "socketFinalizeAccept: wrong magic 4e434c00 != 1", "foreign-peer"},
		{"WARN", "", "socketFinalizeAccept: wrong type 4 != 3", "foreign-peer"},
		{"WARN", "", "socketFinalizeAccept from 10.0.0.2<4711>: wrong type 4 != 3", "foreign-peer"},
		{"INFO", "", "socketFinalizeAccept: didn't receive a valid magic from 192.0.2.2<1024>", "foreign-peer"},

		{"WARN", "", "NET/OFI Request 0x7f00 completed with error. RC: 103. Error: 4126 (Unresponsive receiver (reachable by EFA device but handshake failed)). Completed length: 0, Request: RECV", "network"},
		{"WARN", "", "NET/OFI Request 0x7f00 seq 12 completed with error. RC: 5. Error: 12 (x). Completed length: 0", "network"},
		{"WARN", "", "NET/OFI Request 0x7f00 (WRITE) completed with error: err: 113, flags: 0, prov_errno: 4116, strerror: Unreachable remote peer, len: 0", "network"},
		{"WARN", "", "NET/OFI Remote write completed with error. RC: 5. Error: 12 (x). Completed length: 0", "network"},
		{"WARN", "", "NET/OFI Operation with NULL context completed with error!", "network"},
		{"WARN", "", "NET/OFI Fatal: Bounce buffer recv completed with error", "network"},
		{"WARN", "", "NET/OFI Unexpected number of remote rails for dev 0. Expected 3 but got 2", "network"},
		{"WARN", "", "NET/OFI Unable to insert remote address into address vector for device 0. RC: -22", "network"},
		{"WARN", "", "NET/OFI CM: Unable to insert remote address into address vector for device.", "network"},

		{"WARN", "", "NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129", "network"},
		{"WARN", "", "NET/IB : Got completion from peer 10.0.0.2<4711> with error 12, opcode 0, len 0, vendor err 129 (Send)", "network"},
		{"WARN", "", "NET/IB: Got completion from peer 10.0.0.2<4711> with status=12 opcode=0 len=0 vendor err 129 (Send) hca mlx5_0", "network"},
		{"WARN", "", "NET/IB : mlx5_0:1 async fatal event: local catastrophic error", "network"},
		{"WARN", "", "Call to ibv_modify_qp failed with error Connection timed out", "network"},

		{"WARN", "", "Detected mixed local Net device counts across ranks (min 1, max 4). Set NCCL_IGNORE_NET_MISMATCH=1 to continue.", "mismatch"},
		{"WARN", "", "Mismatched NCCL version detected : rank 0 version 22707 rank 1 version 22809", "mismatch"},
		{"INFO", "", "Detected mixed local Net device counts across ranks (min 1, max 4). Ignoring due to NCCL_IGNORE_NET_MISMATCH=1", ""},
		{"WARN", "", "Detected mixed local CollNet device counts across ranks (min 0, max 1).", "warn"},

		{"WARN", "", "Call to bind failed: Address already in use", "warn"},
		{"WARN", "", "NET/OFI GIN only supports RDMA transport protocol.", "warn"},
		{"WARN", "", "Cannot initialize CollNet, using point-to-point network instead", "warn"},
		{"WARN", "", "ncclSocketInit: connecting to address  with family 1 is neither AF_INET(2) nor AF_INET6(10)", "warn"},
		{"WARN", "", "Net : connecting to address  with family 1 is neither AF_INET(2) nor AF_INET6(10)", "warn"},
		{"WARN", "", "NET/IB : mlx5_0:1 Got non-fatal async event: client reregistration event(17)", "warn"},
		{"WARN", "", "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 60", "warn"},
		{"INFO", "", "Call to accept returned Resource temporarily unavailable, retrying", ""},
		{"INFO", "", "init.cc:448 -> 5", ""},
		{"INFO", "", "Rank 0: 4 Net devices", ""},
		{"INFO", "", "NET/OFI No NIC info for dev 0. Supplying default values for NIC properties.", ""},
		{"INFO", "", "Could not find real path of /sys/class/net/eth0/device", ""},
	}
	for _, tt := range tests {
		var text string
		if tt.before != "" {
			text = "h:1:2 [0] NCCL INFO " + tt.before + "\n"
		}
		log := parse(fmt.Sprintf("%sh:1:2 [0] x.cc:1 NCCL %s %s\n", text, tt.level, tt.message))
		var got nccllog.EventKind
		if list := log.Processes[0].Events; len(list) > 0 {
			got = list[0].Kind
		}
		if got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.level, tt.message, got, tt.want)
		}
	}
}

// TestEqualEvents: messages that differ in peers, ports and pointers are one.
func TestEqualEvents(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "h:1:2 [0] NCCL INFO socketFinalizeAccept: didn't receive a valid magic from 192.0.2.2<%d>\n", i)
		fmt.Fprintf(&b, "h:1:2 [0] f():1 NCCL WARN NET/OFI Request 0x7f%xabc completed with error. RC: %d.\n", i, i)
	}
	want := []nccllog.Event{
		{Kind: "foreign-peer", Count: 1000, Last: 1999, Fact: fact(1, "socketFinalizeAccept: didn't receive a valid magic from 192.0.2.2<0>")},
		{Kind: "network", Count: 1000, Last: 2000, Fact: fact(2, "NCCL WARN NET/OFI Request 0x7f0abc completed with error. RC: 0.")},
	}
	if diff := cmp.Diff(want, parse(b.String()).Processes[0].Events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestStorm: what was seen before costs no memory.
func TestStorm(t *testing.T) {
	p := nccllog.NewParser("x")
	lines := []byte(say(
		"2 socketFinalizeAccept: didn't receive a valid magic from 192.0.2.2<1024>",
		"2 NET/OFI No NIC info for dev 0. Supplying default values for NIC properties.",
		"2 Using network Socket",
		"2 comm 0xaa rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0",
		"2 Channel 00/0 : 1[1] -> 0[0] [receive] via NET/Socket/0",
		"2 NET/OFI Selected provider is efa, fabric is efa (found 4 nics)",
	))
	p.Write(lines)
	if n := testing.AllocsPerRun(100, func() { p.Write(lines) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
