package fabric_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/trainyard/trainyard/fabric"
)

// situation is a job's logs and what is expected of it.
type situation struct {
	texts  map[string][]byte
	expect fabric.Expectation
}

// corpus returns real logs, judged against EFA and against sockets, and
// synthetic jobs: healthy ones, ones that fell back, and ones that lack lines.
func corpus(t *testing.T) map[string]situation {
	all := map[string]situation{}
	for _, tt := range realLogs {
		texts := read(t, filepath.Join(logs, tt.pattern))
		all[tt.pattern+" as efa"] = situation{texts, fabric.EFA}
		all[tt.pattern+" as socket"] = situation{texts, fabric.Socket}
	}
	for name, j := range healthy() {
		all[name] = situation{j.texts(), fabric.RDMA}
	}
	all["merged"] = situation{merge(healthyEFA().texts()), fabric.EFA}
	for name, s := range sims() {
		texts := s.texts()
		all["sim "+name] = situation{texts, fabric.RDMA}
		all["sim console "+name] = situation{merge(texts), fabric.RDMA}
		for change, broken := range broken(s) {
			all["sim "+name+" "+change] = situation{broken, fabric.RDMA}
		}
	}
	all["mnnvl"] = situation{mnnvl().texts(), fabric.RDMA}
	all["mnnvl as efa"] = situation{mnnvl().texts(), fabric.EFA}
	all["two jobs"] = situation{maps.Collect(func(yield func(string, []byte) bool) {
		for n, net := range []network{efaNet(4), socketNet()} {
			for file, text := range attempt(n+1, net).texts() {
				if !yield(fmt.Sprint(n, file), text) {
					return
				}
			}
		}
	}), fabric.EFA}
	for name, texts := range restarts() {
		all["restart "+name] = situation{texts, fabric.RDMA}
	}
	return all
}

// broken returns logs of the job in which something is wrong.
func broken(s sim) map[string]map[string][]byte {
	all := map[string]map[string][]byte{}
	odd := s
	odd.net = func(rank int) network {
		if rank == s.ranks()-1 {
			return socketNet()
		}
		return s.network(rank)
	}
	all["one on sockets"] = odd.texts()
	odd.net = func(int) network { return socketNet() }
	all["all on sockets"] = odd.texts()
	unused := s
	unused.groups = slices.Clone(s.groups)
	unused.groups[0].does = nil
	all["world unused"] = unused.texts()
	last := fmt.Sprintf("rank%03d.log", s.ranks()-1)
	without := func(what string) map[string][]byte {
		texts := s.texts()
		lines := bytes.SplitAfter(texts[last], []byte("\n"))
		at := slices.IndexFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte(what)) })
		if at >= 0 {
			texts[last] = bytes.Join(slices.Delete(lines, at, at+1), nil)
		}
		return texts
	}
	all["a line less"] = without("] via NET/")
	all["a word less"] = without("Connected")
	return all
}

// merge puts all ranks into one file, line by line in turn, as one console does.
func merge(texts map[string][]byte) map[string][]byte {
	var split [][][]byte
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		split = append(split, bytes.SplitAfter(texts[name], []byte("\n")))
	}
	var out []byte
	for i := 0; ; i++ {
		more := false
		for _, lines := range split {
			if i < len(lines) {
				out, more = append(out, lines[i]...), true
			}
		}
		if !more {
			return map[string][]byte{"console.log": out}
		}
	}
}

// announcesLoss: the line is the only sign that others are missing, so without
// it nobody can know.
func announcesLoss(line []byte) bool { return bytes.Contains(line, []byte("[repeated ")) }

// trial judges variants of a job in which one file differs from the whole.
type trial struct {
	situation
	files map[string]fabric.LogFile
	names []string
	whole fabric.Verdict
}

func newTrial(s situation) *trial {
	tr := &trial{situation: s, files: map[string]fabric.LogFile{}, names: slices.Sorted(maps.Keys(s.texts))}
	for _, log := range parse(s.texts) {
		tr.files[log.Source] = log
	}
	tr.whole = tr.judge("", nil)
	return tr
}

// judge judges the job with another text for the file.
func (tr *trial) judge(file string, text []byte) fabric.Verdict {
	ev := fabric.Evidence{Expectation: tr.expect, GPUs: -1}
	for _, name := range tr.names {
		if name == file {
			ev.Logs = append(ev.Logs, parse(map[string][]byte{name: text})...)
			continue
		}
		ev.Logs = append(ev.Logs, tr.files[name])
	}
	return fabric.Judge(ev)
}

// tries is how often a property is tried on a job, in lines or in random choices.
// With 700 all of them held, which takes minutes.
const tries = 30

// sample returns some of the numbers below n, the same in every run.
func sample(n int) []int {
	all := rand.New(rand.NewPCG(1, uint64(n))).Perm(n)
	return all[:min(n, tries)]
}

// TestDroppedLines takes away lines, one at a time, and tails. In no case may a
// verdict become PASS, or a PASS become FAIL.
func TestDroppedLines(t *testing.T) {
	for name, s := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTrial(s)
			var spots [][2]int // file, line
			lines := make([][][]byte, len(tr.names))
			for i, file := range tr.names {
				lines[i] = bytes.SplitAfter(s.texts[file], []byte("\n"))
				for k, line := range lines[i] {
					if bytes.Contains(line, []byte("NCCL")) { // others are not read at all
						spots = append(spots, [2]int{i, k})
					}
				}
			}
			for _, n := range sample(len(spots)) {
				i, k := spots[n][0], spots[n][1]
				file, line := tr.names[i], lines[i][k]
				rest := slices.Concat(lines[i][:k], lines[i][k+1:])
				if v := tr.judge(file, bytes.Join(rest, nil)); !allowed(tr.whole, v) && !announcesLoss(line) {
					t.Errorf("%s became %s without line %d of %s: %s", tr.whole.Verdict, v.Verdict, k+1, file, line)
				}
				tail := bytes.Join(lines[i][k:], nil)
				if v := tr.judge(file, bytes.Join(lines[i][:k], nil)); !allowed(tr.whole, v) && !announcesLoss(tail) {
					t.Errorf("%s became %s when %s ends before line %d: %s", tr.whole.Verdict, v.Verdict, file, k+1, line)
				}
			}
		})
	}
}

// TestRepeatedLines prints lines twice, and whole files: that adds nothing.
func TestRepeatedLines(t *testing.T) {
	for name, s := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTrial(s)
			for _, file := range tr.names {
				text := s.texts[file]
				lines := bytes.SplitAfter(text, []byte("\n"))
				for _, k := range sample(len(lines))[:min(len(lines), 10)] {
					twice := bytes.Join(slices.Insert(slices.Clone(lines), k, lines[k]), nil)
					if v := tr.judge(file, twice); !allowed(tr.whole, v) {
						t.Errorf("%s became %s with line %d of %s twice: %s", tr.whole.Verdict, v.Verdict, k+1, file, lines[k])
					}
				}
				if v := tr.judge(file, slices.Concat(text, text)); !allowed(tr.whole, v) {
					t.Errorf("%s became %s with %s twice", tr.whole.Verdict, v.Verdict, file)
				}
			}
		})
	}
}

func judgeAll(texts map[string][]byte, expect fabric.Expectation) fabric.Verdict {
	return fabric.JudgeAll(fabric.Evidence{Expectation: expect, Logs: parse(texts), GPUs: -1}).Verdict
}

// TestRandomLoss takes away many lines at once.
func TestRandomLoss(t *testing.T) {
	for name, s := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole, wholeAll := judge(s.texts, s.expect), judgeAll(s.texts, s.expect)
			r := rand.New(rand.NewPCG(2, uint64(len(name))))
			for range tries / 3 {
				share := r.Float64() * 0.3
				texts := map[string][]byte{}
				lost := []byte{}
				for _, file := range slices.Sorted(maps.Keys(s.texts)) {
					for line := range bytes.Lines(s.texts[file]) {
						if r.Float64() < share {
							lost = append(lost, line...)
							continue
						}
						texts[file] = append(texts[file], line...)
					}
				}
				if v := judge(texts, s.expect); !allowed(whole, v) && !announcesLoss(lost) {
					t.Errorf("%s became %s without these lines:\n%s", whole.Verdict, v.Verdict, lost)
				}
				if v := judgeAll(texts, s.expect); !allowed(wholeAll, v) && !announcesLoss(lost) {
					t.Errorf("%s became %s over all jobs without these lines:\n%s", wholeAll.Verdict, v.Verdict, lost)
				}
			}
		})
	}
}

// TestInterleaved mixes the ranks' lines in one file at random: each process is
// still understood.
func TestInterleaved(t *testing.T) {
	for name, s := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := judge(s.texts, s.expect)
			r := rand.New(rand.NewPCG(3, uint64(len(name))))
			for range 5 {
				if v := judge(shuffle(r, s.texts), s.expect); !allowed(whole, v) {
					t.Errorf("%s %s became %s %s in one file", whole.Verdict, whole.Cause, v.Verdict, v.Cause)
				}
			}
		})
	}
}

// shuffle puts all files into one, each file's lines in their order.
func shuffle(r *rand.Rand, texts map[string][]byte) map[string][]byte {
	var files [][][]byte
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		files = append(files, bytes.SplitAfter(texts[name], []byte("\n")))
	}
	var out []byte
	for len(files) > 0 {
		i := r.IntN(len(files))
		out = append(out, files[i][0]...)
		if files[i] = files[i][1:]; len(files[i]) == 0 {
			files = slices.Delete(files, i, i+1)
		}
	}
	return map[string][]byte{"console.log": out}
}

// allowed: less evidence can only lead to UNKNOWN, or to the judgement on an
// earlier attempt where it is the later one that is lost.
func allowed(whole, part fabric.Verdict) bool {
	return part.Verdict == whole.Verdict || part.Verdict == fabric.Unknown ||
		part.Verdict == fabric.Fail && slices.ContainsFunc(whole.Attempts, func(a fabric.Attempt) bool { return a.Verdict == fabric.Fail })
}

// TestEveryLineCounts takes the lines of a proof away one at a time: none of
// them may be missing.
func TestEveryLineCounts(t *testing.T) {
	for name, j := range healthy() {
		texts := j.texts()
		taken := 0
		for file, text := range j.texts() {
			for line := range bytes.Lines(text) {
				if !bytes.Contains(line, []byte(" via ")) && !bytes.Contains(line, []byte("Connected all rings")) {
					continue
				}
				taken++
				texts[file] = bytes.Replace(text, line, nil, 1)
				if v := judge(texts, fabric.RDMA); v.Verdict != fabric.Unknown || v.Cause != fabric.EdgesMissing {
					t.Errorf("%s: %s %s without %s", name, v.Verdict, v.Cause, line)
				}
			}
			texts[file] = text
		}
		if want := 4*j.channels + 2*j.channels + 4; taken != want { // ring, second ends, ranks
			t.Errorf("%s: %d lines taken away, want %d", name, taken, want)
		}
	}
}

// TestWholeChannelMissing: a channel of which no rank shows an edge is missed too.
func TestWholeChannelMissing(t *testing.T) {
	texts := healthyEFA().texts()
	for file, text := range texts {
		var kept []byte
		for line := range bytes.Lines(text) {
			if !bytes.Contains(line, []byte("Channel 02/0")) {
				kept = append(kept, line...)
			}
		}
		texts[file] = kept
	}
	if v := judge(texts, fabric.EFA); v.Verdict != fabric.Unknown || v.Cause != fabric.EdgesMissing {
		t.Errorf("%s %s without channel 2", v.Verdict, v.Cause)
	}
}

// TestHalfAWord: one rank's line is cut in the middle of a name, which must not
// count as another network or provider.
func TestHalfAWord(t *testing.T) {
	for _, tt := range []struct {
		from, to string
		want     fabric.Outcome
	}{
		{"Using network Libfabric", "Using network Libf", fabric.Pass}, // the edges still prove it
		{"provider is efa, fabric is efa-direct (found 4 nics)", "provider is e", fabric.Unknown},
	} {
		texts := healthyEFA().texts()
		texts["rank1.log"] = bytes.Replace(texts["rank1.log"], []byte(tt.from), []byte(tt.to), 1)
		if v := judge(texts, fabric.EFA); v.Verdict != tt.want {
			t.Errorf("%s with %q, want %s\n%s", v.Verdict, tt.to, tt.want, show(v))
		}
	}
}

// TestCutAnywhere ends the log of one rank anywhere, as a killed process
// does whose output was buffered: half a word must not count as another.
func TestCutAnywhere(t *testing.T) {
	for name, s := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTrial(s)
			file := tr.names[len(tr.names)-1]
			text := s.texts[file]
			for _, end := range sample(len(text)) {
				if v := tr.judge(file, text[:end]); !allowed(tr.whole, v) && !announcesLoss(text[end:]) {
					t.Fatalf("%s became %s when %s ends after %d bytes, %q:\n%s", tr.whole.Verdict, v.Verdict, file, end, text[max(0, end-60):end], show(v))
				}
			}
		})
	}
}

// TestGrowingLog judges a job while its output arrives: the verdict is UNKNOWN
// until it is what it will be in the end.
func TestGrowingLog(t *testing.T) {
	console := merge(healthyEFA().texts())["console.log"]
	last := fabric.Unknown
	for end := range len(console) {
		if end < len(console) && console[end] != '\n' {
			continue
		}
		got := judge(map[string][]byte{"console.log": console[:end]}, fabric.EFA).Verdict
		if got == fabric.Fail || last == fabric.Pass && got != fabric.Pass {
			t.Fatalf("after %d bytes: %s follows %s", end, got, last)
		}
		last = got
	}
	if last != fabric.Pass {
		t.Errorf("in the end %s", last)
	}
}

// TestFailStays judges every job while its output arrives in one file: a FAIL
// does not go away, unless the job is started anew.
func TestFailStays(t *testing.T) {
	for name, s := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			console := merge(s.texts)["console.log"]
			whole := judge(map[string][]byte{"console.log": console}, s.expect)
			if len(whole.Attempts) > 0 {
				return
			}
			last := fabric.Unknown
			for _, end := range slices.Sorted(slices.Values(sample(len(console)))) {
				v := judge(map[string][]byte{"console.log": console[:end]}, s.expect)
				if last == fabric.Fail && v.Verdict != fabric.Fail {
					t.Fatalf("after %d bytes %s %s follows FAIL:\n%s", end, v.Verdict, v.Cause, v.Summary)
				}
				last = v.Verdict
			}
			if last == fabric.Fail && whole.Verdict != fabric.Fail {
				t.Errorf("in the end %s", whole.Verdict)
			}
		})
	}
}

// TestLostConnections takes away both ends of connections between nodes: though
// no line is left that speaks of one, it is missed.
func TestLostConnections(t *testing.T) {
	for name, s := range sims() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := s.texts()
			lost := map[string]bool{}
			for _, text := range whole {
				for line := range bytes.Lines(text) {
					if _, message, ok := bytes.Cut(line, []byte("NCCL INFO Channel ")); ok && bytes.Contains(message, []byte("] via NET/")) {
						edge, _, _ := bytes.Cut(message, []byte(" ["))
						lost["Channel "+string(edge)+" ["] = true
					}
				}
			}
			edges := slices.Sorted(maps.Keys(lost))
			for _, n := range sample(len(edges)) {
				texts := map[string][]byte{}
				for file, text := range whole {
					for line := range bytes.Lines(text) {
						if !bytes.Contains(line, []byte(edges[n])) {
							texts[file] = append(texts[file], line...)
						}
					}
				}
				if v := judge(texts, fabric.RDMA); v.Verdict != fabric.Unknown {
					t.Errorf("%s without %q", v.Verdict, edges[n])
				}
			}
		})
	}
}
