package nccllog_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/trainyard/trainyard/nccllog"
)

// The megabytes a second of go test -bench . ./nccllog are those of one core.

func BenchmarkParser(b *testing.B) {
	var storm, training bytes.Buffer
	for i := range 20_000 {
		fmt.Fprintf(&storm, "vm:7375:7820 [1] NCCL INFO socketFinalizeAccept: didn't receive a valid magic from 192.0.2.2<%d>\n", 1024+i)
		fmt.Fprintf(&training, `{"step": %d, "loss": 2.7134, "tokens_per_s": 18211.4, "seconds": 0.84, "world_size": 2, "lr": 3e-05}`+"\n", i)
	}
	for _, input := range []struct {
		name string
		text []byte
	}{
		{"info", bytes.Repeat(load(b, "nccl-2.28.9/ofi_tcp.rank0.log"), 100)},
		{"edges", bytes.Repeat(load(b, "nccl-2.28.9/nvlink.rank0.log"), 100)},
		{"storm", storm.Bytes()},
		{"training", append(load(b, "nccl-2.28.9/ofi_tcp.rank0.log"), training.Bytes()...)},
	} {
		b.Run(input.name, func(b *testing.B) {
			b.SetBytes(int64(len(input.text)))
			b.ReportAllocs()
			for b.Loop() {
				p := nccllog.NewParser("bench")
				p.Write(input.text)
				p.Close()
			}
		})
	}
}
