package nccllog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/nccllog"
)

const newTable = `# nccl-tests version 2.17.6 nccl-headers=22907 nccl-library=22907
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0
#
# Using devices
#  Rank  0 Group  0 Pid  12345 on      node0 device  0 [0000:53:00.0] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid  12346 on      node1 device  0 [0000:64:00.0] NVIDIA H100 80GB HBM3
node0:12345:12345 [0] NCCL INFO Using network Libfabric
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    24.02    0.00    0.00       0    23.91    0.00    0.00       0
node0:12345:12400 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Libfabric/0/GDRDMA
  8589934592    2147483648     float     sum      -1    90123   95.31  178.71     N/A  1.2e+05   95.40  178.87     N/A  2026-11-29 22:41:01
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 89.3919
#
# Collective test concluded: all_reduce_perf
           8             2     float     sum      -1    24.02    0.00    0.00       0    23.91    0.00    0.00       0
`

const oldTables = `# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 validation: 1
#
# Using devices
#   Rank  0 Pid   9001 on     node0 device  0 [0x10] Tesla V100-SXM2-16GB
#   Rank  7 Pid   9001 on     node0 device  7 [0x1e] Tesla V100-SXM2-16GB
#
#                                                     out-of-place                       in-place
#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2   float     sum    38.93    0.00    0.00  0e+00    38.40    0.00    0.00  1e+00
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 12.5
#
# nThread 1 nGpus 8 minBytes 32 maxBytes 32 step: 2(factor) warmup iters: 5 iters: 20 validation: 0
#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  error
          32             1   float    44.50    0.00    0.00    N/A    43.10    0.00    0.00    N/A
`

// Connections are set up while a row is measured: the line that begins the row
// goes on with NCCL's, and the figures come after those.
const broken = `# nThread 1 nGpus 1 minBytes 8 maxBytes 32
           8             2     float     sum      -1node0:12345:12345 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0/GDRDMA
node0:12345:12345 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA
    24.02    0.01    0.02       0    23.91    0.03    0.04       0
          16             4     float     sum      -1    24.02    0.01    0.02       0node0:12345:12345 [0] NCCL INFO Connected all trees
    23.91    0.03    0.04       0
[1,0]<stdout>:          32             8     float    none       0[2026-11-29 22:41:01] node0:12345:12345 [0] NCCL INFO Connected all rings
[1,0]<stdout>:    24.02    0.01    0.02     N/A    23.91    0.03    0.04     N/A
`

func TestBrokenRows(t *testing.T) {
	log := parse(broken)
	if len(log.Processes) != 1 || log.Processes[0].Host != "node0" || len(log.Processes[0].Edges) != 2 || len(log.Processes[0].Connected) != 2 {
		t.Errorf("%d processes, the first of host %q", len(log.Processes), log.Processes[0].Host)
	}
	row := func(bytes, count, line, wrong int64) nccllog.BandwidthRow {
		return nccllog.BandwidthRow{
			Bytes: bytes, Count: count, Line: line,
			OutOfPlace: nccllog.Bandwidth{TimeUS: 24.02, AlgBW: 0.01, BusBW: 0.02, Wrong: wrong},
			InPlace:    nccllog.Bandwidth{TimeUS: 23.91, AlgBW: 0.03, BusBW: 0.04, Wrong: wrong},
		}
	}
	want := []nccllog.BandwidthRow{row(8, 2, 2, 0), row(16, 4, 5, 0), row(32, 8, 7, -1)}
	if diff := cmp.Diff(want, log.Tests[0].Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

const perIteration = `# nThread 1 nGpus 1 minBytes 1024 maxBytes 1024
#       size         count      type   redop    root     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%
        1024           256     float     sum      -1    24.02    0.04    0.05       0    20.00    30.00    29.00     3.10    23.91    0.04    0.06       2    20.00    30.00    29.00     3.10
`

func TestBandwidthTests(t *testing.T) {
	type (
		table = nccllog.BandwidthTest
		row   = nccllog.BandwidthRow
		bw    = nccllog.Bandwidth
	)
	tests := []struct {
		name, text string
		want       []table
	}{
		{"new", newTable, []table{{
			Name: "all_reduce_perf", Ranks: 2, AvgBusBW: 89.3919,
			Rows: []row{
				{Bytes: 8, Count: 2, OutOfPlace: bw{TimeUS: 24.02}, InPlace: bw{TimeUS: 23.91}, Line: 13},
				{
					Bytes: 8589934592, Count: 2147483648, Line: 15,
					OutOfPlace: bw{TimeUS: 90123, AlgBW: 95.31, BusBW: 178.71, Wrong: -1},
					InPlace:    bw{TimeUS: 120000, AlgBW: 95.40, BusBW: 178.87, Wrong: -1},
				},
			},
			Fact: fact(2, "# Collective test starting: all_reduce_perf"),
		}}},
		{"old, two in a file", oldTables, []table{
			{
				Ranks: 8, AvgBusBW: 12.5,
				Rows: []row{{Bytes: 8, Count: 2, OutOfPlace: bw{TimeUS: 38.93}, InPlace: bw{TimeUS: 38.40, Wrong: 1}, Line: 10}},
				Fact: fact(1, "# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 validation: 1"),
			},
			{
				Rows: []row{{Bytes: 32, Count: 1, OutOfPlace: bw{TimeUS: 44.5, Wrong: -1}, InPlace: bw{TimeUS: 43.1, Wrong: -1}, Line: 16}},
				Fact: fact(14, "# nThread 1 nGpus 8 minBytes 32 maxBytes 32 step: 2(factor) warmup iters: 5 iters: 20 validation: 0"),
			},
		}},
		{"per iteration", perIteration, []table{{
			Rows: []row{{
				Bytes: 1024, Count: 256, OutOfPlace: bw{TimeUS: 24.02, AlgBW: 0.04, BusBW: 0.05},
				InPlace: bw{TimeUS: 23.91, AlgBW: 0.04, BusBW: 0.06, Wrong: 2}, Line: 3,
			}},
			Fact: fact(1, "# nThread 1 nGpus 1 minBytes 1024 maxBytes 1024"),
		}}},
		{"no table", "1024 256 float sum 1 2 3 4 5 6 7 8\n# a comment\n## Rank 3 of 4\n", nil},
		{"rows that are none", "# nThread 1 nGpus 1\n8 2 float sum\n2026 11 29 22:41:01 NCCL\n8 2 float sum 1 2 3\n", []table{{Fact: fact(1, "# nThread 1 nGpus 1")}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, parse(tt.text).Tests); diff != "" {
				t.Errorf("tables (-want +got):\n%s", diff)
			}
		})
	}
}
