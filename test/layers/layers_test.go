// Package layers holds the program's design to its word: which package may
// import which, what the public libraries may cost, and what no package may be
// called or do. The rules themselves are in table_test.go.
package layers

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	module = "github.com/trainyard/trainyard"
	root   = "../.."
)

var update = flag.Bool("update", false, "write the depguard rules of .golangci.yml from the table")

// layer is a set of packages that may import the layers named in imports and
// nothing else of this module. A package is named by its folder and stands for
// all folders in it.
type layer struct {
	name         string
	packages     []string
	imports      []string
	standardOnly bool
	why          string
}

// edge is one import that the layers alone would not allow.
type edge struct{ from, to, why string }

// source is one Go file: its folder relative to the repository's root, and its
// syntax.
type source struct {
	name   string
	folder string
	file   *ast.File
}

func TestImportsRunDownwards(t *testing.T) {
	for _, src := range sources(t) {
		from, ok := find(src.folder)
		if !ok {
			if !within(src.folder, outside) {
				t.Errorf("%s: package %q is in no layer: add it to test/layers/table_test.go", src.name, src.folder)
			}
			continue
		}
		for _, imported := range imports(t, src.file) {
			if reason := forbidden(from, src.folder, imported); reason != "" {
				t.Errorf("%s imports %q: %s", src.name, imported, reason)
			}
		}
	}
}

func TestTableNamesWhatExists(t *testing.T) {
	for _, l := range layers {
		for _, p := range l.packages {
			if _, err := os.Stat(filepath.Join(root, p)); err != nil {
				t.Errorf("layer %q names a folder that is gone: %v", l.name, err)
			}
		}
		for _, name := range l.imports {
			if !slices.ContainsFunc(layers, func(other layer) bool { return other.name == name }) {
				t.Errorf("layer %q imports layer %q, which the table does not have", l.name, name)
			}
		}
	}
}

func TestPackageNamesSaySomething(t *testing.T) {
	for _, src := range sources(t) {
		if slices.Contains(vague, src.file.Name.Name) {
			t.Errorf("%s: package %q: name it for what it provides", src.name, src.file.Name.Name)
		}
	}
}

func TestNoInitFunctions(t *testing.T) {
	for _, src := range sources(t) {
		for _, decl := range src.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s has an init function: let a constructor do it, called by whoever needs it", src.name)
			}
		}
	}
}

// TestForbidden shows that the rules above can fail.
func TestForbidden(t *testing.T) {
	tests := []struct {
		name, from, imported string
		allowed              bool
	}{
		{"down", "internal/cli", module + "/internal/workflow", true},
		{"down two layers", "internal/cli", module + "/internal/fault", true},
		{"one target to the interface", "internal/target/local", module + "/internal/target", true},
		{"third party", "internal/rayjob", "github.com/coder/websocket", true},
		{"sideways, listed", "fabric", module + "/nccllog", true},
		{"sideways", "internal/pack", module + "/internal/rayjob", false},
		{"sideways, the other way round", "nccllog", module + "/fabric", false},
		{"up", "internal/workflow", module + "/internal/cli", false},
		{"up from the ground", "internal/fault", module + "/internal/config", false},
		{"library needs a module", "nccllog", "github.com/google/go-cmp/cmp", false},
		{"library needs cgo", "nccllog", "C", false},
		{"library needs our ground", "fabric", module + "/internal/fault", false},
		{"outside the program", "internal/cli", module + "/test/e2e", false},
		{"similar name", "internal/cli", module + "/internal/faultline", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			from, ok := find(test.from)
			if !ok {
				t.Fatalf("no layer has %q", test.from)
			}
			if reason := forbidden(from, test.from, test.imported); (reason == "") != test.allowed {
				t.Errorf("%s imports %s: reason %q, want allowed %v", test.from, test.imported, reason, test.allowed)
			}
		})
	}
}

// TestDepguardRules keeps the linter's rules, which editors show while one
// types, equal to the table.
func TestDepguardRules(t *testing.T) {
	const begin, end = "        # begin layers\n", "        # end layers\n"
	name := filepath.Join(root, ".golangci.yml")
	old, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(old), begin)
	got, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s lacks the marks %q and %q", name, begin, end)
	}
	want := depguard()
	if *update {
		if err := os.WriteFile(name, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf(".golangci.yml differs from the table; run go test ./test/layers -update (-want +got):\n%s", diff)
	}
}

// forbidden says why a package of layer l must not import a path, or nothing
// where it may.
func forbidden(l layer, folder, imported string) string {
	to, ours := strings.CutPrefix(imported, module+"/")
	switch {
	case !ours && l.standardOnly && !standard(imported):
		return fmt.Sprintf("layer %q uses the standard library only: %s", l.name, l.why)
	case !ours:
		return ""
	case listed(folder, to):
		return ""
	}
	target, ok := find(to)
	switch {
	case !ok:
		return "it is not part of the program"
	case target.name == l.name:
		return fmt.Sprintf("both are in layer %q: %s", l.name, l.why)
	case !slices.Contains(l.imports, target.name):
		return fmt.Sprintf("layer %q may not import layer %q: %s", l.name, target.name, l.why)
	}
	return ""
}

func listed(folder, to string) bool {
	return slices.ContainsFunc(sideways, func(e edge) bool {
		return within(folder, []string{e.from}) && within(to, []string{e.to})
	})
}

func find(folder string) (layer, bool) {
	i := slices.IndexFunc(layers, func(l layer) bool { return within(folder, l.packages) })
	if i < 0 {
		return layer{}, false
	}
	return layers[i], true
}

// within reports whether a folder is one of roots or lies in one.
func within(folder string, roots []string) bool {
	return slices.ContainsFunc(roots, func(r string) bool {
		return folder == r || strings.HasPrefix(folder, r+"/")
	})
}

// standard reports whether a path belongs to the standard library: the first
// element of every other path is a host name. Package C is not a library.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return imported != "C" && !strings.Contains(first, ".")
}

func imports(t *testing.T, file *ast.File) []string {
	t.Helper()
	var paths []string
	for _, spec := range file.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p)
	}
	return paths
}

// sources parses the module's Go files other than tests. It reads the files
// themselves rather than asking the go command, so that files of every
// platform count, and so that go test knows what its cached answer rests on.
func sources(t *testing.T) []source {
	t.Helper()
	var found []source
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && foreign(name):
			return fs.SkipDir
		case entry.IsDir(), path.Ext(name) != ".go", strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		rel = filepath.ToSlash(rel)
		found = append(found, source{rel, path.Dir(rel), file})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatal("no Go file found: this test sees nothing")
	}
	return found
}

// foreign reports whether the go command would not take a folder for a part of
// this module.
func foreign(folder string) bool {
	base := filepath.Base(folder)
	if base == "testdata" || base[0] == '.' || base[0] == '_' {
		return true
	}
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

// depguard renders the table as rules of the linter of that name: one a layer,
// and one for each package that has a sideways import.
func depguard() string {
	var out bytes.Buffer
	for _, l := range layers {
		var plain []string
		for _, p := range l.packages {
			if extra := allowedSideways(p); extra != nil {
				rule(&out, path.Base(p), l, []string{p}, extra)
				continue
			}
			plain = append(plain, p)
		}
		if plain != nil {
			rule(&out, l.name+"-layer", l, plain, nil)
		}
	}
	return out.String()
}

func allowedSideways(p string) []string {
	var to []string
	for _, e := range sideways {
		if e.from == p {
			to = append(to, e.to)
		}
	}
	return to
}

func rule(out *bytes.Buffer, name string, l layer, packages, extra []string) {
	mode := "lax"
	var allow []string
	if l.standardOnly {
		mode, allow = "strict", []string{"$gostd"}
	}
	for _, p := range slices.Concat(extra, reachable(l)) {
		allow = append(allow, module+"/"+p)
	}
	fmt.Fprintf(out, "        %s:\n          list-mode: %s\n          files:\n            - \"!$test\"\n", name, mode)
	for _, p := range packages {
		fmt.Fprintf(out, "            - \"${base-path}/%s/**\"\n", p)
	}
	fmt.Fprintf(out, "          deny:\n            - pkg: %s\n              desc: %q\n", module, l.why)
	if allow != nil {
		fmt.Fprint(out, "          allow:\n")
	}
	for _, a := range allow {
		fmt.Fprintf(out, "            - %s\n", a)
	}
}

// reachable returns the packages of the layers that l may import.
func reachable(l layer) []string {
	var all []string
	for _, other := range layers {
		if slices.Contains(l.imports, other.name) {
			all = append(all, other.packages...)
		}
	}
	return all
}
