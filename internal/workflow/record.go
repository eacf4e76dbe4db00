package workflow

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/fabric"
	"github.com/trainyard/trainyard/internal/evidence"
	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/internal/ui"
)

// account is what the built-in training has said of itself so far.
type account struct {
	ranks   map[rayjob.Process]evidence.Record // who and where each is
	world   int                                // size, 0 where not known
	backend string
	starts  int
	first   int         // the first step of the newest start
	loss    float64     // the last that was finite
	errors  []rankError // since the newest start
	heard   evidence.Testimony
	// conclusion is what the driver says of the job's failure, in a line.
	conclusion string
	// restart is why, as Ray Train's controller has it, workers are started again.
	restart string
}

// rankError is an error that a rank has told of.
type rankError struct {
	evidence.Record
	process rayjob.Process
	node    string
}

// conclusionPrefix begins the line by which the driver of the built-in training
// says why it gives up.
const conclusionPrefix = "trainyard.train: "

// concluded keeps what the built-in training says of its attempts: the driver's
// last words for the end, the controller's for the next start. l.mu is held.
func (l *lines) concluded(line evidence.Line) bool {
	text, ok := bytes.CutPrefix(line.Text, []byte(conclusionPrefix))
	switch {
	case !ok || !l.builtIn:
		return false
	case line.Driver():
		l.said.conclusion = string(text)
	case line.Name == trainController:
		l.said.restart = strings.TrimSuffix(string(text), ": starting workers again")
	default:
		return false
	}
	return true
}

// Conclusion is what the driver of the built-in training said of its failure;
// empty where it said nothing.
func (l *lines) Conclusion() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said.conclusion
}

// record takes a record of the built-in training.
func (l *lines) record(r evidence.Record, line evidence.Line) {
	if l.metrics != nil {
		_, _ = l.metrics.Write(append(bytes.Clone(line.Text), '\n')) // a full disk must not end a run
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	said := &l.said
	switch r.Event {
	case "rank":
		if said.ranks == nil {
			said.ranks = map[rayjob.Process]evidence.Record{}
		}
		said.ranks[line.Process()] = r
		said.world, said.backend = r.WorldSize, r.Backend
	case "start":
		l.hear()
		l.started(r)
	case "resumed":
		l.story.Note(fmt.Sprintf("going on from step %d", r.Step))
	case "step":
		l.stepped(r)
	case "evaluation":
		if r.Loss != nil {
			l.story.Note(fmt.Sprintf("evaluation at step %d: loss %.3f, perplexity %.2f", r.Step, *r.Loss, r.Perplexity))
		}
	case "checkpoint":
		l.story.Note(fmt.Sprintf("checkpoint of step %d, in %s", r.Step, ui.Seconds(r.Seconds)))
	case "exported":
		l.story.Note("the trained model is in " + r.Path)
	case "warning":
		l.story.Warn(r.Message)
	case "evidence":
		said.heard.Hear(r)
	case "error":
		said.errors = append(said.errors, rankError{r, line.Process(), said.ranks[line.Process()].Node})
	}
}

// started tells of a start, and why it is not the first. l.mu is held.
func (l *lines) started(r evidence.Record) {
	said := &l.said
	if said.starts++; said.starts > 1 {
		text := "the workers were started again"
		if e, ok := cause(said.errors); ok {
			text += ": " + e.where() + " failed: " + e.Message
		} else if said.restart != "" {
			text += ": " + said.restart
		}
		said.errors, said.restart = nil, ""
		l.story.Warn(text)
	}
	said.first = max(r.FirstStep, 1)
	if r.SeqLen > 0 {
		data := r.Data
		if data == "random" {
			data = "random tokens, from which nothing is learned"
		}
		l.story.Note(fmt.Sprintf("%d x %d tokens a worker and step, of %s", r.BatchSize*max(r.Accumulate, 1), r.SeqLen, data))
	}
	if r.Parallel == "" {
		return
	}
	text := r.Parallel + ": " + r.Reason
	if r.BytesAcrossNodes > 0 {
		text += fmt.Sprintf("; each node sends %s a step", ui.Bytes(int64(r.BytesAcrossNodes))) //nolint:gosec // no step moves exabytes
	}
	l.story.Note(text)
}

// stepped tells how far the training is. l.mu is held.
func (l *lines) stepped(r evidence.Record) {
	said := &l.said
	if r.Loss != nil { // else a warning follows
		said.loss = *r.Loss
	}
	p := ui.Progress{Step: r.Step, Steps: r.Steps, Loss: said.loss, TokensPerSecond: r.TokensPerSecond, MFU: r.MFU}
	if done := r.Step - max(said.first, 1) + 1; done > 0 {
		p.SecondsLeft = r.Elapsed / float64(done) * float64(r.Steps-r.Step)
	}
	l.story.Progress(p)
}

// cause is the error that came first and is no consequence of another.
func cause(errors []rankError) (rankError, bool) {
	found := slices.DeleteFunc(slices.Clone(errors), func(e rankError) bool { return e.Consequence() })
	if len(found) == 0 {
		return rankError{}, false
	}
	return slices.MinFunc(found, func(a, b rankError) int { return cmp.Compare(a.Time, b.Time) }), true
}

// where names the rank and its node.
func (e rankError) where() string {
	if e.node == "" {
		return fmt.Sprintf("rank %d", e.Rank)
	}
	return fmt.Sprintf("rank %d on node %s", e.Rank, e.node)
}

// Cause is the error of a rank that ended the job, and how many other ranks
// ended with it. Errors of attempts before the last do not count.
func (l *lines) Cause() (first rankError, others int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := 0
	for _, r := range l.ranks.Current() {
		last = max(last, l.ranks.Attempt(r.Process))
	}
	errors := slices.DeleteFunc(slices.Clone(l.said.errors), func(e rankError) bool {
		return l.ranks.Attempt(e.process) < last
	})
	first, ok = cause(errors)
	for _, e := range errors {
		if e.Rank != first.Rank {
			others++
		}
	}
	return first, others, ok
}

// Machines is what ranks have read of their machines' network cards.
func (l *lines) Machines() []fabric.Machine {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said.heard.Machines()
}

// BytesPerNode is what each node must have sent to others at least, as far as
// the ranks have said; 0 where they have not.
func (l *lines) BytesPerNode() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said.heard.BytesPerNode()
}
