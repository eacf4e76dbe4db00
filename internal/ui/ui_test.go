package ui

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// told tells one whole run to a sink, with a clock that moves a second at each
// reading.
func told(sink Sink) {
	s := NewStory(sink)
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	s.now = func() time.Time { now = now.Add(time.Second); return now }
	s.Begin("environment")
	s.Update("installing")
	s.Done("ray 2.58.0")
	s.Note("STEPS = 20, from the environment")
	s.Begin("cluster")
	s.Failed()
	s.Failed() // no step runs: nothing to say
	s.Output("driver", "hello")
	s.Output("rank 1", "hello from rank 1")
	for step := 1; step <= 40; step++ {
		s.Progress(Progress{Step: step, Steps: 40, Loss: 3, TokensPerSecond: 18200, SecondsLeft: float64(40 - step)})
	}
	s.Warn("stopping the job")
	s.Finished("done", "40 steps", ".trainyard/runs/x")
}

func TestPlain(t *testing.T) {
	var out bytes.Buffer
	sink, end := Streams{Err: &out}.Teller(Auto)
	told(sink)
	end()
	want := `environment  ray 2.58.0                                                     3.0s
note         STEPS = 20, from the environment
cluster      failed                                                         2.0s
hello
[rank 1] hello from rank 1
  step 1/40  loss 3.00  18.2k tokens/s  39s left
  step 6/40  loss 3.00  18.2k tokens/s  34s left
  step 11/40  loss 3.00  18.2k tokens/s  29s left
  step 16/40  loss 3.00  18.2k tokens/s  24s left
  step 21/40  loss 3.00  18.2k tokens/s  19s left
  step 26/40  loss 3.00  18.2k tokens/s  14s left
  step 31/40  loss 3.00  18.2k tokens/s  9s left
  step 36/40  loss 3.00  18.2k tokens/s  4s left
  step 40/40  loss 3.00  18.2k tokens/s
warning      stopping the job
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("plain output (-want +got):\n%s", diff)
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > Columns+1 {
			t.Errorf("line of %d columns: %q", len(line)-1, line)
		}
	}
}

func TestLongStepShowsThatItLives(t *testing.T) {
	var out bytes.Buffer
	sink, _ := Streams{Err: &out}.Teller(Plain)
	s := NewStory(sink)
	now := time.Now()
	s.now = func() time.Time { return now }
	s.Begin("cluster")
	for range 25 {
		now = now.Add(time.Second)
		s.Update("1 of 3 nodes are up")
	}
	if got, want := strings.Count(out.String(), "1 of 3 nodes are up …\n"), 2; got != want {
		t.Errorf("%d lines in 25 s, want %d:\n%s", got, want, out.String())
	}
}

func TestJSONLines(t *testing.T) {
	var out bytes.Buffer
	sink, end := Streams{Err: &out}.Teller(JSON)
	told(sink)
	end()
	var kinds []Kind
	for line := range strings.Lines(out.String()) {
		var e Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if e.Kind != JobProgress {
			kinds = append(kinds, e.Kind)
		}
	}
	want := []Kind{StepBegan, StepUpdate, StepDone, Note, StepBegan, StepFailed, JobOutput, JobOutput, Warning, RunFinished}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}

// TestLive replays what a terminal shows in the end: finished lines, and
// nothing of the lines that were rewritten.
func TestLive(t *testing.T) {
	var out bytes.Buffer
	sink, end := Streams{Err: &out, Terminal: true, Width: func() int { return 60 }}.Teller(Auto)
	told(sink)
	end()
	var screen []string
	line := ""
	for _, part := range strings.SplitAfter(out.String(), "\n") {
		if i := strings.LastIndex(part, "\r\x1b[K"); i >= 0 {
			line, part = "", part[i+len("\r\x1b[K"):]
		}
		line += part
		if strings.HasSuffix(line, "\n") {
			screen = append(screen, strings.TrimSuffix(line, "\n"))
			line = ""
		}
	}
	want := []string{
		"environment  ray 2.58.0                                                     3.0s",
		"note         STEPS = 20, from the environment",
		"cluster      failed                                                         2.0s",
		"hello",
		"[rank 1] hello from rank 1",
		"warning      stopping the job",
	}
	if diff := cmp.Diff(want, screen); diff != "" {
		t.Errorf("screen (-want +got):\n%s", diff)
	}
	if line != "" {
		t.Errorf("left on the last line: %q", line)
	}
	if !strings.Contains(out.String(), "step 40/40") {
		t.Error("progress was never shown")
	}
}

func TestQuiet(t *testing.T) {
	var out bytes.Buffer
	sink, end := Streams{Err: &out}.Teller(Quiet)
	told(sink)
	end()
	if out.Len() != 0 {
		t.Errorf("quiet wrote %q", out.String())
	}
}

func TestOutputCannotDriveTheTerminal(t *testing.T) {
	e := Event{Kind: JobOutput, Source: "rank 0", Text: "10%\r\x1b[2Jfull\x1b[31m red\x1b[0m\a\u009b2J\tend"}
	if got, want := outputLine(e, Painter(false)), "[rank 0] full red2J\tend"; got != want {
		t.Errorf("outputLine = %q, want %q", got, want)
	}
}

func TestPrintError(t *testing.T) {
	var out bytes.Buffer
	Streams{Err: &out}.PrintError(errors.Join(errors.New("first"), errors.New("second")), []string{"do this"})
	if got, want := out.String(), "error  first\n       second\nhint   do this\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

func TestResult(t *testing.T) {
	s := Streams{}
	short := s.Result("done", "200 steps in 43s", ".trainyard/runs/20261129-7f3a")
	if len(short) != Columns || strings.Contains(short, "\n") {
		t.Errorf("short result is %d columns: %q", len(short), short)
	}
	long := s.Result("done", strings.Repeat("x", 60), ".trainyard/runs/20261129-7f3a")
	if want := "done         " + strings.Repeat("x", 60) + "\nrun          .trainyard/runs/20261129-7f3a"; long != want {
		t.Errorf("long result = %q, want %q", long, want)
	}
}

func TestLongTextIsWrapped(t *testing.T) {
	text := "FAIL  2 of 2 ranks crossed nodes over TCP sockets where EFA was expected: NCCL did not find a network plugin"
	want := `transport    FAIL  2 of 2 ranks crossed nodes over TCP sockets where EFA was
             expected: NCCL did not find a network plugin                   0.2s`
	if diff := cmp.Diff(want, stepLine(Painter(false), "", "transport", text, "0.2s")); diff != "" {
		t.Errorf("step (-want +got):\n%s", diff)
	}
	full := strings.Repeat("x", Columns-nameWidth)
	want = "cluster      " + full + "\n" + strings.Repeat(" ", Columns-4) + "0.2s"
	if diff := cmp.Diff(want, stepLine(Painter(false), "", "cluster", full, "0.2s")); diff != "" {
		t.Errorf("step (-want +got):\n%s", diff)
	}
}

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		Thousands(0): "0", Thousands(950.4): "950", Thousands(18_240): "18.2k", Thousands(999_960): "1.0M",
		Bytes(0): "0 B", Bytes(999): "999 B", Bytes(38_400): "38 kB", Bytes(12_345_678): "12.3 MB", Bytes(2_900_000_000): "2.9 GB",
		Seconds(0.04): "0.0s", Seconds(59.94): "59.9s", Seconds(59.96): "1m00s", Seconds(125): "2m05s",
		Duration(0): "0s", Duration(3*time.Hour + 4*time.Minute): "3h04m",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if _, err := ParseMode("loud"); err == nil {
		t.Error(`ParseMode("loud") is no error`)
	}
}

// TestTable: lines of a table stand above the running step's, and are gone when
// it ends; a log gets the summary.
func TestTable(t *testing.T) {
	var out bytes.Buffer
	sink, end := Streams{Err: &out, Terminal: true, Width: func() int { return 20 }}.Teller(Auto)
	s := NewStory(sink)
	s.Begin("look")
	s.Table("a\nb", "1 of 2")
	s.Table("a\nb\nc, a line that is too long", "2 of 2")
	s.Done("all")
	end()
	text := out.String()
	for _, want := range []string{"a\nb\n", "\x1b[2A\r\x1b[Ja\nb\nc, a line that is …\n", "\x1b[3A\r\x1b[Jlook         all"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	out.Reset()
	s = NewStory(&jsonLines{w: &out})
	s.Begin("look")
	s.Table("a\nb", "1 of 2")
	if !strings.Contains(out.String(), `"event":"step-update","step":"look","text":"1 of 2"`) {
		t.Errorf("JSON has %s", out.String())
	}
}
