package runs

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/trainyard/trainyard/internal/ui"
)

// eventLog writes a story into a run's folder. The job's output is left out:
// the log files have it.
type eventLog struct{ file *os.File }

// Events opens events.jsonl to listen to a story. The file stays open as long
// as the program runs and holds every event as it happens.
func (r *Run) Events() (ui.Sink, error) {
	file, err := os.OpenFile(filepath.Join(r.Dir, "events.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644) //nolint:gosec // no secrets
	if err != nil {
		return nil, fmt.Errorf("writing the events of run %q: %w", r.Info.ID, err)
	}
	return eventLog{file}, nil
}

// Event writes one line. A full disk must not end a run, so failures are not
// told.
func (l eventLog) Event(e ui.Event) {
	switch e.Kind {
	case ui.JobOutput, ui.JobProgress, ui.StepUpdate, ui.StepTable:
		return
	}
	if data, err := json.Marshal(e); err == nil {
		_, _ = l.file.Write(append(data, '\n'))
	}
}

// Step is one training step of metrics.jsonl.
type Step struct {
	Step            int     `json:"step"` // counted from 1
	Steps           int     `json:"steps"`
	Loss            float64 `json:"loss"`
	TokensPerSecond float64 `json:"tokens_per_second"`
	Seconds         float64 `json:"seconds"`
}

// Steps reads the training steps that the run has recorded so far.
func (r *Run) Steps() []Step {
	file, err := os.Open(filepath.Join(r.Dir, "metrics.jsonl"))
	if err != nil {
		return nil
	}
	defer file.Close()
	var steps []Step
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		if !strings.Contains(scanner.Text(), `"event": "step"`) {
			continue
		}
		var step Step
		if json.Unmarshal(scanner.Bytes(), &step) == nil {
			steps = append(steps, step)
		}
	}
	return steps
}
