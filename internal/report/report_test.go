package report

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/fabric"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), -update writes it anew:\n%s", path, diff)
	}
}

// process is rank's process, one of eight of its node, over EFA with GPUDirect.
func process(rank int) fabric.Process {
	return fabric.Process{
		Node: fmt.Sprintf("node%d", rank/8), Host: fmt.Sprintf("host%d", rank/8), PID: 100 + rank, Rank: rank,
		Networks: []string{"Libfabric"}, Transport: fabric.TransportEFA, Provider: "efa", NICs: 4, Devices: 4, NetEdges: 8, GDREdges: 8,
	}
}

func onSocket(p fabric.Process) fabric.Process {
	p.Networks, p.Transport, p.Provider, p.NICs, p.Devices, p.GDREdges = []string{"Socket"}, fabric.TransportSocket, "", 0, 1, 0
	p.Causes = []fabric.Cause{fabric.NoEFADevice}
	return p
}

// job is a verdict on ranks processes; change may make some of them other.
func job(v fabric.Verdict, ranks int, change func(fabric.Process) fabric.Process) fabric.Report {
	v.Version = fabric.Version
	if v.Expectation == "" {
		v.Expectation = fabric.RDMA
	}
	v.Ranks.Seen, v.Ranks.Expected = ranks, max(ranks, v.Ranks.Expected)
	for rank := range ranks {
		p := process(rank)
		if change != nil {
			p = change(p)
		}
		v.Processes = append(v.Processes, p)
	}
	return fabric.Report{Verdict: v, Jobs: []fabric.Job{{Name: "0xabc", Files: []string{"logs/rank0.log"}, Verdict: v}}}
}

func failed() fabric.Report {
	return job(fabric.Verdict{
		Verdict: fabric.Fail, Transport: fabric.TransportSocket, Cause: fabric.NoEFADevice,
		Summary: "16 of 16 ranks crossed nodes over TCP sockets", Remedy: "request vpc.amazonaws.com/efa in the worker pods",
		Evidence: []fabric.Quote{
			{File: "/tmp/ray/session_1/logs/worker-00bee97ad0c1910c685cdcb930bc02e17b96a4b8ac9e7a7960060b13-06000000-5763.out", Line: 14, Text: "NET/OFI No eligible providers were found"},
			{File: "/tmp/ray/session_1/logs/worker-00bee97ad0c1910c685cdcb930bc02e17b96a4b8ac9e7a7960060b13-06000000-5763.out", Line: 15, Text: "NCCL WARN NET/OFI Unable to find a protocol that worked.  Failing initialization."},
			{File: "/tmp/ray/session_1/logs/worker-c497b78d9c80e6c54badd0ac4c247cb246a99a425b9641421e809666-06000000-5765.out", Line: 33, Text: "Using network Socket"},
		},
	}, 16, onSocket)
}

func oneOf64() fabric.Report {
	return job(fabric.Verdict{
		Verdict: fabric.Fail, Transport: fabric.TransportMixed, Cause: fabric.NoEFADevice, Summary: "rank 37 on node4 crossed nodes over TCP sockets",
	}, 64, func(p fabric.Process) fabric.Process {
		if p.Rank == 37 {
			return onSocket(p)
		}
		return p
	})
}

// large has 512 nodes of three kinds.
func large() fabric.Report {
	return job(fabric.Verdict{
		Verdict: fabric.Fail, Transport: fabric.TransportMixed, Cause: fabric.NoEFADevice, Summary: "88 of 4096 ranks crossed nodes over TCP sockets",
	}, 4096, func(p fabric.Process) fabric.Process {
		switch {
		case p.Rank/8%50 == 7:
			return onSocket(p)
		case p.Rank/8 == 300:
			p.GDREdges = 3
		}
		return p
	})
}

// rings has ranks that talk to their own node alone, as the inner ones of a ring
// do.
func rings() fabric.Report {
	return job(fabric.Verdict{Verdict: fabric.Pass, Transport: fabric.TransportEFA, Summary: "all ranks crossed nodes over EFA"}, 16,
		func(p fabric.Process) fabric.Process {
			if p.Rank%8 != 0 && p.Rank%8 != 7 {
				p.Transport, p.NetEdges, p.GDREdges = fabric.TransportNone, 0, 0
			}
			return p
		})
}

// varied has more kinds of nodes than are shown.
func varied() fabric.Report {
	return job(fabric.Verdict{Verdict: fabric.Pass, Transport: fabric.TransportEFA, Summary: "all ranks crossed nodes over EFA"}, 8*30,
		func(p fabric.Process) fabric.Process {
			p.NICs = 1 + p.Rank/8%12
			return p
		})
}

func incomplete() fabric.Report {
	return job(fabric.Verdict{
		Verdict: fabric.Unknown, Transport: fabric.TransportUnknown, Cause: fabric.RanksMissing, Summary: "11 of 16 ranks are in the logs",
		Remedy: "add the logs of the other ranks", Ranks: fabric.Coverage{Expected: 16},
		Warnings: []fabric.Warning{{Text: "rank 3 on node0 reports a network error, 12 times"}},
		Attempts: []fabric.Attempt{{Verdict: fabric.Fail, Transport: fabric.TransportSocket, Summary: "16 of 16 ranks crossed nodes over TCP sockets"}},
		Reasoning: []fabric.Step{
			{Kind: fabric.Given, Text: "EFA, InfiniBand or RoCE is expected"},
			{Kind: fabric.Seen, Text: "the communicator has 16 ranks", Evidence: []fabric.Quote{{File: "rank0.log", Line: 7, Text: "ncclCommInitRank comm 0x7f rank 0 nranks 16 - Init START, and a long tail that does not fit"}}},
			{Kind: fabric.Inferred, Text: "five ranks printed nothing that is here, as no line of the logs is from them or about their edges"},
			{Kind: fabric.Concluded, Text: "no PASS without them"},
		},
	}, 11, nil)
}

func several() fabric.Report {
	r := failed()
	for i, other := range []fabric.Report{oneOf64(), incomplete(), varied()} {
		next := other.Jobs[0]
		next.Name = fmt.Sprintf("0%d000000", i)
		r.Jobs = append([]fabric.Job{next}, r.Jobs...)
	}
	r.Verdict = r.Jobs[2].Verdict // the first of the worst
	return r
}

// hostile has names and lines that would do harm where they are shown.
func hostile() fabric.Report {
	evil := "\x1b[2J\x1b]0;title\a<script>|a|\r\n```@octocat #1 ]]> &amp; \u009b31m\x00\xff**b** [x](y)"
	r := job(fabric.Verdict{
		Verdict: fabric.Unknown, Cause: fabric.NetworkError, Summary: evil, Remedy: evil,
		Evidence: []fabric.Quote{{File: evil, Line: 1, Text: evil}}, Warnings: []fabric.Warning{{Text: evil}},
		Reasoning: []fabric.Step{{Kind: fabric.Seen, Text: evil, Evidence: []fabric.Quote{{File: evil, Line: 1, Text: evil}}}},
	}, 1, func(p fabric.Process) fabric.Process {
		p.Node, p.Host, p.Provider, p.Networks = evil, evil, evil, []string{evil}
		return p
	})
	r.Jobs[0].Name = evil
	return r
}

func reports() map[string]fabric.Report {
	none := job(fabric.Verdict{Verdict: fabric.Unknown, Cause: fabric.NoNCCLOutput, Summary: "the logs hold no line of NCCL", Remedy: "set NCCL_DEBUG=INFO"}, 0, nil)
	nothing := failed()
	nothing.Expectation = fabric.Any
	nothing.Jobs[0].Expectation = fabric.Any
	return map[string]fabric.Report{
		"failed": failed(), "one-of-64": oneOf64(), "large": large(), "varied": varied(), "rings": rings(), "incomplete": incomplete(),
		"several": several(), "hostile": hostile(), "none": none, "nothing-demanded": nothing,
	}
}

func TestForms(t *testing.T) {
	for name, r := range reports() {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name)
			golden(t, path+".txt", Text(r, TextOptions{Explain: true}))
			golden(t, path+".md", Markdown(r, true))
			if name == "large" || name == "varied" { // a case for each rank
				return
			}
			data, err := JUnit(r)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, path+".xml", string(data))
		})
	}
}

func TestTextFitsTheTerminal(t *testing.T) {
	for name, r := range reports() {
		for line := range strings.Lines(Text(r, TextOptions{Explain: true})) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 && !strings.Contains(line, DocsURL) {
				t.Errorf("%s: a line of %d columns: %s", name, n, line)
			}
		}
	}
}

func TestLargeJobsAreShort(t *testing.T) {
	for form, text := range map[string]string{"text": Text(large(), TextOptions{}), "markdown": Markdown(large(), false)} {
		if n := strings.Count(text, "\n"); n > 30 {
			t.Errorf("%s has %d lines", form, n)
		}
		for _, want := range []string{"node7", "nodes like node0"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not hold %q:\n%s", form, want, text)
			}
		}
	}
}

func TestColour(t *testing.T) {
	if text := Text(failed(), TextOptions{Color: true, Explain: true}); !strings.HasPrefix(text, "\x1b[31mFAIL\x1b[0m  ") {
		t.Errorf("no colours: %q", text[:20])
	}
}

func TestJSONRoundTrips(t *testing.T) {
	want := several()
	data, err := JSON(want)
	if err != nil {
		t.Fatal(err)
	}
	var got fabric.Report
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"version", "verdict", "transport", "cause", "summary", "remedy", "ranks", "processes", "communicators", "edges", "evidence", "jobs"} {
		if _, ok := top[field]; !ok {
			t.Errorf("no field %q", field)
		}
	}
}

func TestShortNames(t *testing.T) {
	const id = "00bee97ad0c1910c685cdcb930bc02e17b96a4b8ac9e7a7960060b13"
	tests := []struct{ files, want []string }{
		{[]string{"rank0.log"}, []string{"rank0.log"}},
		{[]string{"a/b/rank0.log"}, []string{"rank0.log"}},
		{[]string{"a/b/0/out", "a/b/1/out"}, []string{"0/out", "1/out"}},
		{[]string{"/a/out", "/b/out"}, []string{"/a/out", "/b/out"}},
		{[]string{"/a/x-" + id + "-06000000.out", "stdin"}, []string{"/a/x-00bee97a…-06000000.out", "stdin"}},
		{[]string{"ab/x", "abc/x"}, []string{"ab/x", "abc/x"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, shortNames(tt.files)); diff != "" {
			t.Errorf("shortNames(%q) (-want +got):\n%s", tt.files, diff)
		}
	}
}

func TestRanges(t *testing.T) {
	for want, numbers := range map[string][]int{
		"": nil, "3": {3}, "0-7": {0, 1, 2, 3, 4, 5, 6, 7}, "0-1,3,5-6": {0, 1, 3, 5, 6}, "0,2,4,… (6)": {0, 2, 4, 6, 8, 10},
	} {
		if got := ranges(numbers); got != want {
			t.Errorf("ranges(%v) = %q, want %q", numbers, got, want)
		}
	}
}

// Whatever logs say, XML stays XML and a terminal is not driven.
func FuzzForms(f *testing.F) {
	f.Add("a", "\x1b[2J\ufffe]]>")
	f.Fuzz(func(t *testing.T, name, line string) {
		r := failed()
		r.Summary, r.Remedy = line, name
		r.Processes[0].Node, r.Processes[0].Provider = name, line
		r.Evidence[0] = fabric.Quote{File: name, Line: 1, Text: line}
		r.Jobs[0] = fabric.Job{Name: name, Verdict: r.Verdict}
		data, err := JUnit(r)
		if err != nil {
			t.Fatal(err)
		}
		decoder := xml.NewDecoder(strings.NewReader(string(data)))
		for {
			_, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in\n%q", err, data)
			}
		}
		for _, text := range []string{Text(r, TextOptions{Explain: true}), Markdown(r, true)} {
			if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 }) || !utf8.ValidString(text) {
				t.Fatalf("control characters in\n%q", text)
			}
		}
	})
}
