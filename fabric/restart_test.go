package fabric_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/fabric"
)

// attempt returns a job of two nodes with ids and pids of its own.
func attempt(n int, net network) sim {
	s := one(2, 2, 2, "rings")
	s.groups[0].id = fmt.Sprintf("0xa77e%d", n)
	s.pid, s.net = 1000*n, func(int) network { return net }
	return s
}

// fails adds to each rank's log the error by which NCCL notices that a peer died.
func fails(texts map[string][]byte, s sim) map[string][]byte {
	for rank := range s.ranks() {
		name := fmt.Sprintf("rank%03d.log", rank)
		prefix, _, _ := bytes.Cut(texts[name], []byte("Bootstrap"))
		texts[name] = fmt.Appendf(texts[name], "%ssocketProgress: Connection closed by remote peer node1<4242>\n", prefix)
	}
	return texts
}

// appended puts the second attempt's files behind the first's.
func appended(a, b map[string][]byte) map[string][]byte {
	all := map[string][]byte{}
	for name := range a {
		all[name] = append(bytes.Clone(a[name]), b[name]...)
	}
	return all
}

// restarts are jobs that began anew.
func restarts() map[string]map[string][]byte {
	bad, good := attempt(1, socketNet()), attempt(2, efaNet(4))
	anew := attempt(1, efaNet(4)) // the communicator is made twice in one process
	anew.groups = append(anew.groups, group{id: "0xa77e9", members: anew.groups[0].members, channels: 2, does: []string{"rings"}})
	anew.groups[0].destroy = true
	broken := anew
	broken.groups = append([]group(nil), anew.groups...)
	broken.groups[0].does = nil // only the second was ever used
	ended := attempt(1, socketNet())
	ended.groups[0].destroy = true
	one := appended(bad.texts(), good.texts()) // rank 3 was not killed, or its second life is elsewhere
	one["rank003.log"] = appended(ended.texts(), good.texts())["rank003.log"]
	apart := appended(bad.texts(), good.texts())
	apart["rank003.log"], apart["rank003.again.log"] = bad.texts()["rank003.log"], good.texts()["rank003.log"]
	aborted := broken.texts()
	for name, text := range aborted {
		aborted[name] = bytes.ReplaceAll(text, []byte("Destroy COMPLETE"), []byte("Abort COMPLETE"))
	}
	return map[string]map[string][]byte{
		"after an error":          appended(fails(bad.texts(), bad), good.texts()),
		"killed":                  appended(bad.texts(), good.texts()),
		"killed, one console":     {"console.log": append(merge(bad.texts())["console.log"], merge(good.texts())["console.log"]...)},
		"killed, but one rank":    one,
		"killed, one file of two": apart,
		"ended":                   appended(ended.texts(), good.texts()),
		"ended, one console":      {"console.log": append(merge(ended.texts())["console.log"], merge(good.texts())["console.log"]...)},
		"ended, with noise":       appended(fails(ended.texts(), ended), good.texts()),
		"in the process, aborted": aborted,
		"the other way":           appended(fails(good.texts(), good), attempt(3, socketNet()).texts()),
		"in the process":          anew.texts(),
		"in the process, unused":  broken.texts(),
		"console, after an error": {"console.log": append(merge(fails(bad.texts(), bad))["console.log"], merge(good.texts())["console.log"]...)},
	}
}

func TestRestarts(t *testing.T) {
	for name, tt := range map[string]struct {
		want     want
		attempts []want
	}{
		"after an error":          {want{"PASS", "efa", ""}, []want{{"FAIL", "socket", "plugin-not-found"}}},
		"console, after an error": {want{"PASS", "efa", ""}, []want{{"FAIL", "socket", "plugin-not-found"}}},
		"killed":                  {want{"PASS", "efa", ""}, []want{{"FAIL", "socket", "plugin-not-found"}}},
		"killed, one console":     {want{"FAIL", "mixed", "plugin-not-found"}, nil},
		"killed, but one rank":    {want{"FAIL", "mixed", "plugin-not-found"}, nil},
		"killed, one file of two": {want{"FAIL", "mixed", "plugin-not-found"}, nil},
		"ended":                   {want{"FAIL", "mixed", "plugin-not-found"}, nil},
		"ended, one console":      {want{"FAIL", "mixed", "plugin-not-found"}, nil},
		"ended, with noise":       {want{"FAIL", "mixed", "plugin-not-found"}, nil},
		"the other way":           {want{"FAIL", "socket", "plugin-not-found"}, []want{{"PASS", "efa", ""}}},
		"in the process":          {want{"PASS", "efa", ""}, nil},
		"in the process, unused":  {want{"UNKNOWN", "unknown", "edges-missing"}, nil},
		"in the process, aborted": {want{"PASS", "efa", ""}, []want{{"UNKNOWN", "unknown", "edges-missing"}}},
	} {
		v := judge(restarts()[name], fabric.EFA)
		var attempts []want
		for _, a := range v.Attempts {
			attempts = append(attempts, want{a.Verdict, a.Transport, a.Cause})
		}
		if diff := cmp.Diff(tt.want, wanted(v)); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%s", name, diff, show(v))
		}
		if diff := cmp.Diff(tt.attempts, attempts); diff != "" {
			t.Errorf("%s: attempts (-want +got):\n%s", name, diff)
		}
	}
}

// TestNumberedAttempts: two whole groups of the job's size, in files of their
// own, and the launcher tells which came last.
func TestNumberedAttempts(t *testing.T) {
	evidence := func(ranks, first, second int) fabric.Evidence {
		ev := fabric.Evidence{Expectation: fabric.EFA, Ranks: ranks, GPUs: -1}
		for n, net := range []network{socketNet(), efaNet(4)} {
			for _, log := range parse(attempt(n+1, net).texts()) {
				log.Attempt = []int{first, second}[n]
				ev.Logs = append(ev.Logs, log)
			}
		}
		return ev
	}
	for _, tt := range []struct {
		name string
		ev   fabric.Evidence
		want fabric.Outcome
	}{
		{"one after the other", evidence(4, 1, 2), fabric.Pass},
		{"one attempt", evidence(4, 1, 1), fabric.Fail},
		{"not numbered", evidence(4, 0, 0), fabric.Fail},
		{"size not known", evidence(0, 1, 2), fabric.Fail},
		{"another size", evidence(8, 1, 2), fabric.Fail},
		{"the other way", evidence(4, 2, 1), fabric.Fail},
	} {
		if v := fabric.Judge(tt.ev); v.Verdict != tt.want {
			t.Errorf("%s: %s, want %s\n%s", tt.name, v.Verdict, tt.want, show(v))
		}
	}
}
