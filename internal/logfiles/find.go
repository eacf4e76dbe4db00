package logfiles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/trainyard/trainyard/internal/fault"
)

// StdinName is how evidence names standard input.
const StdinName = "stdin"

// Finder finds logs.
type Finder struct {
	// Stdin is what the path - stands for.
	Stdin io.Reader
	// Folder, if not nil, tells whether a folder is of a known make; it may be
	// asked for the folder of the logs itself, too.
	Folder func(dir string) (Folder, bool)
}

// Folder is a folder of one job's logs and what is known of them.
type Folder struct {
	Dir   string // where the logs are
	Job   string
	World int // the number of ranks; 0 where not known
	// Files says more of single files, by name; Other names files that are no
	// logs.
	Files map[string]Facts
	Other []string
}

// Facts are what is known of a file beside its content.
type Facts struct {
	Node      string
	Truncated bool
}

// Find lists the logs that the paths name, and all below the folders among
// them, in that order and each once. It follows no symbolic links to folders
// but the paths themselves, and opens no pipes, sockets and devices that it
// comes upon. A path that names nothing, or what can be no log, is an error,
// which tells of all of them; what cannot be read is a [Problem].
func (f Finder) Find(ctx context.Context, paths []string) (Found, error) {
	s := &search{Finder: f, seen: map[fileID]bool{}, workers: map[string]rayWorker{}, world: map[string]int{}}
	var wrong []error
	for _, path := range paths {
		if err := s.path(ctx, path); err != nil {
			wrong = append(wrong, err)
		}
		if err := ctx.Err(); err != nil {
			return Found{}, err
		}
	}
	if len(wrong) > 0 {
		return Found{}, errors.Join(wrong...)
	}
	logs := rotated(s.logs)
	s.placeRay(logs)
	return Found{Logs: logs, Problems: s.problems, World: s.world}, nil
}

// search is one run of a Finder.
type search struct {
	Finder
	seen     map[fileID]bool
	met      int // files and problems, also those met before
	logs     []Log
	problems []Problem
	workers  map[string]rayWorker // by Ray's id, from Ray Train's records
	world    map[string]int
}

// path takes what a person named.
func (s *search) path(ctx context.Context, path string) error {
	if path == "-" {
		s.stdin()
		return nil
	}
	if path == "" { // an unset variable: not the working folder
		return fault.WithCode(fault.Usage, fault.WithHint("give a file or a folder; . is this one", errors.New("a PATH is empty")))
	}
	path = filepath.Clean(path)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.WithHint("give files or folders that exist; - is standard input", fmt.Errorf("reading %q: there is no such file or folder", path))
	case err != nil:
		s.problem(path, err)
	case info.IsDir():
		before := s.met
		s.dir(ctx, path, Folder{})
		if s.met == before && ctx.Err() == nil {
			return fault.WithHint("give the folder that holds what the ranks printed", fmt.Errorf("looking for logs in %q: there are none", path))
		}
	case info.Mode().IsRegular(), info.Mode()&fs.ModeNamedPipe != 0:
		s.named(path, info)
	default:
		return fmt.Errorf("reading %q: it is a %s, not a log", path, kind(info.Mode()))
	}
	return nil
}

// named takes a file that a person named, perhaps one of a known folder.
func (s *search) named(path string, info fs.FileInfo) {
	dir := filepath.Dir(path)
	in, known := Folder{}, false
	if s.Folder != nil {
		in, known = s.Folder(dir)
	}
	switch {
	case !known || in.Dir != dir:
		in = Folder{}
	case slices.Contains(in.Other, filepath.Base(path)):
		s.met++
		return
	default:
		s.knowWorld(in)
	}
	if isRayTrainFile(filepath.Base(path)) {
		s.rayTrain(path)
	}
	s.file(path, info, in, true)
}

func (s *search) knowWorld(in Folder) {
	if in.World > 0 {
		s.world[in.Job] = in.World
	}
}

func kind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSocket != 0:
		return "socket"
	case mode&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}

func (s *search) stdin() {
	if s.Stdin == nil || slices.ContainsFunc(s.logs, func(l Log) bool { return l.pieces[0].from != nil }) {
		return
	}
	s.logs = append(s.logs, Log{Name: StdinName, Named: true, pieces: []piece{{path: StdinName, from: s.Stdin}}})
}

func (s *search) problem(path string, err error) {
	s.met++
	s.problems = append(s.problems, Problem{path, unwrapPath(err)})
}

// dir takes a folder and all below it; in says what is known of it from above.
func (s *search) dir(ctx context.Context, dir string, in Folder) {
	if s.Folder != nil {
		if known, ok := s.Folder(dir); ok {
			dir, in = known.Dir, known
			s.knowWorld(known)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		s.problem(dir, err)
	}
	ofRay := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return isRayFile(e.Name()) })
	for _, entry := range entries {
		if ctx.Err() != nil {
			return
		}
		path := filepath.Join(dir, entry.Name())
		switch {
		case slices.Contains(in.Other, entry.Name()), ofRay && isRayInternal(entry.Name()):
		case entry.IsDir() && entry.Name() != ".git":
			s.dir(ctx, path, in)
		case isRayTrainFile(entry.Name()):
			s.rayTrain(path)
		default:
			s.entry(path, in)
		}
	}
}

// entry takes a file of a folder, also through a symbolic link, as Kubernetes
// keeps them in /var/log/containers.
func (s *search) entry(path string, in Folder) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ELOOP): // gone by now, or a link to nothing
	case err != nil:
		s.problem(path, err)
	case info.Mode().IsRegular():
		s.file(path, info, in, false)
	}
}

func (s *search) file(path string, info fs.FileInfo, in Folder, named bool) {
	s.met++
	if id, ok := idOf(info); ok {
		if s.seen[id] {
			return
		}
		s.seen[id] = true
	}
	facts := in.Files[filepath.Base(path)]
	log := Log{
		Name: path, Node: facts.Node, Job: in.Job, Truncated: facts.Truncated,
		pieces: []piece{{path: path, size: info.Size()}}, Named: named, ray: parseRayFile(path),
	}
	s.logs = append(s.logs, log)
}
