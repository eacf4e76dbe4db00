package workflow

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/rayjob"
)

// failure explains why a job failed: the first error that a rank of the
// built-in training told of, where it is no consequence; else the worker
// process that died, with rank, node and its last lines; else what the driver
// or Ray says.
func (f *following) failure(job rayjob.Job) error {
	ctx, cancel := context.WithTimeout(f.Hard, 10*time.Second)
	defer cancel()
	text := fmt.Sprintf("running job %q: ", f.run.Info.SubmissionID)
	if first, others, ok := f.lines.Cause(); ok {
		text += firstError(first, others)
	} else if worker, ok := f.lostWorker(ctx); ok {
		text += f.describe(worker)
	} else if said := f.lines.Conclusion(); said != "" {
		text += said
	} else {
		text += reason(job)
	}
	return fault.WithCode(fault.JobFailed, fault.WithHint(advice(text, f.run.LogDir()), fmt.Errorf("%s", text)))
}

var (
	missingModule  = regexp.MustCompile(`ModuleNotFoundError: No module named '(\w+)`)
	missingPackage = regexp.MustCompile(`ImportError: .*\bpip install\b`)
)

// advice is what to do about a failed job, given what is said of it.
func advice(text, logs string) string {
	where := "all output is in " + logs
	if module := missingModule.FindStringSubmatch(text); module != nil {
		return fmt.Sprintf("--pip %s brings a package of that name, --working-dir modules of your own; %s", module[1], where)
	}
	if missingPackage.MatchString(text) {
		return "--pip PACKAGE brings what is missing; " + where
	}
	return where
}

// firstError is what a rank told of, with the traceback where that is all there
// is to go by. What other ranks told after it is folded away.
func firstError(e rankError, others int) string {
	text := e.where() + " failed"
	if e.Step > 0 && e.Kind != "config" && e.Kind != "numbers" { // whose messages name it
		text += fmt.Sprintf(" at step %d", e.Step)
	}
	text += ": " + e.Message
	if others > 0 {
		text += fmt.Sprintf("\n  %s ended with it", plural(others, "other rank"))
	}
	if e.Traceback != "" {
		text += "\n  " + strings.ReplaceAll(strings.TrimSpace(e.Traceback), "\n", "\n  ")
	}
	return text
}

// lostWorker finds the worker process of the job that did not end of its own
// will: the first of the last attempt.
func (f *following) lostWorker(ctx context.Context) (rayjob.Worker, bool) {
	workers, err := f.client.Workers(ctx)
	if err != nil {
		return rayjob.Worker{}, false
	}
	var lost rayjob.Worker
	latest, found := -1, false
	for _, w := range workers {
		if w.Alive || w.Type != "WORKER" || !strings.Contains(w.ExitType, "SYSTEM_ERROR") && !strings.Contains(w.ExitType, "OUT_OF_MEMORY") {
			continue
		}
		_, ours := f.lines.Rank(w.Process())
		if attempt := f.lines.Attempt(w.Process()); ours && attempt > latest {
			lost, latest, found = w, attempt, true
		}
	}
	return lost, found
}

// describe says which worker died and quotes its last lines.
func (f *following) describe(w rayjob.Worker) string {
	rank, _ := f.lines.Rank(w.Process())
	node := w.NodeID
	if name := f.nodeName(w.NodeID); name != "" {
		node = name
	}
	text := fmt.Sprintf("rank %d on node %s (process %d) died", rank, node, w.PID)
	if w.ExitDetail != "" {
		text += ": " + firstSentence(w.ExitDetail)
	}
	for _, tail := range f.gatherer.Tails(w.Process()) {
		text += fmt.Sprintf("\n  last lines of %s:\n    %s", tail.File, strings.Join(tail.Lines, "\n    "))
	}
	return text
}

func (f *following) nodeName(id string) string {
	ctx, cancel := context.WithTimeout(f.Hard, 10*time.Second)
	defer cancel()
	nodes, err := f.client.Nodes(ctx)
	if err != nil {
		return ""
	}
	for _, n := range nodes {
		if n.ID == id {
			return n.Name
		}
	}
	return ""
}

// reason is what Ray says of a failed job, shortened to its point: the last
// line of a traceback, the exit code.
func reason(job rayjob.Job) string {
	lines := strings.Split(strings.TrimSpace(job.Message), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return isStartRemark([]byte(line)) })
	if len(lines) == 0 {
		return string(job.Status)
	}
	text := lines[0]
	if len(lines) > 1 {
		text += "\n    " + strings.Join(lines[max(1, len(lines)-8):], "\n    ")
	}
	if text == "" {
		text = string(job.Status)
	}
	return text
}

func firstSentence(text string) string {
	if i := strings.Index(text, ". "); i > 0 {
		return text[:i]
	}
	return strings.TrimSuffix(text, ".")
}
