package pack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// entry is one file or empty folder of the package.
type entry struct {
	from fs.FS
	name string // slash-separated, relative to the root
	size int64
	exec bool
	dir  bool
}

// tree finds what is packed.
type tree struct {
	fsys   fs.FS
	root   string                             // on disk, links resolved; empty for a file system without ignore files and links
	secret func(fs.FS, entry) (string, error) // says why a file looks secret; nil: none does

	entries  []entry
	secrets  []string
	outside  []string
	problems []error
}

// alwaysSkipped are folders that no job needs and that Ray would carry along.
var alwaysSkipped = map[string]bool{
	".git": true, ".hg": true, ".svn": true,
	".trainyard": true,
	".venv":      true, "venv": true,
	"__pycache__": true, ".mypy_cache": true, ".ruff_cache": true, ".pytest_cache": true,
	".ipynb_checkpoints": true,
	"node_modules":       true,
}

// walk returns the entries of the package, sorted by name.
func (t *tree) walk(ctx context.Context) ([]entry, error) {
	t.dir(ctx, ".", ignores{}, []string{t.root})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := t.err(); err != nil {
		return nil, err
	}
	sortByName(t.entries)
	return t.entries, nil
}

func sortByName(entries []entry) {
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
}

func (t *tree) err() error {
	errs := t.problems
	if len(t.outside) > 0 {
		errs = append(errs, refuse("copy what the job needs into the folder, or leave the links out with a .rayignore file",
			fmt.Errorf("links that lead out of the folder or in a circle: %s", list(t.outside))))
	}
	if len(t.secrets) > 0 {
		errs = append(errs, refuse("leave them out with a .rayignore file, or pack them all the same with --include-secrets; a variable of your shell reaches the job without a file",
			fmt.Errorf("files that look like keys or credentials: %s", list(t.secrets))))
	}
	return errors.Join(errs...)
}

func list(items []string) string {
	slices.Sort(items)
	return "\n  " + strings.Join(items, "\n  ")
}

// dir walks one folder. parents are the real paths of the folders above and of
// this one, to notice links that lead in a circle.
func (t *tree) dir(ctx context.Context, name string, ign ignores, parents []string) {
	if ctx.Err() != nil {
		return
	}
	children, err := fs.ReadDir(t.fsys, name)
	if err != nil {
		t.unreadable(name, err)
		return
	}
	if name != "." && slices.ContainsFunc(children, func(c fs.DirEntry) bool { return c.Name() == "pyvenv.cfg" }) {
		return // a virtual environment
	}
	if len(children) == 0 && name != "." {
		t.entries = append(t.entries, entry{from: t.fsys, name: name, dir: true})
	}
	if t.root != "" {
		if ign, err = ign.in(t.fsys, name, children); err != nil {
			t.problems = append(t.problems, err)
			return
		}
	}
	for _, child := range children {
		t.child(ctx, path.Join(name, child.Name()), child, ign, parents)
	}
}

func (t *tree) child(ctx context.Context, name string, child fs.DirEntry, ign ignores, parents []string) {
	link := child.Type()&fs.ModeSymlink != 0
	if ign.match(name, child.IsDir()) || alwaysSkipped[child.Name()] && (child.IsDir() || link) {
		return
	}
	info, err := child.Info()
	if link {
		info, err = fs.Stat(t.fsys, name)
	}
	if link && errors.Is(err, fs.ErrNotExist) {
		return // a link to nothing, as some editors leave
	}
	if err != nil {
		t.unreadable(name, err)
		return
	}
	if link && info.IsDir() && ign.match(name, true) {
		return
	}
	resolved := filepath.Join(parents[len(parents)-1], child.Name())
	if link {
		if resolved, err = filepath.EvalSymlinks(resolved); err != nil {
			t.unreadable(name, err)
			return
		}
		if !within(t.root, resolved) || slices.Contains(parents, resolved) {
			t.outside = append(t.outside, name+" -> "+resolved)
			return
		}
	}
	switch {
	case info.IsDir():
		t.dir(ctx, name, ign, append(slices.Clip(parents), resolved))
	case info.Mode().IsRegular():
		t.file(name, info)
	}
}

func (t *tree) file(name string, info fs.FileInfo) {
	if ext := path.Ext(name); ext == ".pyc" || ext == ".pyo" {
		return
	}
	e := entry{from: t.fsys, name: name, size: info.Size(), exec: info.Mode()&0o111 != 0}
	if t.secret != nil {
		why, err := t.secret(t.fsys, e)
		if err != nil {
			t.unreadable(name, err)
			return
		}
		if why != "" {
			t.secrets = append(t.secrets, fmt.Sprintf("%s (%s)", name, why))
			return
		}
	}
	t.entries = append(t.entries, e)
}

// unreadable notes an entry that cannot be read. One that is gone is no error:
// the tree may change while it is packed.
func (t *tree) unreadable(name string, err error) {
	if errors.Is(err, fs.ErrNotExist) && name != "." {
		return
	}
	t.problems = append(t.problems, fmt.Errorf("reading %q: %w", name, cause(err)))
}

// cause strips the path that the caller names already.
func cause(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

func within(root, name string) bool {
	rel, err := filepath.Rel(root, name)
	return err == nil && filepath.IsLocal(rel)
}
