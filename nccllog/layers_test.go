package nccllog

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// FuzzUnescape: what JSON escapes comes back.
func FuzzUnescape(f *testing.F) {
	for _, s := range []string{"", "a\n\t\"\\/", "\u2028<0> -> \U0001f600", "\x00\x1b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		appendUnescaped(nil, []byte(s)) // whatever it is
		if !utf8.ValidString(s) {
			t.Skip()
		}
		quoted, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if n := endOfString(quoted[1:]); n != len(quoted)-2 {
			t.Errorf("%s ends at %d", quoted, n)
		}
		if got := appendUnescaped(nil, quoted[1:len(quoted)-1]); string(got) != s {
			t.Errorf("%s became %q", quoted, got)
		}
	})
}

// FuzzPrefix: whatever stands before a marker, what is read lies within it.
func FuzzPrefix(f *testing.F) {
	for _, s := range []string{
		"vm:27:569 [6] ", "(W pid=3, ip=10.0.0.7) [0] ", "[1,30]<stdout>:[default3]:vm:1 [-1] ",
		"2025-05-16T16:39:55.218-07:00vm:27:569 [0] int f(a**):418 ", "# MAGIC [155] node0: | 3: 10.0.0.1: ",
		"\ufeff[pod/a/b] [2026-11-29 22:41:22] ", "99999999999:99999999999:99999999999 [",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		pre, ok := parsePrefix(b)
		if ok && (len(pre.host) == 0 || !bytes.HasPrefix(b[pre.start:], pre.host) || pre.pid < 0 || pre.tid < 0) {
			t.Errorf("prefix %+v of %q", pre, b)
		}
		if rest := peel(b); !bytes.HasSuffix(b, rest) {
			t.Errorf("%q peeled to %q", b, rest)
		}
		originOf(b)
		if at := wrapperStart(b); at < 0 || at > len(b) {
			t.Errorf("wrappers of %q begin at %d", b, at)
		}
		if at := deviceStart(b); at < 0 || at > len(b) {
			t.Errorf("device of %q begins at %d", b, at)
		}
	})
}

// FuzzFind: the quick search finds what a plain one finds.
func FuzzFind(f *testing.F) {
	f.Add([]byte("NCNCCL <<warn> Gpus NCCL"), byte(3))
	f.Fuzz(func(t *testing.T, b []byte, step byte) {
		var find finder
		find.reset(b)
		for from := 0; from <= len(b); from += 1 + int(step) {
			want := len(b)
			for _, needle := range []string{"NCCL", "<warn>", `\u003cwarn`, "&lt;warn", "# nThread ", "# Collective test ", "+hip"} {
				if at := bytes.Index(b[from:], []byte(needle)); at >= 0 {
					want = min(want, from+at)
				}
			}
			if got := find.find(from); got != want {
				t.Fatalf("%q from %d: %d, want %d", b, from, got, want)
			}
		}
	})
}

// FuzzStrip: what is removed does not depend on where the bytes are cut, and
// lines stay lines.
func FuzzStrip(f *testing.F) {
	f.Add([]byte("\x1b[36m(W)\x1b[0m \x00\x00x\x1b"), uint(3))
	f.Add([]byte("\x1b[3\n6m\x1b\n\x1b[\r[m\x1bM"), uint(1))
	f.Fuzz(func(t *testing.T, b []byte, at uint) {
		at = min(at, uint(len(b)))
		var whole, halves stripper
		want := whole.strip(b)
		got := append([]byte(nil), halves.strip(b[:at])...)
		got = append(got, halves.strip(b[at:])...)
		if !bytes.Equal(got, want) {
			t.Errorf("%q cut at %d: %q, whole %q", b, at, got, want)
		}
		if n := bytes.Count(want, []byte{'\n'}); n != bytes.Count(b, []byte{'\n'}) || bytes.ContainsAny(want, "\x1b\x00") {
			t.Errorf("%q became %q", b, want)
		}
	})
}

// TestMarkerLevel: a marker is whole or none.
func TestMarkerLevel(t *testing.T) {
	for text, want := range map[string]level{
		"NCCL INFO x": info, "NCCL INFO ": info, "NCCL WARN x": warn, "NCCL CALL x": other, "NCCL TRACE x": other,
		"": noLevel, "NCCL": noLevel, "NCCL INFO": noLevel, "NCCL INFOx": noLevel, "NCCL TRACE": noLevel, "NCCL TRACEx": noLevel,
		"NCCL version 2": noLevel, "RCCL INFO x": noLevel,
	} {
		if got := markerLevel([]byte(text)); got != want {
			t.Errorf("%q: level %d, want %d", text, got, want)
		}
	}
}

// TestRecent: beginnings that fall into one row of the table, as their heads are
// not looked at, stay apart, and so do pods.
func TestRecent(t *testing.T) {
	var r recent
	type line struct{ left, pod string }
	lines := []line{{"a-node:1:2 [0] ", ""}, {"b-node:1:2 [0] ", ""}, {"b-node:1:2 [0] ", "p"}, {"b-node:1:2 [0] ", "q"}, {"", ""}}
	for i, l := range lines {
		if r.find([]byte(l.left), []byte(l.pod)) != nil {
			t.Errorf("%q is known before it was added", l)
		}
		r.add([]byte(l.left), []byte(l.pod), &process{}, i)
		if found := r.find([]byte(l.left), []byte(l.pod)); found == nil || found.tid != i {
			t.Errorf("%q is not found: %+v", l, found)
		}
	}
	if a, b := mix(0, []byte(lines[0].left)), mix(0, []byte(lines[1].left)); a != b {
		t.Errorf("the heads of %q and %q fall into rows %d and %d", lines[0].left, lines[1].left, a, b)
	}
}

// TestHashOf: edges of a job do not crowd in a table.
func TestHashOf(t *testing.T) {
	seen := map[uint32]int{}
	for i := range 1 << 14 {
		seen[hashOf(&Edge{Setup: 1, Channel: i % 32, From: i / 32, To: i/32 + 1, Proxy: -1})&(1<<15-1)]++
	}
	most := 0
	for _, n := range seen {
		most = max(most, n)
	}
	if len(seen) < 1<<11 || most > 512 {
		t.Errorf("16,384 edges in %d of 32,768 places, up to %d in one", len(seen), most)
	}
}
