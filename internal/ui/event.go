// Package ui tells people and machines what a long command does, on standard
// error. What happens is a value, an [Event]; a [Story] hands it to sinks: a
// live view on a terminal, one plain line a step elsewhere, JSON for machines,
// and whoever else listens.
package ui

import (
	"sync"
	"time"
)

// Kind is the kind of an event.
type Kind string

// The kinds of events.
const (
	StepBegan   Kind = "step-began"   // Step
	StepUpdate  Kind = "step-update"  // Step, Text: what it does or waits for now
	StepTable   Kind = "step-table"   // Text: lines that a terminal shows until the step ends; Detail: the same in a few words
	StepDone    Kind = "step-done"    // Step, Text: what came out, Seconds
	StepFailed  Kind = "step-failed"  // Step, Seconds
	JobOutput   Kind = "job-output"   // Source, Text: a line of the job's output
	JobProgress Kind = "job-progress" // Progress
	Note        Kind = "note"         // Text: worth knowing
	Warning     Kind = "warning"      // Text: worth acting on
	Question    Kind = "question"     // Text: what the user is asked, until it is answered
	Answer      Kind = "answer"       // there is no question any longer
	RunFinished Kind = "run-finished" // Step: the outcome in a word, Text: in a sentence, Detail: the run's folder
)

// JobStep is the step in which a job is started; when it is done, the job runs.
const JobStep = "job"

// Event is one thing that happened. Fields that its kind does not name are
// empty.
type Event struct {
	Time     time.Time `json:"time"`
	Kind     Kind      `json:"event"`
	Step     string    `json:"step,omitempty"`
	Text     string    `json:"text,omitempty"`
	Detail   string    `json:"detail,omitempty"`
	Source   string    `json:"source,omitempty"` // "rank 0", "driver", …
	Seconds  float64   `json:"seconds,omitempty"`
	Progress *Progress `json:"progress,omitempty"`
}

// Progress is where a training stands.
type Progress struct {
	Step            int     `json:"step"` // counted from 1
	Steps           int     `json:"steps"`
	Loss            float64 `json:"loss"`
	TokensPerSecond float64 `json:"tokensPerSecond"`
	MFU             float64 `json:"mfu,omitempty"` // model FLOPs utilization, 0 to 1; 0: not known
	SecondsLeft     float64 `json:"secondsLeft"`
}

// Sink receives events one at a time.
type Sink interface{ Event(Event) }

// Story is what a command tells while it works. Its steps follow each other:
// beginning one ends the one before it. A Story may be used by several
// goroutines.
type Story struct {
	now   func() time.Time
	mu    sync.Mutex
	sinks []Sink
	step  string
	began time.Time
}

// NewStory returns a story told to the given sinks.
func NewStory(sinks ...Sink) *Story { return &Story{now: time.Now, sinks: sinks} }

// Add lets one more sink hear what happens from now on.
func (s *Story) Add(sink Sink) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sinks = append(s.sinks, sink)
}

func (s *Story) tell(e Event) {
	e.Time = s.now()
	for _, sink := range s.sinks {
		sink.Event(e)
	}
}

// Begin starts a step.
func (s *Story) Begin(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.step, s.began = step, s.now()
	s.tell(Event{Kind: StepBegan, Step: step})
}

// Update says what the running step does now.
func (s *Story) Update(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(Event{Kind: StepUpdate, Step: s.step, Text: text})
}

// Table shows lines, such as of a table that fills, until the step ends, where
// lines can be rewritten; elsewhere the summary has to do.
func (s *Story) Table(lines, summary string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(Event{Kind: StepTable, Step: s.step, Text: lines, Detail: summary})
}

// Done ends the running step with what came out of it.
func (s *Story) Done(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(Event{Kind: StepDone, Step: s.step, Text: text, Seconds: s.now().Sub(s.began).Seconds()})
	s.step = ""
}

// Failed ends the running step, if one runs, without a result; the reason is
// the command's error.
func (s *Story) Failed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.step == "" {
		return
	}
	s.tell(Event{Kind: StepFailed, Step: s.step, Seconds: s.now().Sub(s.began).Seconds()})
	s.step = ""
}

// Output passes on a line of the job's output.
func (s *Story) Output(source, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(Event{Kind: JobOutput, Source: source, Text: line})
}

// Progress says where the training stands.
func (s *Story) Progress(p Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(Event{Kind: JobProgress, Progress: &p})
}

// Note says something worth knowing.
func (s *Story) Note(text string) { s.say(Note, text) }

// Warn says something worth acting on.
func (s *Story) Warn(text string) { s.say(Warning, text) }

// Ask puts a question, which stands until Answered is called. Whoever asks reads
// the answer.
func (s *Story) Ask(question string) { s.say(Question, question) }

// Answered takes the question away.
func (s *Story) Answered() { s.say(Answer, "") }

// Finished says how a run ended: in a word, in a sentence, and in which folder
// the rest is.
func (s *Story) Finished(outcome, text, dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(Event{Kind: RunFinished, Step: outcome, Text: text, Detail: dir})
}

func (s *Story) say(kind Kind, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(Event{Kind: kind, Text: text})
}
