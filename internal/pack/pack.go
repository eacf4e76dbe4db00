// Package pack turns a working directory into the zip that Ray's job server
// unpacks in front of a job.
//
// The package is named after its contents: equal trees give equal names, so
// that an unchanged tree is not uploaded again. Times and owners play no part.
package pack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/internal/fault"
)

// MaxZipBytes is the largest zip that Ray's dashboard takes: it refuses longer
// request bodies (DASHBOARD_CLIENT_MAX_SIZE in Ray's ray_constants.py, fixed
// in its source). Ray's own store would hold 512 MiB (RAY_max_grpc_message_size),
// which therefore never decides.
const MaxZipBytes = 100 << 20

// Options says how a directory is packed. The zero value is the safe default.
type Options struct {
	// IncludeSecrets packs files that look like keys or credentials instead of
	// refusing them.
	IncludeSecrets bool
	// With is packed beside the directory's own entries, such as the modules that
	// run the program in it; nil: nothing. No two may share a name at the top.
	With fs.FS
	// MaxZipBytes is the size that the zip may have; 0 means [MaxZipBytes].
	MaxZipBytes int64
	// TempDir is where the zip is written; empty means the system's folder.
	TempDir string
}

// Package is a zip on disk. Close removes it.
type Package struct {
	Name     string // content-addressed: _ray_pkg_<32 hex digits>.zip
	Path     string // the zip
	Files    int    // regular files in it
	Bytes    int64  // their size, unpacked
	ZipBytes int64  // the zip's size
}

// Close removes the zip. It may be called more than once.
func (p Package) Close() error {
	if err := os.Remove(p.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing package: %w", err)
	}
	return nil
}

// Dir packs the directory root.
//
// It leaves out what .gitignore and .rayignore files in the tree name, and
// always version control, virtual environments, caches and .trainyard. As in
// Ray's own packing, links are followed and their target's contents packed,
// and empty folders are kept; a link that leaves the tree is an error. Files
// that vanish between listing and reading are left out.
//
// Files that look like secrets, links that leave the tree and entries that
// cannot be read are reported all at once.
func Dir(ctx context.Context, root string, opts Options) (Package, error) {
	info, err := os.Stat(root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Package{}, fault.WithCode(fault.Usage, fmt.Errorf("packing %q: no such folder", root))
	case err != nil:
		return Package{}, fmt.Errorf("packing %q: %w", root, err)
	case !info.IsDir():
		return Package{}, refuse("name the folder that holds the program, not the program",
			fmt.Errorf("packing %q: not a folder", root))
	}
	resolved, err := filepath.EvalSymlinks(root)
	if err != nil {
		return Package{}, fmt.Errorf("packing %q: %w", root, err)
	}
	t := tree{fsys: os.DirFS(resolved), root: resolved}
	if !opts.IncludeSecrets {
		t.secret = looksSecret
	}
	p, err := pack(ctx, &t, opts)
	if err != nil {
		return Package{}, fmt.Errorf("packing %q: %w", root, err)
	}
	return p, nil
}

// FS packs a file system that is known to be fit for it, such as an embedded
// one: no ignore files, no search for secrets. Caches are left out.
func FS(fsys fs.FS) (Package, error) {
	p, err := pack(context.Background(), &tree{fsys: fsys}, Options{})
	if err != nil {
		return Package{}, fmt.Errorf("packing files: %w", err)
	}
	return p, nil
}

func pack(ctx context.Context, t *tree, opts Options) (Package, error) {
	entries, err := t.walk(ctx)
	if err != nil {
		return Package{}, err
	}
	if opts.With != nil {
		if entries, err = beside(ctx, entries, opts.With); err != nil {
			return Package{}, err
		}
	}
	if !slices.ContainsFunc(entries, func(e entry) bool { return !e.dir }) {
		return Package{}, refuse("check the ignore files, or name another folder with --working-dir",
			errors.New("nothing to pack: the folder is empty, or everything in it is ignored"))
	}
	limit := opts.MaxZipBytes
	if limit == 0 {
		limit = MaxZipBytes
	}
	p, err := writeZip(ctx, entries, limit, opts.TempDir)
	if errors.Is(err, errTooLarge) {
		return Package{}, tooLarge(entries, limit)
	}
	return p, err
}

// beside adds the entries of a second file system, which is fit to be packed.
func beside(ctx context.Context, entries []entry, fsys fs.FS) ([]entry, error) {
	more, err := (&tree{fsys: fsys}).walk(ctx)
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, e := range entries {
		taken[top(e)] = true
	}
	for _, e := range more {
		if taken[top(e)] {
			return nil, refuse("give yours another name, or leave it out with a .rayignore file",
				fmt.Errorf("%q is in the folder, and trainyard brings one of that name with it", top(e)))
		}
	}
	entries = append(entries, more...)
	sortByName(entries)
	return entries, nil
}

// top is the first word of an entry's name.
func top(e entry) string {
	name, _, _ := strings.Cut(e.name, "/")
	return name
}

const largestShown = 10

func tooLarge(entries []entry, limit int64) error {
	var total int64
	for _, e := range entries {
		total += e.size
	}
	largest := slices.SortedFunc(slices.Values(entries), func(a, b entry) int {
		switch {
		case a.size != b.size:
			return int(max(-1, min(1, b.size-a.size)))
		default:
			return strings.Compare(a.name, b.name)
		}
	})
	var list strings.Builder
	for _, e := range largest[:min(largestShown, len(largest))] {
		fmt.Fprintf(&list, "\n  %9s  %s", size(e.size), e.name)
	}
	return refuse("leave large files out with a .rayignore file (same syntax as .gitignore), and let the job read data and checkpoints from shared storage",
		fmt.Errorf("the zip is larger than the %s that Ray takes (%d files and folders, %s unpacked); the largest are:%s",
			size(limit), len(entries), size(total), list.String()))
}

// size gives bytes in the unit that keeps the number short.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	default:
		return fmt.Sprintf("%d B", n)
	}
}

// refuse is the error for a tree that cannot be packed as it is, with what its
// owner may do about it.
func refuse(hint string, err error) error {
	return fault.WithCode(fault.Usage, fault.WithHint(hint, err))
}
