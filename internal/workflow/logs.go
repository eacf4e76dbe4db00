package workflow

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/trainyard/trainyard/internal/evidence"
	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/internal/runs"
)

// Logs writes every line of a run's output, each behind the name of who printed
// it. Of a run that has ended they come from its folder. Of one that goes on they
// come from its cluster, from the first line to the end of the job if follow is
// set, else to what there is now; unless a trainyard follows it already, whose
// folder has that.
func (w Workspace) Logs(ctx context.Context, run *runs.Run, follow bool, out io.Writer) error {
	if run.Current().Final() || !follow && run.Info.Owner.Alive() {
		return w.storedLogs(run, out)
	}
	return w.liveLogs(ctx, run, follow, out)
}

func (w Workspace) liveLogs(ctx context.Context, run *runs.Run, follow bool, out io.Writer) error {
	cluster, err := w.clusterOf(ctx, run)
	if run.Info.State == runs.Lost && run.Dir != "" {
		return w.storedLogs(run, out)
	}
	if err != nil {
		return err
	}
	ray, err := client(cluster)
	if err != nil {
		return err
	}
	gatherer := &evidence.Gatherer{OnLine: func(line evidence.Line) { writeLine(out, label(line.Name, line.PID), line.Text) }}
	all := collector(cluster, ray, run.Info.SubmissionID)
	all.Emit, all.Now = gatherer.Chunk, !follow
	all.Gap = func(gap rayjob.Gap) {
		w.Story.Warn(fmt.Sprintf("a part of %s could not be read: %v", gap.File, gap.Err))
	}
	return errors.Join(all.Run(ctx), gatherer.Close())
}

// storedLogs writes the driver's log first, then the workers'.
func (w Workspace) storedLogs(run *runs.Run, out io.Writer) error {
	drivers, err := filepath.Glob(filepath.Join(run.LogDir(), "job-driver-*.log"))
	if err != nil {
		return fmt.Errorf("listing logs: %w", err)
	}
	workers, err := filepath.Glob(filepath.Join(run.LogDir(), "worker-*"))
	if err != nil {
		return fmt.Errorf("listing logs: %w", err)
	}
	index, err := evidence.ReadIndex(run.LogDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // the run was killed, or goes on
		return err
	}
	if len(drivers)+len(workers) == 0 {
		w.Story.Note(fmt.Sprintf("run %s has no output: %s", run.Info.ID, cmp.Or(run.Info.Message, string(run.Info.State))))
	}
	for _, path := range append(drivers, workers...) {
		entry, known := index[filepath.Base(path)]
		who := filepath.Base(path)
		if known {
			who = label(entry.Name, entry.PID)
		}
		if err := copyLines(path, who, out); err != nil {
			return err
		}
		if entry.Truncated {
			writeLine(out, who, fmt.Appendf(nil, "[only the first %d bytes are kept]", entry.Bytes))
		}
	}
	return nil
}

// label says who printed a line: the actor or task and its process, or the
// driver.
func label(name string, pid int) string {
	if pid == 0 {
		return "driver"
	}
	return fmt.Sprintf("%s %d", cmp.Or(name, "process"), pid)
}

func copyLines(path, who string, out io.Writer) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading log: %w", err)
	}
	defer file.Close()
	reader := bufio.NewReader(file)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			writeLine(out, who, trimEnd(line))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading log %q: %w", path, err)
		}
	}
}

func trimEnd(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		return line[:n-1]
	}
	return line
}

func writeLine(out io.Writer, who string, text []byte) {
	_, _ = fmt.Fprintf(out, "%s: %s\n", who, text)
}
