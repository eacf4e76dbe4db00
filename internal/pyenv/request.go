package pyenv

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/trainyard/trainyard/internal/fault"
)

// request is one package that a job asks for.
type request struct {
	text  string // as uv takes it, with absolute paths
	path  string // the file or folder of this machine; empty where it is elsewhere
	label string // text without the folders above path
}

// CheckRequirements reports all requirements that [EnsurePackages] refuses before it
// asks anybody: options, requirements files among them, and files and folders
// that do not exist.
func CheckRequirements(requirements []string) error {
	_, err := parseRequests(requirements)
	return err
}

func parseRequests(requirements []string) ([]request, error) {
	requests := make([]request, len(requirements))
	errs := make([]error, len(requirements))
	for i, text := range requirements {
		requests[i], errs[i] = parseRequest(strings.TrimSpace(text))
	}
	return requests, fault.WithCode(fault.Usage, errors.Join(errs...))
}

const fileScheme = "file:"

var (
	namePart  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*\s*(?:\[[^\]]*\]\s*)?@\s*`)
	scheme    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)
	afterPath = regexp.MustCompile(`(?:\[[^\[\]]*\])?\s*(?:;.*)?$`) // extras and markers
	archive   = regexp.MustCompile(`\.(?:whl|zip|tar\.(?:gz|bz2|xz|zst))$`)
)

// parseRequest finds out whether a requirement is a path, as pip does: by a
// slash, a leading dot or the ending of an archive.
func parseRequest(text string) (request, error) {
	if strings.HasPrefix(text, "-") {
		return request{}, fault.WithHint("name every package by itself; files with requirements and options of pip are not taken",
			fmt.Errorf("reading package %q: it is an option", text))
	}
	name := namePart.FindString(text)
	path := text[len(name):]
	after := afterPath.FindString(path)
	path = strings.TrimSuffix(path, after)
	isFile := strings.HasPrefix(path, fileScheme)
	isPath := name != "" || strings.ContainsRune(path, '/') || strings.HasPrefix(path, ".") || archive.MatchString(path)
	if !isFile && (!isPath || scheme.MatchString(path)) {
		return request{text: text, label: text}, nil
	}
	u, err := fileURL(path, isFile)
	if err != nil {
		return request{}, fmt.Errorf("reading package %q: %w", text, err)
	}
	short := url.URL{Path: filepath.Base(u.Path), Fragment: u.Fragment}
	return request{text: name + u.String() + after, path: u.Path, label: name + short.String() + after}, nil
}

// fileURL is the URL of a file or folder that exists.
func fileURL(path string, isURL bool) (*url.URL, error) {
	u := &url.URL{Scheme: "file", Path: path}
	if isURL {
		var err error
		if u, err = url.Parse(path); err != nil {
			return nil, errors.New("it is no URL")
		}
		u.Path += u.Opaque // a relative path
		u.Opaque, u.OmitHost = "", false
	}
	absolute, err := filepath.Abs(u.Path)
	if err != nil {
		return nil, err
	}
	u.Path, u.RawPath = absolute, ""
	if _, err := os.Stat(absolute); err != nil {
		return nil, fmt.Errorf("no such file or folder: %q", absolute)
	}
	return u, nil
}

// identity is the same for two requests that bring the same package.
func (r request) identity(ctx context.Context) (string, error) {
	if r.path == "" {
		return r.label, nil
	}
	h := sha256.New()
	if err := hashTree(ctx, h, r.path); err != nil {
		return "", fmt.Errorf("reading package %q: %w", r.path, err)
	}
	return fmt.Sprintf("%s %x", r.label, h.Sum(nil)), nil
}

// hashTree hashes a file, or the names and contents of all files below a
// folder, without what no package is made from: hidden folders, virtual
// environments, and what Python and a build before this one left.
func hashTree(ctx context.Context, h hash.Hash, root string) error {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case entry.IsDir():
			if path != root && ignored(path) {
				return fs.SkipDir
			}
			return nil
		}
		return hashFile(h, root, path)
	})
}

func ignored(dir string) bool {
	name := filepath.Base(dir)
	_, err := os.Stat(filepath.Join(dir, "pyvenv.cfg"))
	return err == nil || name[0] == '.' || name == "__pycache__" || strings.HasSuffix(name, ".egg-info")
}

// hashFile hashes name, length and content of a file. Sockets, links to
// folders and the like count by their name alone.
func hashFile(h hash.Hash, root, path string) error {
	name, err := filepath.Rel(root, path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		fmt.Fprintf(h, "%d:%s -\n", len(name), name)
		return nil //nolint:nilerr // a link that leads nowhere is no content
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	fmt.Fprintf(h, "%d:%s %d\n", len(name), name, info.Size())
	_, err = io.Copy(h, f)
	return err
}
