package fabric_test

import (
	"bytes"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/fabric"
)

// corpus returns jobs and an expectation each: real logs against EFA and
// against sockets, and synthetic ones that pass.
func corpus(t *testing.T) map[string]func() (map[string][]byte, fabric.Expectation) {
	all := map[string]func() (map[string][]byte, fabric.Expectation){}
	for _, tt := range realLogs {
		texts := read(t, filepath.Join(logs, tt.pattern))
		all[tt.pattern+" as efa"] = func() (map[string][]byte, fabric.Expectation) { return maps.Clone(texts), fabric.EFA }
		all[tt.pattern+" as socket"] = func() (map[string][]byte, fabric.Expectation) { return maps.Clone(texts), fabric.Socket }
	}
	for name, j := range healthy() {
		all[name] = func() (map[string][]byte, fabric.Expectation) { return j.texts(), fabric.RDMA }
	}
	all["merged"] = func() (map[string][]byte, fabric.Expectation) { return merge(healthyEFA().texts()), fabric.EFA }
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

// TestDroppedLines takes away each line of each log in turn, and each tail. In
// no case may a verdict become PASS, or a PASS become FAIL.
func TestDroppedLines(t *testing.T) {
	for name, load := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			texts, expect := load()
			whole := judge(texts, expect).Verdict
			for file, text := range texts {
				lines := bytes.SplitAfter(text, []byte("\n"))
				at := 0
				for i, line := range lines {
					end := at + len(line)
					if !bytes.Contains(line, []byte("NCCL")) {
						at = end // not read at all
						continue
					}
					texts[file] = slices.Concat(text[:at], text[end:])
					if got := judge(texts, expect).Verdict; !allowed(whole, got) && !announcesLoss(line) {
						t.Errorf("%s became %s without line %d of %s: %s", whole, got, i+1, file, line)
					}
					texts[file] = text[:at]
					if got := judge(texts, expect).Verdict; !allowed(whole, got) && !announcesLoss(text[at:]) {
						t.Errorf("%s became %s when %s ends before line %d: %s", whole, got, file, i+1, line)
					}
					at = end
				}
				texts[file] = text
			}
		})
	}
}

// allowed: less evidence can only lead to UNKNOWN.
func allowed(whole, part fabric.Outcome) bool { return part == whole || part == fabric.Unknown }

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
	for name, load := range corpus(t) {
		if strings.Contains(name, "nvlink") || strings.Contains(name, "single_node") || strings.Contains(name, "driver") {
			continue // long, and not different
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			texts, expect := load()
			whole := judge(texts, expect).Verdict
			file := slices.Max(slices.Collect(maps.Keys(texts)))
			text := texts[file]
			for end := 0; end < len(text); end += 5 {
				texts[file] = text[:end]
				if v := judge(texts, expect); !allowed(whole, v.Verdict) {
					t.Fatalf("%s became %s when %s ends after %d bytes, %q:\n%s", whole, v.Verdict, file, end, text[max(0, end-60):end], show(v))
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
