// Package evidence keeps what a job printed and what follows from it: it
// stores the log files of driver and workers in the run folder, cuts them into
// lines for whoever shows them, and holds the parsed NCCL logs that the
// verdict is made of.
package evidence

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/google/renameio/v2"

	"github.com/trainyard/trainyard/fabric"
	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/nccllog"
)

const (
	// DefaultKeepBytes is what is kept on disk of one log file. A job that has
	// gone wrong can print megabytes a second; what decides is in the first few.
	DefaultKeepBytes = 64 << 20
	// tailLines are remembered of each file, to show why a process died.
	tailLines = 12
	// IndexName is the file that lists the log files beside it.
	IndexName = "sources.json"
	// lineBytes is the longest line that is passed on whole.
	lineBytes = 64 << 10
)

// Line is one line of the job's output.
type Line struct {
	rayjob.Source
	Text []byte // without its end; valid during the call only
}

// Driver tells whether the line is from the driver's log, that of the job's
// own command.
func (l Line) Driver() bool { return l.PID == 0 }

// Gatherer takes the pieces that a rayjob.Collector emits. Its methods may be
// called while pieces arrive.
type Gatherer struct {
	Dir       string     // where log files are kept; empty: nowhere
	KeepBytes int64      // 0 means DefaultKeepBytes
	OnLine    func(Line) // may be nil

	mu    sync.Mutex
	files map[string]*file
	gaps  []rayjob.Gap
}

// file is what is known of one log file.
type file struct {
	source  rayjob.Source
	parser  *nccllog.Parser
	out     *os.File
	kept    int64
	cut     bool // the rest is not kept
	partial []byte
	tail    []string
	failure error // of writing it; the file is no longer kept
}

// Chunk takes the next piece of a log file. It never fails: a full disk must
// not end a run, and Close tells of it.
func (g *Gatherer) Chunk(c rayjob.Chunk) {
	g.mu.Lock()
	f := g.file(c.Source)
	_, _ = f.parser.Write(c.Data) // never fails
	f.keep(c.Data, cmp.Or(g.KeepBytes, DefaultKeepBytes))
	g.mu.Unlock()
	g.lines(f, c.Data)
}

// Gap notes a part of the output that could not be read.
func (g *Gatherer) Gap(gap rayjob.Gap) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gaps = append(g.gaps, gap)
}

// file returns the entry of a source, made on its first piece. g.mu is held.
func (g *Gatherer) file(source rayjob.Source) *file {
	if f := g.files[source.File]; f != nil {
		f.source = source // the name of what runs in it may be known by now
		return f
	}
	f := &file{source: source, parser: nccllog.NewParser(source.File)}
	if g.Dir != "" {
		f.out, f.failure = os.Create(filepath.Join(g.Dir, filepath.Base(source.File)))
	}
	if g.files == nil {
		g.files = map[string]*file{}
	}
	g.files[source.File] = f
	return f
}

// keep writes the head of the file to disk.
func (f *file) keep(data []byte, limit int64) {
	if f.out == nil || f.failure != nil {
		return
	}
	if room := limit - f.kept; int64(len(data)) > room {
		data = data[:room]
		f.cut = true
	}
	n, err := f.out.Write(data)
	f.kept += int64(n)
	f.failure = err
}

// lines passes on the lines that data completes. Pieces of one file come one
// after the other, so its partial line needs no lock.
func (g *Gatherer) lines(f *file, data []byte) {
	for {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			break
		}
		line := data[:end]
		if len(f.partial) > 0 {
			line = append(f.partial, line...)
			f.partial = f.partial[:0]
		}
		g.line(f, line)
		data = data[end+1:]
	}
	if len(f.partial)+len(data) <= lineBytes {
		f.partial = append(f.partial, data...)
		return
	}
	g.line(f, append(f.partial, data...))
	f.partial = f.partial[:0]
}

func (g *Gatherer) line(f *file, text []byte) {
	text = bytes.TrimSuffix(text, []byte("\r"))
	g.mu.Lock()
	if !bytes.HasPrefix(text, recordPrefix) { // for programs, and told already
		if len(f.tail) == tailLines {
			f.tail = slices.Delete(f.tail, 0, 1)
		}
		f.tail = append(f.tail, string(text[:min(len(text), 1<<10)]))
	}
	source := f.source
	g.mu.Unlock()
	if g.OnLine != nil {
		g.OnLine(Line{Source: source, Text: text})
	}
}

// Close passes on last lines without an end, closes the files and writes
// sources.json beside them: which process of which node wrote each. It returns
// what could not be kept.
func (g *Gatherer) Close() error {
	g.mu.Lock()
	files := g.sorted()
	g.mu.Unlock()
	var problems []error
	index := make([]Kept, 0, len(files))
	for _, f := range files {
		if len(f.partial) > 0 {
			g.line(f, f.partial)
			f.partial = nil
		}
		_ = f.parser.Close() // never fails
		if f.out != nil {
			f.failure = cmp.Or(f.failure, f.out.Close())
		}
		if f.failure != nil {
			problems = append(problems, fmt.Errorf("keeping log %q: %w", f.source.File, f.failure))
		}
		index = append(index, Kept{
			File: f.source.File, Node: f.source.NodeName, PID: f.source.PID, Name: f.source.Name,
			Bytes: f.kept, Truncated: f.cut,
		})
	}
	if g.Dir != "" {
		problems = append(problems, writeIndex(g.Dir, index))
	}
	return errors.Join(problems...)
}

func (g *Gatherer) sorted() []*file {
	files := make([]*file, 0, len(g.files))
	for _, f := range g.files {
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b *file) int { return strings.Compare(a.source.File, b.source.File) })
	return files
}

// Facts are what is known of the job beside its logs; zero values are not
// known, GPUs is -1 where not known.
type Facts struct {
	Ranks, Nodes, GPUs int
	Machines           []fabric.Machine
	// BytesPerNode is what every node must have sent to others at least.
	BytesPerNode uint64
	// Attempt numbers the attempt of the job that a process was started for; nil
	// where nobody knows.
	Attempt func(rayjob.Process) int
}

func (f Facts) attempt(p rayjob.Process) int {
	if f.Attempt == nil || p.PID == 0 {
		return 0
	}
	return f.Attempt(p)
}

// Judge makes the verdict on what has been gathered so far.
func (g *Gatherer) Judge(expect fabric.Expectation, facts Facts) fabric.Verdict {
	g.mu.Lock()
	defer g.mu.Unlock()
	ev := fabric.Evidence{
		Expectation: expect, Ranks: facts.Ranks, Nodes: facts.Nodes, GPUs: facts.GPUs, Machines: facts.Machines,
		BytesPerNode: facts.BytesPerNode,
	}
	for _, f := range g.sorted() {
		ev.Logs = append(ev.Logs, fabric.LogFile{
			Log: f.parser.Log(), Node: f.source.NodeName, Truncated: g.incomplete(f.source.File),
			Attempt: facts.attempt(f.source.Process()),
		})
	}
	verdict := fabric.Judge(ev)
	for _, gap := range g.gaps {
		verdict.Warnings = append(verdict.Warnings, fabric.Warning{
			Cause: fabric.LogTruncated, Text: gapText(gap), Evidence: []fabric.Quote{},
		})
	}
	return verdict
}

// NCCLLines counts the lines of NCCL that have arrived.
func (g *Gatherer) NCCLLines() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	var n int64
	for _, f := range g.files {
		n += f.parser.Log().Info + f.parser.Log().Warn
	}
	return n
}

// Nodes lists the nodes that logs came from, in order.
func (g *Gatherer) Nodes() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var names []string
	for _, f := range g.files {
		if name := f.source.NodeName; name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// incomplete tells whether a part of the file could not be read. What was read
// was parsed whole, also where only its head is kept on disk.
func (g *Gatherer) incomplete(name string) bool {
	return slices.ContainsFunc(g.gaps, func(gap rayjob.Gap) bool { return gap.File == name })
}

func gapText(gap rayjob.Gap) string {
	if gap.File == "" && gap.NodeName == "" {
		return fmt.Sprintf("the logs could not be read to their end: %v", gap.Err)
	}
	if gap.File == "" {
		return fmt.Sprintf("no log of node %q could be read: %v", gap.NodeName, gap.Err)
	}
	return fmt.Sprintf("a part of %s of node %q could not be read: %v", gap.File, gap.NodeName, gap.Err)
}

// Tail is the end of a log file.
type Tail struct {
	File  string
	Lines []string
}

// Tails returns the last lines of every file that the process wrote.
func (g *Gatherer) Tails(p rayjob.Process) []Tail {
	g.mu.Lock()
	defer g.mu.Unlock()
	var tails []Tail
	for _, f := range g.sorted() {
		if f.source.Process() == p && len(f.tail) > 0 {
			tails = append(tails, Tail{f.source.File, slices.Clone(f.tail)})
		}
	}
	return tails
}

// Kept is a log file in the run folder, as sources.json lists it.
type Kept struct {
	File      string `json:"file"`
	Node      string `json:"node"`
	PID       int    `json:"pid,omitempty"`
	Name      string `json:"name,omitempty"` // of the actor or task
	Bytes     int64  `json:"bytes"`
	Truncated bool   `json:"truncated,omitempty"` // the process printed more than is kept
}

// ReadIndex reads the sources.json of a folder of logs, by file name; the error
// is fs.ErrNotExist where the folder was never finished.
func ReadIndex(dir string) (map[string]Kept, error) {
	data, err := os.ReadFile(filepath.Join(dir, IndexName))
	if err != nil {
		return nil, fmt.Errorf("reading the index of logs: %w", err)
	}
	var entries []Kept
	if err := json.Unmarshal(data, &entries); err != nil {
		return nil, fmt.Errorf("reading the index of logs: %w", err)
	}
	index := make(map[string]Kept, len(entries))
	for _, entry := range entries {
		index[entry.File] = entry
	}
	return index, nil
}

func writeIndex(dir string, index []Kept) error {
	data, err := json.MarshalIndent(index, "", "  ")
	if err == nil {
		err = renameio.WriteFile(filepath.Join(dir, IndexName), append(data, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("writing the index of logs: %w", err)
	}
	return nil
}
