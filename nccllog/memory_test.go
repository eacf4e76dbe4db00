package nccllog_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/nccllog"
)

// TestMemory: whatever a log holds and however long it is, a Parser needs less
// than 64 MiB beyond the Log. The limit is far above what is needed.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads gigabytes")
	}
	chunk := func(text string) []byte { return bytes.Repeat([]byte(text), 1<<20/len(text)+1) }
	storm := new(bytes.Buffer)
	for i := range 10_000 {
		fmt.Fprintf(storm, "vm:7375:7820 [1] NCCL INFO socketFinalizeAccept: didn't receive a valid magic from 10.0.0.2<%d>\n", i)
	}
	pids := 0
	tests := []struct {
		name  string
		times int
		next  func() []byte
	}{
		{"zeros", 400, always(make([]byte, 1<<20))},
		{"one line", 500, always(bytes.Repeat([]byte{'x'}, 1<<20))},
		{"one line of NCCL", 200, always(chunk("h:1:2 [0] NCCL INFO Using network Socket "))},
		{"lines of megabytes", 200, always(append(bytes.Repeat([]byte("NCCL INFO "), 1<<20/10), '\n'))},
		{"one line of JSON", 100, always(chunk(`{"message":"h:1:2 [0] NCCL INFO Using network Socket"},`))},
		{"a line that is never whole", 200, always(chunk("2026-11-29T22:41:22Z stdout P h:1:2 [0] NCCL INFO x\n"))},
		{"progress", 200, always(chunk(" 3%|#\r"))},
		{"utf-16", 100, always(chunk("h\x00\n\x00"))},
		{"storm", 200, always(storm.Bytes())},
		{"any processes", 100, func() []byte {
			var b bytes.Buffer
			for range 10_000 {
				pids++
				fmt.Fprintf(&b, "h%d:%d:%d [0] NCCL INFO Using network N%d\n", pids, pids, pids, pids)
			}
			return b.Bytes()
		}},
		{"a large job in one file", 64, largeJob(4096 / 64)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := nccllog.NewParser("x")
			before, most := heap(), uint64(0)
			for i := range tt.times {
				p.Write(tt.next())
				if i%(tt.times/4) == 0 || i == tt.times-1 {
					most = max(most, heap())
				}
			}
			log := p.Log()
			p.Close()
			model := max(0, int64(heap())-int64(before))
			if beyond := int64(most) - int64(before) - model; beyond > 64<<20 {
				t.Errorf("%d MiB beyond a Log of %d MiB", beyond>>20, model>>20)
			} else {
				t.Logf("%d KiB beyond a Log of %d KiB", beyond>>10, model>>10)
			}
			runtime.KeepAlive(p)
			runtime.KeepAlive(log)
		})
	}
}

func always(b []byte) func() []byte { return func() []byte { return b } }

// heap returns what is in use after a collection.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// largeJob returns the lines of that many ranks at a time, each with 32 channels
// of rings and trees.
func largeJob(ranks int) func() []byte {
	rank := 0
	return func() []byte {
		var b strings.Builder
		for range ranks {
			say := func(format string, values ...any) {
				fmt.Fprintf(&b, "node-%d:%d:%d [%d] NCCL INFO "+format+"\n", append([]any{rank / 8, 100 + rank%8, 900, rank % 8}, values...)...)
			}
			say("ncclCommInitRank comm 0xa0%d rank %d nranks 4096 cudaDev 0 nvmlDev 0 busId 60 commId 0x7 - Init START", rank%8+1, rank)
			for c := range 32 {
				for _, peer := range []int{rank + 1, rank + 8, rank + 16} {
					say("Channel %02d/0 : %d[0] -> %d[0] [send] via NET/Libfabric/%d/GDRDMA", c, rank, peer%4096, c%8)
					say("Channel %02d/0 : %d[0] -> %d[0] [receive] via NET/Libfabric/%d/GDRDMA", c, peer%4096, rank, c%8)
				}
			}
			rank++
		}
		return []byte(b.String())
	}
}
