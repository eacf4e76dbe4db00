package fabric_test

import (
	"fmt"
	"testing"

	"github.com/trainyard/trainyard/fabric"
	"github.com/trainyard/trainyard/nccllog"
)

// BenchmarkJudge judges 4,096 ranks on 512 nodes with 32 channels: rings and
// trees, and the groups of HSDP besides; and 256 ranks of which all talk to all.
func BenchmarkJudge(b *testing.B) {
	world := one(512, 8, 32, "rings", "trees")
	groups := hsdp(512, 8, "rings")
	groups.groups[0].channels = 32
	for _, job := range []struct {
		name string
		sim  sim
	}{{"world", world}, {"hsdp", groups}, {"experts", experts(32, 8, 32)}} {
		b.Run(job.name, func(b *testing.B) {
			logs := fast(job.sim)
			ev := fabric.Evidence{Expectation: fabric.RDMA, Logs: logs, GPUs: -1}
			for b.Loop() {
				if v := fabric.Judge(ev); v.Verdict != fabric.Pass {
					b.Fatalf("%s %s", v.Verdict, v.Summary)
				}
			}
		})
	}
}

// fast builds the parsed logs of a big job rank by rank, as its texts together
// would not fit.
func fast(s sim) []fabric.LogFile {
	var all []fabric.LogFile
	s.draw()
	for rank := range s.ranks() {
		p := nccllog.NewParser(fmt.Sprintf("rank%04d.log", rank))
		p.Write(s.log(rank))
		p.Close()
		all = append(all, fabric.LogFile{Log: p.Log(), Node: fmt.Sprintf("node%d", rank/s.perNode)})
	}
	return all
}
