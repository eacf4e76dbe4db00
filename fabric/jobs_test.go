package fabric_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/fabric"
	"github.com/trainyard/trainyard/nccllog"
)

// named parses logs under names with a prefix.
func named(prefix string, texts map[string][]byte) []fabric.LogFile {
	all := map[string][]byte{}
	for name, text := range texts {
		all[prefix+name] = text
	}
	return parse(all)
}

func sources(jobs []fabric.JobLogs) map[string][]string {
	all := map[string][]string{}
	for _, j := range jobs {
		for _, log := range j.Logs {
			all[j.Name] = append(all[j.Name], log.Source)
		}
	}
	return all
}

func TestJobs(t *testing.T) {
	a, b := attempt(1, efaNet(4)), attempt(2, socketNet())
	old := sims()["2.7"]
	silent := named("", map[string][]byte{"train.log": []byte("step 1\n")})
	failed := named("x-", read(t, filepath.Join(logs, "nccl-2.28.9/bad_iface.*")))
	labelled := named("b-", b.texts())
	for i := range labelled {
		labelled[i].Job = "night"
	}
	copied := named("", map[string][]byte{"driver.log": []byte("(RayTrainWorker pid=2100) node0:2100:2100 [0] NCCL INFO Using network Socket\n")})
	of := func(prefix string) []string {
		return []string{prefix + "rank000.log", prefix + "rank001.log", prefix + "rank002.log", prefix + "rank003.log"}
	}
	for _, tt := range []struct {
		name string
		logs [][]fabric.LogFile
		want map[string][]string
	}{
		{"none", nil, map[string][]string{}},
		{"no NCCL", [][]fabric.LogFile{silent}, map[string][]string{"train.log": {"train.log"}}},
		{"one", [][]fabric.LogFile{named("a-", a.texts()), silent}, map[string][]string{"a": append(of("a-"), "train.log")}},
		{"two", [][]fabric.LogFile{named("a-", a.texts()), named("b-", b.texts()), silent}, map[string][]string{"a": of("a-"), "b": of("b-")}},
		{
			"two of one stem",
			[][]fabric.LogFile{named("w-", a.texts()), named("w-again-", b.texts())},
			map[string][]string{"w": of("w-"), "w-again": of("w-again-")},
		},
		{"two, one with a name", [][]fabric.LogFile{named("a-", a.texts()), labelled}, map[string][]string{"a": of("a-"), "night": of("b-")}},
		{"failed at the start", [][]fabric.LogFile{failed}, map[string][]string{"x-bad_iface": {"x-bad_iface.rank0.log", "x-bad_iface.rank1.log"}}},
		{
			"a driver's copy without communicators",
			[][]fabric.LogFile{named("a-", a.texts()), named("b-", b.texts()), copied},
			map[string][]string{"a": of("a-"), "0xa77e2": append(of("b-"), "driver.log")},
		},
		{"without ids", [][]fabric.LogFile{named("o-", old.texts())}, map[string][]string{"o": of("o-")}},
		{
			"a console with both",
			[][]fabric.LogFile{named("a-", a.texts()), named("b-", b.texts()), named("", merge(appended(a.texts(), b.texts())))},
			map[string][]string{"0xa77e1": append(append(of("a-"), of("b-")...), "console.log")},
		},
	} {
		var all []fabric.LogFile
		for _, logs := range tt.logs {
			all = append(all, logs...)
		}
		if diff := cmp.Diff(tt.want, sources(fabric.Jobs(all))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestRaySession: all jobs of a Ray session come apart, the driver's copy with
// its workers' own files.
func TestRaySession(t *testing.T) {
	var all []fabric.LogFile
	for _, job := range []string{"ray_ofi_tcp", "ray_socket", "ray_mixed"} {
		all = append(all, named(job+"/", read(t, filepath.Join(logs, "ray-2.58", job, "*")))...)
	}
	r := fabric.JudgeAll(fabric.Evidence{Expectation: fabric.Socket, Logs: all, GPUs: -1})
	got := map[string]want{}
	for _, job := range r.Jobs {
		got[filepath.Dir(job.Files[0])] = wanted(job.Verdict)
	}
	want := map[string]want{
		"ray_ofi_tcp": {"FAIL", "libfabric-tcp", "provider-not-efa"},
		"ray_socket":  {"PASS", "socket", ""},
		"ray_mixed":   {"FAIL", "mixed", "mixed-networks"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if first := r.Jobs[0].Verdict; r.Cause != first.Cause || r.Verdict.Verdict != fabric.Fail {
		t.Errorf("on top %s %s, want the first FAIL, %s", r.Verdict.Verdict, r.Cause, first.Cause)
	}
}

// TestFirstDecisiveLines: ranks with different networks are a FAIL as soon as
// each has named its own and NCCL has counted the nodes, which it does before
// anything can hang.
func TestFirstDecisiveLines(t *testing.T) {
	texts := read(t, filepath.Join(logs, "ray-2.58/ray_mixed/*.out"))
	decisive := func(log *nccllog.Log) bool {
		return len(log.Processes) > 0 && len(log.Processes[0].Comms) > 0 && log.Processes[0].Comms[0].Sized.Seen()
	}
	var heads []fabric.LogFile
	for name, text := range texts {
		p := nccllog.NewParser(name)
		for end := 0; end < len(text) && !decisive(p.Log()); end++ {
			p.Write(text[end : end+1])
		}
		if log := p.Log(); len(log.Processes[0].Edges) > 0 || log.Lines > 50 {
			t.Errorf("%s: decisive after %d lines only", name, log.Lines)
		}
		heads = append(heads, fabric.LogFile{Log: p.Log()})
	}
	v := fabric.Judge(fabric.Evidence{Expectation: fabric.RDMA, Logs: heads, GPUs: -1})
	if diff := cmp.Diff(want{"FAIL", "mixed", "mixed-networks"}, wanted(v)); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, show(v))
	}
}

// TestJobsOfOneName: where names do not tell jobs apart, ids do.
func TestJobsOfOneName(t *testing.T) {
	first, second := named("w-", attempt(1, efaNet(4)).texts()), named("w-", attempt(2, socketNet()).texts())
	for _, log := range second {
		log.Source += ".2"
	}
	var names []string
	for _, j := range fabric.Jobs(append(first, second...)) {
		names = append(names, j.Name)
	}
	if want := []string{"w 0xa77e1", "w 0xa77e2"}; !slices.Equal(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
}

// TestJobNamesAreText: names may differ in the last byte of a letter.
func TestJobNamesAreText(t *testing.T) {
	logs := named("", attempt(1, efaNet(4)).texts())
	for i, log := range logs {
		log.Source = "nœud" + []string{"é", "è", "ê", "ë"}[i]
	}
	if got := fabric.Jobs(logs)[0].Name; got != "nœud" {
		t.Errorf("name %q, want %q", got, "nœud")
	}
}
