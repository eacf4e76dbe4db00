package fabric_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/trainyard/trainyard/fabric"
)

// FuzzJudge: no input makes Judge fail, and what it says holds together.
func FuzzJudge(f *testing.F) {
	for _, pattern := range []string{"nccl-2.29.7/*", "ray-2.58/*/*.out"} {
		paths, err := filepath.Glob(filepath.Join(logs, pattern))
		if err != nil || len(paths) == 0 {
			f.Fatalf("reading seeds: %v", err)
		}
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b, b, uint8(len(b)))
		}
	}
	for _, s := range sims() {
		texts := s.texts()
		f.Add(merge(texts)["console.log"], texts["rank000.log"], uint8(1))
	}
	for _, j := range healthy() {
		console := merge(j.texts())["console.log"]
		f.Add(console, []byte(nil), uint8(0))
		f.Add(console, j.log(0), uint8(1))
	}
	f.Fuzz(func(t *testing.T, a, b []byte, choice uint8) {
		expect := fabric.Expectations()[int(choice)%len(fabric.Expectations())]
		v := judge(map[string][]byte{"a": a, "b": b}, expect)
		if v.Verdict == fabric.Pass && !slices.ContainsFunc(v.Edges, func(e fabric.EdgeCount) bool {
			return e.Scope == fabric.InterNode && expect.Accepts(e.Transport)
		}) {
			t.Errorf("PASS without an edge between nodes:\n%s", show(v))
		}
		if v.Verdict == fabric.Pass && (v.Cause != "" || v.Ranks.Seen < v.Ranks.Expected) {
			t.Errorf("PASS with a doubt:\n%s", show(v))
		}
		if v.Verdict != fabric.Pass && (v.Cause.Info().Remedy == "" || v.Remedy == "" || v.Summary == "") {
			t.Errorf("%s without cause, remedy or summary:\n%s", v.Verdict, show(v))
		}
		if all := fabric.JudgeAll(fabric.Evidence{Expectation: expect, Logs: parse(map[string][]byte{"a": a, "b": b}), GPUs: -1}); all.Verdict.Verdict == fabric.Pass &&
			slices.ContainsFunc(all.Jobs, func(j fabric.Job) bool { return j.Verdict.Verdict != fabric.Pass }) {
			t.Errorf("PASS over jobs that do not")
		}
		for _, q := range v.Evidence {
			if q.File != "a" && q.File != "b" || q.Line < 1 {
				t.Errorf("quote %+v", q)
			}
		}
	})
}
