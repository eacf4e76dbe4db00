package pyenv

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trainyard/trainyard/internal/fault"
)

// supportedMinors are the Pythons 3.minor that the lock file and Ray's wheels
// are made for, the preferred one first.
var supportedMinors = []int{13, 12, 11, 10}

const supportedRange = "3.10 to 3.13"

// probeTimeout bounds one interpreter's answer; a stub that waits for somebody
// to click must not hold up the search.
const probeTimeout = 20 * time.Second

//go:embed probe.py
var probeScript string

// python is an interpreter and what it says about itself.
type python struct {
	Version        string `json:"version"`
	Implementation string `json:"implementation"`
	Bits           int    `json:"bits"`
	FreeThreaded   bool   `json:"free_threaded"`
	Executable     string `json:"executable"`
	Ensurepip      bool   `json:"ensurepip"`
}

// minor is the y of version x.y.z, and -1 where there is none.
func (p python) minor() int {
	parts := strings.Split(p.Version, ".")
	if len(parts) < 2 || parts[0] != "3" {
		return -1
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil {
		return -1
	}
	return n
}

// unsupported says why an environment cannot be built with p, in a word or
// two, or nothing.
func (p python) unsupported() string {
	switch {
	case p.Implementation != "cpython":
		return "not CPython but " + p.Implementation
	case !slices.Contains(supportedMinors, p.minor()):
		return "version"
	case p.FreeThreaded:
		return "free-threaded"
	case p.Bits != 64:
		return "32 bits"
	}
	return ""
}

// findPython returns the interpreter to build with: name where it is given,
// else the best one on PATH.
func findPython(ctx context.Context, name string, environ []string) (python, error) {
	if name != "" {
		return givenPython(ctx, name, environ)
	}
	var rejected []string
	for _, path := range pythonsOnPath(lookupEnv(environ, "PATH")) {
		p, err := probe(ctx, path, environ)
		if ctx.Err() != nil {
			return python{}, fmt.Errorf("looking for Python: %w", ctx.Err())
		}
		switch reason := p.unsupported(); {
		case err != nil:
			rejected = append(rejected, path+" (does not run)")
		case reason != "":
			rejected = append(rejected, describe(path, p, reason))
		default:
			return p, nil
		}
	}
	return python{}, noPython(rejected)
}

func describe(path string, p python, reason string) string {
	if reason == "version" {
		return fmt.Sprintf("%s (%s)", path, p.Version)
	}
	return fmt.Sprintf("%s (%s, %s)", path, p.Version, reason)
}

func noPython(rejected []string) error {
	const hint = "install Python 3.13 so that python3.13 or python3 is on PATH, or give an interpreter that has Ray with --python PATH"
	err := errors.New("looking for Python " + supportedRange + ": there is none on PATH")
	if len(rejected) > 0 {
		err = fmt.Errorf("looking for Python %s: found only %s", supportedRange, strings.Join(rejected, ", "))
	}
	return fault.WithHint(hint, err)
}

// givenPython checks the one interpreter that was asked for.
func givenPython(ctx context.Context, name string, environ []string) (python, error) {
	path, err := lookPath(name, lookupEnv(environ, "PATH"))
	if err != nil {
		return python{}, fmt.Errorf("looking for Python: %w", err)
	}
	p, err := probe(ctx, path, environ)
	if err != nil {
		return python{}, err
	}
	if reason := p.unsupported(); reason != "" {
		return python{}, fault.WithHint("an environment can be built with CPython "+supportedRange,
			fmt.Errorf("building with Python %s: unsupported", describe(path, p, reason)))
	}
	return p, nil
}

// probe starts an interpreter and lets it describe itself. The script goes in
// on stdin, where the wrappers of version managers pass it on untouched.
func probe(ctx context.Context, path string, environ []string) (python, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	out, err := command{
		argv:  []string{path, "-I", "-"},
		env:   toolEnviron(environ),
		stdin: probeScript,
	}.run(ctx)
	if err != nil {
		return python{}, fmt.Errorf("asking %q for its version: %w", path, err)
	}
	var p python
	if err := json.Unmarshal([]byte(out), &p); err != nil {
		return python{}, fmt.Errorf("asking %q for its version: it is no Python: %w", path, err)
	}
	return p, nil
}

var pythonName = regexp.MustCompile(`^python(?:3(?:\.(\d+))?)?$`)

// pythonsOnPath lists the interpreters in the folders of a PATH value, in the
// order they should be tried in. Names that mean the same file appear once.
func pythonsOnPath(path string) []string {
	type candidate struct {
		path string
		rank int
	}
	var found []candidate
	seen := map[string]bool{}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // as os/exec: the current folder is never searched
		}
		entries, _ := os.ReadDir(dir) // PATH may name folders that do not exist
		for _, entry := range entries {
			if m := pythonName.FindStringSubmatch(entry.Name()); m != nil {
				found = append(found, candidate{filepath.Join(dir, entry.Name()), rank(entry.Name(), m[1])})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.rank, b.rank) })
	var paths []string
	for _, c := range found {
		target, ok := executable(c.path)
		if ok && !seen[target] {
			seen[target] = true
			paths = append(paths, c.path)
		}
	}
	return paths
}

// rank orders names: supported versions, python3, python, then versions that
// can only serve to say what was found.
func rank(name, minor string) int {
	n, err := strconv.Atoi(minor)
	switch {
	case name == "python3":
		return len(supportedMinors)
	case name == "python":
		return len(supportedMinors) + 1
	case err == nil && slices.Contains(supportedMinors, n):
		return slices.Index(supportedMinors, n)
	}
	return len(supportedMinors) + 2
}

// executable reports whether path is a file that may be run, and where it is.
func executable(path string) (target string, ok bool) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", false
	}
	info, err := os.Stat(target)
	return target, err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// lookPath finds the program called name in the folders of a PATH value. A
// name with a slash is a path, made absolute and otherwise left alone: the
// interpreter of a virtual environment is a link that must not be followed.
func lookPath(name, path string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		abs, err := filepath.Abs(name)
		if err != nil {
			return "", fmt.Errorf("finding %q: %w", name, err)
		}
		return abs, checkExecutable(abs)
	}
	for _, dir := range filepath.SplitList(path) {
		full := filepath.Join(dir, name)
		if _, ok := executable(full); ok && filepath.IsAbs(dir) {
			return full, nil
		}
	}
	return "", fmt.Errorf("finding %q: not on PATH", name)
}

func checkExecutable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("finding %q: no such file", path)
	case err != nil:
		return fmt.Errorf("finding %q: %w", path, err)
	case info.IsDir():
		return fault.WithHint(fmt.Sprintf("give the interpreter in it: %s", interpreter(path)),
			fmt.Errorf("finding %q: it is a folder", path))
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("finding %q: not executable", path)
	}
	return nil
}
