package pack

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

// ignores are the patterns that hold in a folder: those of its own ignore
// files and of the folders above, most general first. As in Ray, the two kinds
// of files are judged apart: what either names is left out, and a negation in
// one does not bring back what the other names.
type ignores struct {
	git, ray []gitignore.Pattern
}

// in returns the ignores that hold in the folder dir.
func (i ignores) in(fsys fs.FS, dir string, children []fs.DirEntry) (ignores, error) {
	for _, child := range children {
		var patterns *[]gitignore.Pattern
		switch child.Name() {
		case ".gitignore":
			patterns = &i.git
		case ".rayignore":
			patterns = &i.ray
		default:
			continue
		}
		more, err := readPatterns(fsys, dir, child.Name())
		if err != nil {
			return ignores{}, err
		}
		*patterns = append(slices.Clip(*patterns), more...)
	}
	return i, nil
}

func readPatterns(fsys fs.FS, dir, file string) ([]gitignore.Pattern, error) {
	name := path.Join(dir, file)
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", name, cause(err))
	}
	domain := split(dir)
	var patterns []gitignore.Pattern
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") {
			patterns = append(patterns, gitignore.ParsePattern(line, domain))
		}
	}
	return patterns, nil
}

func (i ignores) match(name string, dir bool) bool {
	parts := split(name)
	return gitignore.NewMatcher(i.git).Match(parts, dir) || gitignore.NewMatcher(i.ray).Match(parts, dir)
}

func split(name string) []string {
	if name == "." {
		return nil
	}
	return strings.Split(name, "/")
}
