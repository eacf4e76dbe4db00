// Package logfiles finds log files below the paths that a person names, and
// reads them: it knows rotated and compressed files, the folders of Ray's
// sessions, and which files of a folder are no logs at all. What the lines mean
// is nccllog's business.
package logfiles

import (
	"fmt"
	"io"
)

// Log is one log: a file, or several into which it was rotated.
type Log struct {
	// Name is the path of the newest file, as evidence quotes it.
	Name string
	// Node and Job are what the place of the file tells; empty where it does not.
	Node, Job string
	// Truncated says that parts of the log are known to be missing.
	Truncated bool
	// Named says that the person named the file itself, not a folder.
	Named bool

	pieces []piece // oldest first
	ray    rayFile
}

// piece is one file of a log.
type piece struct {
	path string
	size int64
	from io.Reader // standard input; nil for files
}

// size is the number of bytes of all files of the log, as they are stored.
func (l Log) size() (sum int64) {
	for _, p := range l.pieces {
		sum += p.size
	}
	return sum
}

// Files lists the paths of the log's files, oldest first.
func (l Log) Files() []string {
	paths := make([]string, len(l.pieces))
	for i, p := range l.pieces {
		paths[i] = p.path
	}
	return paths
}

// Problem is a file or folder that could not be read, or not to its end: what
// it holds is not known.
type Problem struct {
	Path string
	Err  error
}

func (p Problem) Error() string { return fmt.Sprintf("reading %q: %v", p.Path, p.Err) }

func (p Problem) Unwrap() error { return p.Err }

// Found is what [Finder.Find] finds.
type Found struct {
	Logs     []Log
	Problems []Problem
	// World is the number of ranks by job, where the place of the files tells it.
	World map[string]int
}
