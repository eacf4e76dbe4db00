package fabric_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/trainyard/trainyard/fabric"
)

// damaged makes logs of jobs of which some ranks are on another network than
// expected, and damages them.
type damaged struct{ *rand.Rand }

func (d damaged) one(all ...string) string { return all[d.IntN(len(all))] }

// job has a communicator of all ranks, one of each GPU's place, or both.
func (d damaged) job(id string, net func(int) network, pid int) map[string][]byte {
	s := pairs(net)
	world := one(2, 2, 2, "rings").groups[0]
	world.id = "0xfeed" + id
	for i := range s.groups {
		s.groups[i].id = fmt.Sprint("0xa", i, id)
	}
	switch d.one("world", "pairs", "both") {
	case "world":
		s.groups = []group{world}
	case "both":
		s.groups = append([]group{world}, s.groups...)
	}
	s.pid = pid
	return s.texts()
}

// bad has ranks on TCP, by sockets or by libfabric.
func (d damaged) bad(pid int) map[string][]byte {
	nets := map[int]network{}
	for _, rank := range d.Perm(4)[:[]int{1, 2, 4}[d.IntN(3)]] {
		nets[rank] = socketNet()
		if d.IntN(2) == 0 {
			nets[rank] = tcpNet()
		}
	}
	return d.job("bad", func(rank int) network {
		if net, ok := nets[rank]; ok {
			return net
		}
		return efaNet(4)
	}, pid)
}

// tcpNet is libfabric over TCP.
func tcpNet() network {
	net := network{name: "Libfabric", devices: 1}
	for _, line := range efa("RDMA", 1) {
		net.prelude = append(net.prelude, string(bytes.ReplaceAll([]byte(line), []byte("is efa, fabric is efa-direct"), []byte("is tcp, fabric is 10.0.0.0/16"))))
	}
	return net
}

// damage takes the head, the tail, some lines or some bytes away, or nothing.
func (d damaged) damage(text []byte) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	switch d.one("head", "tail", "lines", "bytes", "", "", "") {
	case "head":
		return bytes.Join(lines[d.IntN(len(lines)-1):], nil)
	case "tail":
		return bytes.Join(lines[:1+d.IntN(len(lines)-1)], nil)
	case "lines":
		return bytes.Join(slices.DeleteFunc(lines, func([]byte) bool { return d.IntN(10) == 0 }), nil)
	case "bytes":
		at := d.IntN(len(text))
		return slices.Concat(text[:at], text[min(len(text), at+d.IntN(400)):])
	}
	return text
}

// files arranges the damaged logs.
func (d damaged) files() map[string][]byte {
	texts := d.bad(0)
	if d.IntN(3) == 0 {
		texts = alike(texts)
	}
	for name, text := range texts {
		texts[name] = append(d.damage(text), '\n')
	}
	switch d.one("files", "console", "marked", "a good life before") {
	case "console":
		return concat(texts)
	case "marked":
		for i, name := range slices.Sorted(maps.Keys(texts)) {
			texts[name] = bytes.ReplaceAll(bytes.TrimSpace(texts[name]), []byte("\n"), fmt.Appendf(nil, "\n%d: ", i))
			texts[name] = slices.Concat(fmt.Appendf(nil, "%d: ", i), texts[name], []byte("\n"))
		}
		return concat(texts)
	case "a good life before":
		return appended(d.job("900d", nil, []int{0, 400}[d.IntN(2)]), texts)
	}
	return texts
}

// TestDamagedJobs: no damage to the logs of a job that was not on the network
// makes a PASS, where it is known how many ranks it had.
func TestDamagedJobs(t *testing.T) {
	outcomes := map[fabric.Outcome]int{}
	for seed := range uint64(4000) {
		texts := damaged{rand.New(rand.NewPCG(7, seed))}.files()
		r := fabric.JudgeAll(fabric.Evidence{Expectation: fabric.RDMA, Logs: parse(texts), Ranks: 4, GPUs: -1})
		outcomes[r.Verdict.Verdict]++
		if r.Verdict.Verdict == fabric.Pass {
			t.Errorf("seed %d: PASS: %s\n%s", seed, r.Summary, concat(texts)["console.log"])
		}
	}
	if outcomes[fabric.Fail] == 0 || outcomes[fabric.Unknown] == 0 {
		t.Errorf("%v", outcomes)
	}
}
