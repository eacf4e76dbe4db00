package workflow

import (
	"bufio"
	"context"
	"encoding/json"
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

// Logs writes every line of a run's output, each behind the name of the file
// it is in. Of a run that has ended they come from its folder. Of one that
// goes on they come from its cluster, from the first line to the end of the
// job if follow is set, else to what there is now in the run's folder.
func (w Workspace) Logs(ctx context.Context, run *runs.Run, follow bool, out io.Writer) error {
	if follow && !run.Current().Final() {
		return w.liveLogs(ctx, run, out)
	}
	return storedLogs(run, out)
}

func (w Workspace) liveLogs(ctx context.Context, run *runs.Run, out io.Writer) error {
	cluster, err := w.Clusters.Get(run.Info.Cluster.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return storedLogs(run, out)
	}
	if err != nil {
		return err
	}
	ray, err := client(cluster)
	if err != nil {
		return err
	}
	gatherer := &evidence.Gatherer{OnLine: func(line evidence.Line) { writeLine(out, line.File, line.Text) }}
	all := collector(cluster, ray, run.Info.SubmissionID)
	all.Emit = gatherer.Chunk
	all.Gap = func(gap rayjob.Gap) {
		w.Story.Warn(fmt.Sprintf("a part of %s could not be read: %v", gap.File, gap.Err))
	}
	return errors.Join(all.Run(ctx), gatherer.Close())
}

// storedLogs writes the driver's log first, then the workers'.
func storedLogs(run *runs.Run, out io.Writer) error {
	drivers, err := filepath.Glob(filepath.Join(run.LogDir(), "job-driver-*.log"))
	if err != nil {
		return fmt.Errorf("listing logs: %w", err)
	}
	workers, err := filepath.Glob(filepath.Join(run.LogDir(), "worker-*"))
	if err != nil {
		return fmt.Errorf("listing logs: %w", err)
	}
	for _, path := range append(drivers, workers...) {
		if err := copyLines(path, out); err != nil {
			return err
		}
	}
	return warnTruncated(run, out)
}

func copyLines(path string, out io.Writer) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading log: %w", err)
	}
	defer file.Close()
	reader := bufio.NewReader(file)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			writeLine(out, filepath.Base(path), trimEnd(line))
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

func writeLine(out io.Writer, file string, text []byte) {
	_, _ = fmt.Fprintf(out, "%s: %s\n", file, text)
}

// warnTruncated says which files are not kept whole.
func warnTruncated(run *runs.Run, out io.Writer) error {
	data, err := os.ReadFile(filepath.Join(run.LogDir(), "sources.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the run was killed, or goes on
	}
	if err != nil {
		return fmt.Errorf("reading the index of logs: %w", err)
	}
	var index []struct {
		File      string `json:"file"`
		Bytes     int64  `json:"bytes"`
		Truncated bool   `json:"truncated"`
	}
	if err := json.Unmarshal(data, &index); err != nil {
		return fmt.Errorf("reading the index of logs: %w", err)
	}
	for _, entry := range index {
		if entry.Truncated {
			writeLine(out, entry.File, []byte(fmt.Sprintf("[only the first %d bytes are kept]", entry.Bytes)))
		}
	}
	return nil
}
