package nccllog_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/nccllog"
)

type event = nccllog.Event

func TestTorch(t *testing.T) {
	const raised = "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:93, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5"
	const system = "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. "
	watchdog := func(rank string) string {
		return "[E1218 20:27:21.426415540 ProcessGroupNCCL.cpp:629] " + rank + " Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=BROADCAST, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600081 milliseconds before timing out."
	}
	tests := []struct {
		name  string
		lines []string
		want  []event
	}{
		{"raised, with its cause", []string{raised, system, "Last error:", "socketStartConnect: Connect to 10.0.0.2<4711> failed : No route to host", "Traceback"}, []event{
			{Kind: "torch", Count: 1, Fact: fact(1, raised)},
			{Kind: "torch", Count: 1, Fact: fact(2, strings.TrimSpace(system))},
			{Kind: "torch", Count: 1, Fact: fact(4, "Last error: socketStartConnect: Connect to 10.0.0.2<4711> failed : No route to host")},
		}},
		{"raised by each rank", []string{raised, strings.Replace(raised, "cpp:93", "cpp:317", 1)}, []event{
			{Kind: "torch", Count: 2, Fact: fact(1, raised)},
		}},
		{"older PyTorch", []string{"RuntimeError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:911, unhandled system error, NCCL version 2.7.8"}, []event{
			{Kind: "torch", Count: 1, Fact: fact(1, "RuntimeError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:911, unhandled system error, NCCL version 2.7.8")},
		}},
		{"watchdogs of two ranks", []string{watchdog("[Rank 0]"), watchdog("[PG ID 0 PG GUID 0(default_pg) Rank 1]"), "RuntimeError: " + watchdog("[Rank 0]")}, []event{
			{Kind: "timeout", Count: 2, Fact: fact(1, watchdog("[Rank 0]"))},
			{Kind: "timeout", Count: 1, Fact: fact(2, watchdog("[PG ID 0 PG GUID 0(default_pg) Rank 1]"))},
		}},
		{"nothing of PyTorch's", []string{"Last error: disk full", "ncclSystemError is a name", "vLLM is using nccl==2.27.7", "NCCL_DEBUG=INFO python train.py"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			log := parse(strings.Join(tt.lines, "\n") + "\n")
			if diff := cmp.Diff(tt.want, log.Errors); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if log.Banner.Seen() {
				t.Errorf("banner %+v", log.Banner)
			}
		})
	}
	if v := parse(raised + "\n").Version; v.Major != 2 || v.Minor != 21 || v.Patch != 5 || v.Line != 1 {
		t.Errorf("version %+v", v)
	}
}

// TestTorchFile: what PyTorch leaves in a worker's .err file under Ray.
func TestTorchFile(t *testing.T) {
	log := parse(string(load(t, "ray-2.58/ray_efa_forced/worker-77d12016-15364.err")))
	want := []event{
		{Kind: "torch", Count: 1, Fact: fact(59, "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:93, invalid usage (run with NCCL_DEBUG=WARN for details), NCCL version 2.29.7")},
		{Kind: "torch", Count: 1, Fact: fact(60, "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.")},
		{Kind: "torch", Count: 1, Fact: fact(62, "Last error: Failed to initialize any NET plugin")},
	}
	if diff := cmp.Diff(want, log.Errors); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

func TestLibfabric(t *testing.T) {
	const hmem = "libfabric:17773:1732779731::efa:mr:efa_mr_reg_impl():210<warn> Failed to register CUDA buffer with the EFA device, FI_HMEM transfers that require peer to peer support will fail."
	const group = "* This error indicates that the security group on either this instance or the peer instance"
	tests := []struct {
		name  string
		lines []string
		want  []event
	}{
		{"no peer to peer", []string{hmem, strings.Replace(hmem, "17773:1732779731", "17774:1732779732", 1)}, []event{
			{Kind: "libfabric", Count: 2, Fact: fact(1, hmem)},
		}},
		{"harmless", []string{"libfabric:17773:1732779731::efa:ep_ctrl:efa_rdm_ep_set_shared_memory_permitted():1410<warn> FI_OPT_SHARED_MEMORY_PERMITTED set to false"}, nil},
		{"below a warning", []string{"libfabric:1:1732779731::core:core:fi_getinfo_():1368<info> Found provider with the highest priority efa"}, nil},
		{"security group", []string{
			"[2026-11-29 22:44:34] h:1:2 [0] void log_cq_error(nccl_net_ofi_req*):118 NCCL WARN NET/OFI Request 0x7f00 (RECV) completed with error: err: 113, flags: 0, prov_errno: 4116, strerror: Unreachable remote peer, len: 0",
			"", "**********", group, "* is not setup correctly.",
		}, []event{
			{Kind: "network", Count: 1, Fact: fact(4, group)},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, parse(strings.Join(tt.lines, "\n")+"\n").Errors); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}
