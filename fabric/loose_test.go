package fabric_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/fabric"
)

// pairs is a job of two groups over one GPU of each node, without a communicator
// of all, as PyTorch's lazy HSDP makes it.
func pairs(net func(rank int) network) sim {
	return sim{nodes: 2, perNode: 2, version: "2.28.9", net: net, groups: []group{
		{id: "0xa0", members: []int{0, 2}, channels: 2, does: []string{"rings"}},
		{id: "0xa1", members: []int{1, 3}, channels: 2, does: []string{"rings"}},
	}}
}

// all returns that every rank uses the network.
func all(net network) func(int) network { return func(int) network { return net } }

// upto ends each log after the line with the words.
func upto(texts map[string][]byte, words string) map[string][]byte {
	kept := map[string][]byte{}
	for name, text := range texts {
		at := bytes.Index(text, []byte(words))
		end := at + bytes.IndexByte(text[at:], '\n') + 1
		kept[name] = text[:end]
	}
	return kept
}

// lacking takes the lines with the words away.
func lacking(text []byte, words string) []byte {
	var kept []byte
	for line := range bytes.Lines(text) {
		if !bytes.Contains(line, []byte(words)) {
			kept = append(kept, line...)
		}
	}
	return kept
}

// silentEFA is EFA of which no line tells the provider.
func silentEFA() network {
	net := efaNet(4)
	net.prelude = slices.DeleteFunc(slices.Clone(net.prelude), func(l string) bool { return strings.Contains(l, "Selected provider") })
	return net
}

// with returns the texts with those of another job under new names, or behind
// those of the same name.
func with(texts, more map[string][]byte, rename string, only ...string) map[string][]byte {
	texts = maps.Clone(texts)
	for name, text := range more {
		if len(only) == 0 || slices.Contains(only, name) {
			texts[name+rename] = slices.Concat(texts[name+rename], text)
		}
	}
	return texts
}

// TestLoose: what a process began and no communicator accounts for is no PASS.
func TestLoose(t *testing.T) {
	const using = "Using network"
	good := one(2, 2, 2, "rings")
	later := func(pid int, net network) map[string][]byte {
		s := one(2, 2, 2, "rings")
		s.groups[0].id, s.pid, s.net = "0xbeef", pid, all(net)
		return s.texts()
	}
	socketTail := pairs(nil).texts()
	for name, text := range upto(pairs(all(socketNet())).texts(), using) {
		if name == "rank001.log" || name == "rank003.log" {
			socketTail[name] = text
		}
	}
	split := good
	split.groups = append(slices.Clone(good.groups), group{members: good.groups[0].members, channels: 2})
	cutSplit := upto(split.texts(), "ncclCommSplit")
	for name, text := range cutSplit {
		text = lacking(text, "ncclCommSplit")
		at := bytes.LastIndex(text, []byte("Using network"))
		cutSplit[name] = slices.Concat(text[:at], []byte("Using network Socket\n"))
	}
	version := pairs(nil).texts()
	old := maps.Clone(version)
	version["rank001.log"] = []byte("NCCL version 2.28.9+cuda13.0\n")
	version["rank003.log"] = nil
	old["stdout.log"] = []byte("NCCL version 2.21.5+cuda12.4\n")
	driver := good.texts()
	for rank := range 4 {
		driver["driver.log"] = append(driver["driver.log"], fmt.Appendf(nil, "(RayTrainWorker pid=%d, ip=10.0.0.%d) %s", 100+rank%2, 1+rank/2, firstLine(driver[fmt.Sprintf("rank%03d.log", rank)]))...)
	}
	for _, tt := range []struct {
		name  string
		texts map[string][]byte
		want  want
		says  string
	}{
		{"two ranks after the choice", socketTail, want{"UNKNOWN", "unknown", "ranks-missing"}, "process 101 on node0 (rank001.log) began NCCL, and the logs show no communicator of it; it said that it uses Socket"},
		{"two ranks after Bootstrap", with(pairs(nil).texts(), upto(later(900, efaNet(4)), "Bootstrap"), ".more", "rank001.log"), want{"UNKNOWN", "unknown", "ranks-missing"}, "process 1001 on node0 (rank001.log.more) began NCCL"},
		{"a later life, new process", with(good.texts(), upto(later(900, socketNet()), using), ""), want{"UNKNOWN", "unknown", "ranks-missing"}, "it said that it uses Socket"},
		{"a later life, same process", with(good.texts(), upto(later(0, efaNet(4)), "Bootstrap"), ""), want{"UNKNOWN", "unknown", "ranks-missing"}, "NCCL began 2 times in rank 0"},
		{"a later life, own file", with(good.texts(), upto(later(0, socketNet()), using), ".2"), want{"UNKNOWN", "unknown", "edges-missing"}, "rank 0 on node0 says in rank000.log.2 that it uses Socket"},
		{"a later life, own file, Bootstrap", with(good.texts(), upto(later(0, efaNet(4)), "Bootstrap"), ".2"), want{"UNKNOWN", "unknown", "ranks-missing"}, "rank000.log.2 holds another start of rank 0 on node0"},
		{"a split after the choice", cutSplit, want{"UNKNOWN", "unknown", "edges-missing"}, "chose the network Socket for a communicator of which the logs show nothing else"},
		{"a version alone", version, want{"UNKNOWN", "unknown", "nccl-debug-too-low"}, "rank001.log holds NCCL's version and nothing else"},
		{"a version alone, before 2.22", old, want{"PASS", "efa", ""}, ""},
		{"Ray's copy", driver, want{"PASS", "efa", ""}, ""},
		{"edges in another file", with(good.texts(), map[string][]byte{"rank001.log": edgesOf(later(0, socketNet())["rank001.log"])}, ".2"), want{"FAIL", "mixed", "unexplained-fallback"}, "1 of 4 ranks (rank 1 on node0)"},
		{"another life's edges, in a file of other processes", namesakes(), want{"UNKNOWN", "unknown", "edges-missing"}, "is in several files"},
		{"a log in two files", halves(good.texts()), want{"UNKNOWN", "unknown", "edges-missing"}, "the log of rank 0 on node0 is in several files (rank000.log, rank000.log.2)"},
		{"no network, same process", with(good.texts(), failures(good, "Failed to initialize any NET plugin"), ""), want{"FAIL", "none", "requested-net-unavailable"}, "NCCL did not start for rank 0"},
		{"no interface, same process", with(good.texts(), failures(good, "Bootstrap : no socket interface found"), ""), want{"FAIL", "none", "bootstrap-failed"}, "NCCL did not start for rank 0"},
		{"no network, then one", with(failures(good, "Failed to initialize any NET plugin"), good.texts(), ""), want{"PASS", "efa", ""}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := judge(tt.texts, fabric.RDMA)
			if diff := cmp.Diff(tt.want, wanted(v)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, show(v))
			}
			if !strings.Contains(v.Summary, tt.says) {
				t.Errorf("summary %q lacks %q", v.Summary, tt.says)
			}
		})
	}
}

// namesakes are pairs, of which two ranks have one host and process id; in the
// file of a third rank, edges of that name follow which are another life's.
func namesakes() map[string][]byte {
	texts := pairs(nil).texts()
	more := alike(pairs(nil).texts())
	tail := edgesOf(more["rank000.log"])
	texts["rank000.log"], texts["rank001.log"] = more["rank000.log"], append(texts["rank001.log"], tail...)
	return texts
}

func firstLine(text []byte) []byte { return text[:bytes.IndexByte(text, '\n')+1] }

// edgesOf keeps the lines of edges, and what says that they are complete.
func edgesOf(text []byte) []byte {
	at := bytes.Index(text, []byte(" via "))
	return text[bytes.LastIndexByte(text[:at], '\n')+1:]
}

// halves puts the edges of each log into a file of their own.
func halves(texts map[string][]byte) map[string][]byte {
	parts := map[string][]byte{}
	for name, text := range texts {
		edges := edgesOf(text)
		parts[name], parts[name+".2"] = text[:len(text)-len(edges)], edges
	}
	return parts
}

// failures are a warning in each rank's process.
func failures(s sim, words string) map[string][]byte {
	all := map[string][]byte{}
	for name, text := range s.texts() {
		prefix, _, _ := bytes.Cut(text, []byte("NCCL INFO"))
		all[name] = fmt.Appendf(nil, "%sinit.cc:1 NCCL WARN %s\n", prefix, words)
	}
	return all
}

// alike gives all ranks one host and process id, as containers have.
func alike(texts map[string][]byte) map[string][]byte {
	all := map[string][]byte{}
	for name, text := range texts {
		for line := range bytes.Lines(text) {
			_, message, _ := bytes.Cut(line, []byte("] NCCL"))
			all[name] = fmt.Appendf(all[name], "localhost:1:1 [0] NCCL%s", message)
		}
	}
	return all
}

// concat puts the files into one, one after the other.
func concat(texts map[string][]byte) map[string][]byte {
	var console []byte
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		console = append(console, texts[name]...)
	}
	return map[string][]byte{"console.log": console}
}

// TestOneProviderForEach: where several ranks or lives look like one process, the
// provider of one is not that of another.
func TestOneProviderForEach(t *testing.T) {
	good, bad := one(2, 2, 2, "rings"), one(2, 2, 2, "rings")
	bad.net = func(rank int) network {
		if rank == 3 {
			return silentEFA()
		}
		return efaNet(4)
	}
	anew := one(2, 2, 2, "rings")
	anew.groups[0].id = "0xbeef"
	known, unknown := anew, anew
	unknown.net = all(silentEFA())
	oneHeadless := known.texts()
	start := bytes.Index(oneHeadless["rank001.log"], []byte("Using network"))
	oneHeadless["rank001.log"] = append([]byte("node0:101:101 [1] NCCL INFO "), oneHeadless["rank001.log"][start:]...)
	headless := alike(good.texts())
	at := bytes.Index(headless["rank003.log"], []byte("Using network"))
	headless["rank003.log"] = append([]byte("localhost:1:1 [0] NCCL INFO "), headless["rank003.log"][at:]...)
	trainer := map[string][]byte{}
	for name, text := range good.texts() {
		trainer[name] = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("node0:"), []byte("t:")), []byte("node1:"), []byte("t:"))
	}
	at = bytes.Index(trainer["rank001.log"], []byte("Using network"))
	trainer["rank001.log"] = append([]byte("t:101:101 [1] NCCL INFO "), trainer["rank001.log"][at:]...)
	for _, tt := range []struct {
		name  string
		texts map[string][]byte
		want  want
	}{
		{"containers alike", concat(alike(good.texts())), want{"PASS", "efa", ""}},
		{"containers alike, one silent", concat(alike(bad.texts())), want{"UNKNOWN", "unknown", "provider-missing"}},
		{"containers alike, a head lost", concat(headless), want{"UNKNOWN", "unknown", "provider-missing"}},
		{"two nodes of one name, a head lost", concat(trainer), want{"UNKNOWN", "unknown", "provider-missing"}},
		{"lives", appended(good.texts(), known.texts()), want{"PASS", "efa", ""}},
		{"lives, the second silent", appended(good.texts(), unknown.texts()), want{"UNKNOWN", "unknown", "provider-missing"}},
		{"lives, the second silent in one rank, its head lost", appended(good.texts(), oneHeadless), want{"UNKNOWN", "unknown", "provider-missing"}},
		{"lives, the first silent", appended(unknown.texts(), good.texts()), want{"UNKNOWN", "unknown", "provider-missing"}},
	} {
		if v := judge(tt.texts, fabric.RDMA); wanted(v) != tt.want {
			t.Errorf("%s: %s\n%s", tt.name, cmp.Diff(tt.want, wanted(v)), show(v))
		}
	}
}

// TestCoverage: ranks and nodes are counted, not processes.
func TestCoverage(t *testing.T) {
	again := pairs(nil)
	again.pid = 400
	again.groups = slices.Clone(again.groups)
	again.groups[0].id, again.groups[1].id = "0xb0", "0xb1"
	lives := appended(pairs(nil).texts(), again.texts())
	delete(lives, "rank001.log")
	delete(lives, "rank003.log")
	for _, tt := range []struct {
		name         string
		texts        map[string][]byte
		ranks, nodes int
		want         fabric.Outcome
		says         string
	}{
		{"all", one(2, 2, 2, "rings").texts(), 4, 2, fabric.Pass, ""},
		{"groups", pairs(nil).texts(), 4, 2, fabric.Pass, ""},
		{"half of the groups, twice", lives, 4, 2, fabric.Unknown, "2 of 4 ranks"},
		{"more ranks", one(2, 2, 2, "rings").texts(), 8, 2, fabric.Unknown, "4 of 8 ranks"},
		{"more nodes", one(2, 2, 2, "rings").texts(), 4, 4, fabric.Unknown, "2 of 4 nodes"},
		{"groups, more nodes", pairs(nil).texts(), 4, 3, fabric.Unknown, "2 of 3 nodes"},
		{"one socket", pairs(nil).on(1, 3).texts(), 4, 2, fabric.Fail, "TCP sockets"},
	} {
		r := fabric.JudgeAll(fabric.Evidence{Expectation: fabric.RDMA, Logs: parse(tt.texts), Ranks: tt.ranks, Nodes: tt.nodes, GPUs: -1})
		if r.Verdict.Verdict != tt.want || !strings.Contains(r.Summary, tt.says) || len(r.Jobs) != 1 {
			t.Errorf("%s: %d jobs, %s %q, want %s %q", tt.name, len(r.Jobs), r.Verdict.Verdict, r.Summary, tt.want, tt.says)
		}
	}
	v := fabric.Judge(fabric.Evidence{Expectation: fabric.RDMA, Logs: parse(one(2, 2, 2, "rings").texts()), Ranks: 2, Nodes: 1, GPUs: -1})
	if v.Verdict != fabric.Pass || len(v.Warnings) != 1 || !strings.Contains(v.Warnings[0].Text, "2 ranks, and the logs show 4") {
		t.Errorf("%s %+v, want a PASS and a warning", v.Verdict, v.Warnings)
	}
}

// TestGroupsWithoutWorld: they are a job where they add up to one.
func TestGroupsWithoutWorld(t *testing.T) {
	for ranks, jobs := range map[int]int{0: 2, 4: 1, 6: 2, 2: 2} {
		r := fabric.JudgeAll(fabric.Evidence{Expectation: fabric.RDMA, Logs: parse(pairs(nil).texts()), Ranks: ranks, GPUs: -1})
		if len(r.Jobs) != jobs {
			t.Errorf("of %d ranks: %d jobs, want %d", ranks, len(r.Jobs), jobs)
		}
	}
}

// TestRunsWithoutID: NCCL before 2.16 names no run. Two of them are no PASS and,
// whatever the files are called, the same.
func TestRunsWithoutID(t *testing.T) {
	old := func(pid int, net network) map[string][]byte {
		s := one(2, 1, 2, "rings")
		s.version, s.pid, s.net = "2.7.8", pid, all(net)
		return s.texts()
	}
	for _, pid := range []int{0, 500} {
		seen := map[want]bool{}
		for _, order := range [][2]string{{"a-", "b-"}, {"b-", "a-"}} {
			texts := map[string][]byte{}
			for n, net := range []network{efaNet(4), socketNet()} {
				for name, text := range old(n*pid, net) {
					texts[order[n]+name] = text
				}
			}
			v := judge(texts, fabric.RDMA)
			seen[want{v.Verdict, "", v.Cause}] = true
			if v.Verdict == fabric.Pass {
				t.Errorf("PASS: %s", v.Summary)
			}
		}
		if len(seen) != 1 {
			t.Errorf("the order of the files counts: %v", seen)
		}
	}
}

// TestWords: what is said names who and why.
func TestWords(t *testing.T) {
	s := one(2, 2, 2, "rings")
	s.groups = append(s.groups, group{members: s.groups[0].members, channels: 2, does: []string{"rings"}})
	otherSplit := map[string][]byte{}
	for name, text := range s.texts() {
		at := bytes.LastIndex(text, []byte("Using network"))
		otherSplit[name] = slices.Concat(text[:at], bytes.ReplaceAll(text[at:], []byte("Libfabric"), []byte("Socket")))
	}
	unused := one(2, 2, 2, "rings")
	unused.groups = append(unused.groups, group{id: "0xdd", members: []int{0, 2}, channels: 2})
	cut := merge(one(2, 2, 2, "rings").texts())
	lines := bytes.SplitAfter(cut["console.log"], []byte("\n"))
	for i, line := range lines {
		if bytes.HasPrefix(line, []byte("node1:101:")) && bytes.Contains(line, []byte("] via NET")) {
			lines[i] = append(bytes.Clone(line[:len(line)-20]), '\n')
		}
	}
	cut["console.log"] = bytes.Join(lines, nil)
	bad, later := one(2, 2, 2, "rings").on(0, 1, 2, 3), attempt(0, efaNet(4))
	strange := one(2, 2, 2, "rings").on(3).texts()
	for name, text := range strange {
		strange[name] = bytes.ReplaceAll(text, []byte("node1:"), []byte("no\x07de1\x07:"))
	}
	for _, tt := range []struct {
		name  string
		texts map[string][]byte
		want  want
		says  []string
	}{
		{"a split on another network", otherSplit, want{"FAIL", "mixed", "unexplained-fallback"}, []string{"4 of 4 ranks crossed nodes over TCP sockets"}},
		{"two jobs, one process each", appended(bad.texts(), later.texts()), want{"FAIL", "mixed", "plugin-not-found"}, []string{"4 of 4 ranks"}},
		{"never used", unused.texts(), want{"UNKNOWN", "unknown", "edges-missing"}, []string{"communicator 0xdd (2 ranks)", "it was never used or its lines are lost"}},
		{"a half line", cut, want{"UNKNOWN", "unknown", "edges-unreadable"}, []string{"rank 3 on node1: some channel lines could not be read"}},
		{"a strange host", strange, want{"FAIL", "mixed", "mixed-networks"}, []string{"rank003.log over TCP sockets"}},
	} {
		v := judge(tt.texts, fabric.RDMA)
		if wanted(v) != tt.want {
			t.Errorf("%s: %s\n%s", tt.name, cmp.Diff(tt.want, wanted(v)), show(v))
		}
		for _, words := range tt.says {
			if !strings.Contains(v.Summary, words) {
				t.Errorf("%s: summary %q lacks %q", tt.name, v.Summary, words)
			}
		}
	}
	if v := judge(unused.texts(), fabric.RDMA); !strings.Contains(v.Remedy, "barrier") {
		t.Errorf("remedy %q", v.Remedy)
	}
}
