package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/trainyard/trainyard/fabric"
	"github.com/trainyard/trainyard/nccllog"
)

// chunk is how much is read from a file at a time.
const chunk = 256 << 10

// read reads one log.
func read(path string) error {
	_, err := parse(path, make([]byte, chunk))
	return err
}

func parse(path string, buffer []byte) (*nccllog.Log, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p := nccllog.NewParser(path)
	if _, err := io.CopyBuffer(p, struct{ io.Reader }{f}, buffer); err != nil {
		return nil, fmt.Errorf("reading log %q: %w", path, err)
	}
	return p.Log(), p.Close()
}

// judge reads all logs in a folder, as many at once as there are cores, and
// prints the verdict.
func judge(out io.Writer, dir string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return err
	}
	ev := fabric.Evidence{Expectation: fabric.EFA, GPUs: -1, Logs: make([]fabric.LogFile, len(paths))}
	failures := make([]error, runtime.GOMAXPROCS(0))
	next := make(chan int)
	var readers sync.WaitGroup
	for i := range failures {
		readers.Go(func() {
			buffer := make([]byte, chunk)
			for n := range next {
				log, err := parse(paths[n], buffer)
				if err != nil {
					failures[i] = err
				}
				ev.Logs[n] = fabric.LogFile{Log: log}
			}
		})
	}
	for n := range paths {
		next <- n
	}
	close(next)
	readers.Wait()
	for _, err := range failures {
		if err != nil {
			return err
		}
	}
	v := fabric.Judge(ev)
	_, err = fmt.Fprintf(out, `{"verdict": %q, "transport": %q, "summary": %q}`+"\n", v.Verdict, v.Transport, v.Summary)
	return err
}

// head keeps the beginning of a program's output.
type head struct{ kept bytes.Buffer }

func (h *head) Write(b []byte) (int, error) {
	h.kept.Write(b[:min(len(b), 4096-h.kept.Len())])
	return len(b), nil
}

// verdict returns what follows the first "verdict" and "summary".
func (h *head) verdict() string {
	var words []string
	for _, key := range []string{`"verdict":`, `"summary":`} {
		_, rest, ok := strings.Cut(h.kept.String(), key)
		if !ok {
			continue
		}
		if parts := strings.SplitN(rest, `"`, 3); len(parts) == 3 {
			words = append(words, parts[1])
		}
	}
	return strings.Join(words, "  ")
}
