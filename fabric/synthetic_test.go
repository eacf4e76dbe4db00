package fabric_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The logs in testdata/synthetic are SYNTHETIC: no machine printed them. They
// are put together here from the grammar of NCCL 2.29 and aws-ofi-nccl 1.17,
// because no EFA and no InfiniBand hardware was at hand. They show that the
// rules accept what the sources of NCCL say a healthy run prints, not that a
// healthy run was seen.

var update = flag.Bool("update", false, "rewrite the synthetic logs")

// job describes a job whose ranks all print alike.
type job struct {
	nodes, perNode, channels int
	version                  string
	net                      string   // of "via NET/..."
	suffix                   string   // /GDRDMA
	prelude                  []string // how the network was chosen
	using                    string   // default net
}

func (j job) ranks() int { return j.nodes * j.perNode }

// log returns what one rank prints.
func (j job) log(rank int) []byte {
	var b bytes.Buffer
	local := rank % j.perNode
	say := func(format string, args ...any) {
		fmt.Fprintf(&b, "node%d:%d:%d [%d] NCCL INFO %s\n", rank/j.perNode, 100+local, 100+local, local, fmt.Sprintf(format, args...))
	}
	say("Bootstrap: Using eth0:10.0.0.%d<0>", 1+rank/j.perNode)
	say("NCCL version %s+cuda13.0", j.version)
	for _, line := range j.prelude {
		if rest, ok := strings.CutPrefix(line, "WARN "); ok {
			fmt.Fprintf(&b, "\n[2026-11-29 21:14:44] node%d:%d:%d [%d] int create(plugin_t**):294 NCCL WARN %s\n",
				rank/j.perNode, 100+local, 100+local, local, rest)
			continue
		}
		say("%s", line)
	}
	using := j.using
	if using == "" {
		using = j.net
	}
	say("Using network %s", using)
	comm := fmt.Sprintf("ncclCommInitRankConfig comm 0x%x rank %d nranks %d cudaDev %d nvmlDev %d busId %d0 commId 0xfeed",
		0xa000+rank, rank, j.ranks(), local, local, local+1)
	say("[Rank %d] %s - Init START", rank, comm)
	say("comm 0x%x rank %d nRanks %d nNodes %d localRanks %d localRank %d MNNVL 0", 0xa000+rank, rank, j.ranks(), j.nodes, j.perNode, local)
	say("%d coll channels, %d collnet channels, 0 nvls channels, %d p2p channels, 1 p2p channels per peer", j.channels, j.channels, j.channels)
	say("%s - Init COMPLETE", comm)
	j.ring(rank, say)
	say("Connected all rings, use ring PXN 0 GDR 1")
	return b.Bytes()
}

// ring prints the edges of the ring 0, 1, 2, ... on every channel.
func (j job) ring(rank int, say func(string, ...any)) {
	before, after := (rank+j.ranks()-1)%j.ranks(), (rank+1)%j.ranks()
	for c := range j.channels {
		if before/j.perNode != rank/j.perNode {
			say("Channel %02d/0 : %d[%d] -> %d[%d] [receive] via NET/%s/%d%s", c, before, before%j.perNode, rank, rank%j.perNode, j.net, c%2, j.suffix)
		}
		if after/j.perNode != rank/j.perNode {
			say("Channel %02d/0 : %d[%d] -> %d[%d] [send] via NET/%s/%d%s", c, rank, rank%j.perNode, after, after%j.perNode, j.net, c%2, j.suffix)
		} else {
			say("Channel %02d/0 : %d[%d] -> %d[%d] via P2P/CUMEM", c, rank, rank%j.perNode, after, after%j.perNode)
		}
	}
}

// texts returns all ranks' logs by file name.
func (j job) texts() map[string][]byte {
	all := map[string][]byte{}
	for rank := range j.ranks() {
		all[fmt.Sprintf("rank%d.log", rank)] = j.log(rank)
	}
	return all
}

func efa(protocol string, nics int) []string {
	return []string{
		"NET/Plugin: Loaded net plugin Libfabric (v11)",
		"Successfully loaded external network plugin /opt/amazon/ofi-nccl/lib/libnccl-net.so",
		"NET/OFI Initializing aws-ofi-nccl 1.17.3",
		"NET/OFI Using Libfabric version 2.1",
		"NET/OFI Plugin selected platform: AWS",
		"NET/OFI Setting provider_filter to efa",
		"NET/OFI Using transport protocol " + protocol + " (platform set)",
		fmt.Sprintf("NET/OFI Selected provider is efa, fabric is efa-direct (found %d nics)", nics),
		"Initialized NET plugin Libfabric",
		"Assigned NET plugin Libfabric to comm",
	}
}

func healthyEFA() job {
	return job{nodes: 2, perNode: 2, channels: 4, version: "2.29.7", net: "Libfabric", suffix: "/GDRDMA", prelude: efa("RDMA", 4)}
}

func healthy() map[string]job {
	noGDR := healthyEFA()
	noGDR.suffix, noGDR.prelude = "", efa("SENDRECV", 1)
	return map[string]job{
		"efa-gdr":    healthyEFA(),
		"efa-no-gdr": noGDR,
		"ib": {
			nodes: 2, perNode: 2, channels: 4, version: "2.29.7", net: "IB", suffix: "/GDRDMA",
			prelude: []string{
				"NET/Plugin: Could not find: libnccl-net.so",
				"NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>",
				"Initialized NET plugin IB",
				"Assigned NET plugin IB to comm",
			},
		},
	}
}

// kept are the jobs whose logs are kept as files, for people and other tests.
func kept() map[string]map[string][]byte {
	all := map[string]map[string][]byte{
		"rails-2x8":        sims()["rails"].texts(),
		"hsdp":             sims()["hsdp"].texts(),
		"hsdp-one-socket":  sims()["hsdp"].on(3).texts(),
		"pipeline":         sims()["pipeline"].texts(),
		"three-way":        sims()["cube"].texts(),
		"mnnvl":            mnnvl().texts(),
		"restart-recovers": restarts()["after an error"],
	}
	for name, j := range healthy() {
		all[name] = j.texts()
	}
	return all
}

// TestSyntheticLogs keeps the files under testdata equal to what is built here.
func TestSyntheticLogs(t *testing.T) {
	for name, texts := range kept() {
		for file, text := range texts {
			path := filepath.Join("testdata", "synthetic", name, file)
			if *update {
				write(t, path, text)
			}
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(text), string(got)); diff != "" {
				t.Errorf("%s (-built +file; rewrite with -update):\n%s", path, diff)
			}
		}
	}
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
