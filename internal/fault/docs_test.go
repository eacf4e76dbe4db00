package fault

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDocumentedCodes compares the table of docs/exit-codes.md with the
// constants of this package, both ways.
func TestDocumentedCodes(t *testing.T) {
	text, err := os.ReadFile("../../docs/exit-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]Code{}
	row := regexp.MustCompile("(?m)^\\| (\\d+) \\| `(\\w+)` \\| \\S.* \\|$")
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		code, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		documented[m[2]] = Code(code)
	}
	if diff := cmp.Diff(declared(t), documented); diff != "" {
		t.Errorf("docs/exit-codes.md differs from fault.go (-code +docs):\n%s", diff)
	}
}

// declared returns the constants of type Code as the compiler sees them.
func declared(t *testing.T) map[string]Code {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "fault.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	// Only constants matter: imports stay unresolved, and what that leaves
	// undefined is not looked at.
	config := types.Config{IgnoreFuncBodies: true, Error: func(error) {}}
	pkg, _ := config.Check("fault", fset, []*ast.File{file}, nil)
	codes := map[string]Code{}
	scope := pkg.Scope()
	for _, name := range scope.Names() {
		c, ok := scope.Lookup(name).(*types.Const)
		if !ok || c.Type() != scope.Lookup("Code").Type() {
			continue
		}
		value, exact := constant.Int64Val(c.Val())
		if !exact {
			t.Fatalf("constant %s is not an integer", name)
		}
		codes[name] = Code(value)
	}
	return codes
}
