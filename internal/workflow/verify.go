package workflow

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/trainyard/trainyard/fabric"
	"github.com/trainyard/trainyard/internal/evidence"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/logfiles"
	"github.com/trainyard/trainyard/internal/runs"
	"github.com/trainyard/trainyard/internal/ui"
)

// VerifyRequest says which logs to judge, and what is known beside them.
type VerifyRequest struct {
	Paths  []string
	Stdin  io.Reader // what the path - stands for
	Expect fabric.Expectation
	// Ranks and Nodes are the size of the job; 0 where not known.
	Ranks, Nodes int
	Story        *ui.Story
}

// Verify judges which network carried the jobs whose logs the paths hold. A
// part of the logs that could not be read is a warning in the report, and no
// PASS stands beside it; the error is for what leaves nothing to judge.
func Verify(ctx context.Context, req VerifyRequest) (fabric.Report, error) {
	known := knownRuns{}
	found, err := logfiles.Finder{Stdin: req.Stdin, Folder: known.folder}.Find(ctx, req.Paths)
	if err != nil {
		return fabric.Report{}, err
	}
	logs, err := readLogs(ctx, found.Logs, req.Story)
	if err != nil {
		return fabric.Report{}, err
	}
	unread, other := problems(found, logs)
	if !slices.ContainsFunc(logs, hasText) {
		return fabric.Report{}, nothingToJudge(append(unread, other...))
	}
	ev := req.evidence(logfiles.Jobs(logs), found.World, known)
	for _, log := range logs {
		if log.Parsed != nil {
			ev.Logs = append(ev.Logs, fabric.LogFile{
				Log: log.Parsed, Node: log.Node, Job: log.Job, Truncated: log.Truncated,
			})
		}
	}
	report := fabric.JudgeAll(ev)
	relocate(&report, logs)
	doubt(&report, unread, other)
	return report, ctx.Err()
}

// evidence is what is known beside the logs: what the person says, else what
// the place of the logs tells of the only job.
func (req VerifyRequest) evidence(jobs []string, world map[string]int, known knownRuns) fabric.Evidence {
	ev := fabric.Evidence{Expectation: req.Expect, Ranks: req.Ranks, Nodes: req.Nodes, GPUs: -1}
	if len(jobs) != 1 {
		return ev
	}
	ev.Ranks = cmp.Or(ev.Ranks, world[jobs[0]])
	if run := known[jobs[0]]; run != nil && run.Info.Cluster.Nodes > 0 { // it came to have a cluster
		ev.GPUs = run.Info.Cluster.GPUs
	}
	return ev
}

func hasText(log logfiles.Read) bool {
	return log.Parsed != nil && (log.Err == nil || log.Parsed.Bytes > 0)
}

// knownRuns are the runs whose folders were come upon, by id.
type knownRuns map[string]*runs.Run

// folder knows the folder of a run, and that of its logs: only what is in there
// was printed by the job.
func (k knownRuns) folder(dir string) (logfiles.Folder, bool) {
	run, err := runs.OpenDir(dir)
	if err != nil {
		run, err = runs.OpenDir(filepath.Join(dir, ".."))
	}
	if err != nil {
		return logfiles.Folder{}, false
	}
	logs := run.LogDir()
	if run.Dir != dir {
		if !sameFolder(logs, dir) {
			return logfiles.Folder{}, false
		}
		logs = dir
	}
	k[run.Info.ID] = run
	f := logfiles.Folder{
		Dir: logs, Job: run.Info.ID, World: ranksOf(run),
		Files: map[string]logfiles.Facts{}, Other: []string{evidence.IndexName},
	}
	index, err := evidence.ReadIndex(run.LogDir())
	if err != nil { // the run was killed, or goes on
		return f, true
	}
	for name, kept := range index {
		f.Files[name] = logfiles.Facts{Node: kept.Node, Truncated: kept.Truncated}
	}
	return f, true
}

func sameFolder(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// ranksOf is the number of ranks that the run's own verdict expected; 0 where
// it has none.
func ranksOf(run *runs.Run) int {
	data, err := os.ReadFile(filepath.Join(run.Dir, "verdict.json"))
	if err != nil {
		return 0
	}
	var verdict struct{ Ranks fabric.Coverage }
	if json.Unmarshal(data, &verdict) != nil {
		return 0
	}
	return verdict.Ranks.Expected
}

// longRead is when reading is worth telling of, and tellEvery how often it is
// told how far it is.
const (
	longRead  = time.Second
	tellEvery = 200 * time.Millisecond
)

// readLogs reads all logs, and says how far it is where that takes long.
func readLogs(ctx context.Context, logs []logfiles.Log, story *ui.Story) ([]logfiles.Read, error) {
	progress := &logfiles.Progress{}
	done := make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() { tellProgress(done, progress, logs, story) })
	read, err := logfiles.ReadAll(ctx, logs, progress)
	close(done)
	telling.Wait()
	skipped := 0
	for _, log := range read {
		if log.Parsed == nil {
			skipped++
		}
	}
	if skipped > 0 && err == nil {
		story.Note("passed over " + plural(skipped, "file") + " without text")
	}
	return read, err
}

func tellProgress(done <-chan struct{}, progress *logfiles.Progress, logs []logfiles.Log, story *ui.Story) {
	long := time.NewTimer(longRead)
	defer long.Stop()
	select {
	case <-done:
		return
	case <-long.C:
	}
	story.Begin("read")
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			if progress.Files() < len(logs) {
				story.Failed()
				return
			}
			story.Done(plural(len(logs), "log") + ", " + ui.Bytes(progress.Bytes()))
			return
		case <-tick.C:
			story.Update(fmt.Sprintf("%d of %s, %s of %s", progress.Files(), plural(len(logs), "log"),
				ui.Bytes(progress.Bytes()), ui.Bytes(max(logfiles.Size(logs), progress.Bytes()))))
		}
	}
}

// problems tells apart what is not known, because it could not be read, from
// what can hold nothing, because it is empty or no text.
func problems(found logfiles.Found, logs []logfiles.Read) (unread, other []error) {
	for _, p := range found.Problems {
		unread = append(unread, p)
	}
	for _, log := range logs {
		switch {
		case log.Err == nil && log.Named && log.Parsed.Bytes == 0:
			other = append(other, fmt.Errorf("%q is empty", log.Name))
		case log.Err == nil:
		case errors.Is(log.Err, logfiles.ErrNotText):
			other = append(other, log.Err)
		default:
			unread = append(unread, log.Err)
		}
	}
	return unread, other
}

// mostProblems are told of one by one.
const mostProblems = 5

// nothingToJudge is the error where no log could be read.
func nothingToJudge(all []error) error {
	if len(all) == 0 {
		all = []error{errors.New("looking for logs: none of the files holds text")}
	}
	few := all[:min(len(all), mostProblems)]
	if more := len(all) - len(few); more > 0 {
		few = append(slices.Clone(few), fmt.Errorf("and %d more", more))
	}
	return fault.WithHint("give the text that the ranks printed, and the right to read it", errors.Join(few...))
}

// doubt adds what could not be read to the verdicts. It may hold what would
// make a PASS a FAIL, so none is left.
func doubt(report *fabric.Report, unread, other []error) {
	var warnings []fabric.Warning
	for _, err := range unread {
		warnings = append(warnings, fabric.Warning{Cause: fabric.LogTruncated, Text: err.Error(), Evidence: []fabric.Quote{}})
	}
	for _, err := range other {
		warnings = append(warnings, fabric.Warning{Text: err.Error(), Evidence: []fabric.Quote{}})
	}
	if more := len(warnings) - mostProblems; more > 0 {
		warnings = append(warnings[:mostProblems], fabric.Warning{
			Cause: fabric.LogTruncated, Text: fmt.Sprintf("%d more files could not be read", more), Evidence: []fabric.Quote{},
		})
	}
	for i := range report.Jobs {
		job := &report.Jobs[i]
		job.Warnings = append(job.Warnings, warnings...)
		if job.Verdict.Verdict == fabric.Pass && len(unread) > 0 {
			unproven(&job.Verdict, unread)
		}
	}
	if len(warnings) > 0 {
		report.Settle()
	}
}

func unproven(v *fabric.Verdict, unread []error) {
	v.Verdict, v.Transport, v.Cause = fabric.Unknown, fabric.TransportUnknown, fabric.LogTruncated
	v.Summary = fmt.Sprintf("%s could not be read, and what was read says: %s", plural(len(unread), "file"), v.Summary)
	v.Remedy = "make the files readable, or leave out those that are not of the job"
	v.Reasoning = append(v.Reasoning, fabric.Step{
		Kind: fabric.Concluded, Text: "what could not be read may say otherwise: no PASS without it", Evidence: []fabric.Quote{},
	})
}

// relocate names the files into which logs were rotated, where evidence names
// the log.
func relocate(report *fabric.Report, logs []logfiles.Read) {
	byName := map[string]logfiles.Read{}
	for _, log := range logs {
		if len(log.Files()) > 1 {
			byName[log.Name] = log
		}
	}
	if len(byName) == 0 {
		return
	}
	place := func(quotes []fabric.Quote) []fabric.Quote {
		quotes = slices.Clone(quotes) // verdicts may share them
		for i, q := range quotes {
			if log, ok := byName[q.File]; ok {
				quotes[i].File, quotes[i].Line = log.Place(q.Line)
			}
		}
		return quotes
	}
	for i := range report.Jobs {
		job := &report.Jobs[i]
		var files []string
		for _, name := range job.Files {
			if log, ok := byName[name]; ok {
				files = append(files, log.Files()...)
				continue
			}
			files = append(files, name)
		}
		job.Files = files
		placeVerdict(&job.Verdict, place)
	}
	report.Settle()
}

func placeVerdict(v *fabric.Verdict, place func([]fabric.Quote) []fabric.Quote) {
	v.Evidence = place(v.Evidence)
	v.Warnings, v.Reasoning = slices.Clone(v.Warnings), slices.Clone(v.Reasoning)
	for i := range v.Warnings {
		v.Warnings[i].Evidence = place(v.Warnings[i].Evidence)
	}
	for i := range v.Reasoning {
		v.Reasoning[i].Evidence = place(v.Reasoning[i].Evidence)
	}
}

// Demanded is the error of a verdict that misses what was expected; nil where
// it does not.
func Demanded(v fabric.Verdict) error {
	if !v.Blocks() {
		return nil
	}
	code := fault.Unproven
	if v.Verdict == fabric.Fail {
		code = fault.FabricFail
	}
	err := fmt.Errorf("checking for %s: %s (%s)", v.Expectation, v.Verdict, v.Cause)
	return fault.WithCode(code, fault.WithHint(v.Remedy, err))
}
