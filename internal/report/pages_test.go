package report

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/fabric"
	"github.com/trainyard/trainyard/nccllog"
)

const (
	pagesDir = "../../docs/troubleshooting"
	rootDir  = "../.."
)

// TestTroubleshootingPages holds, and with -update writes, a page for each cause
// that a verdict can have. Their text is fabric's; examples are real logs of
// this repository, judged.
func TestTroubleshootingPages(t *testing.T) {
	pages := map[string]string{"README.md": indexPage()}
	found := examples(t)
	for _, info := range fabric.Causes() {
		pages[string(info.Cause)+".md"] = causePage(info, found[info.Cause])
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		golden(t, filepath.Join(pagesDir, name), pages[name])
	}
	files, err := filepath.Glob(filepath.Join(pagesDir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if _, ok := pages[filepath.Base(file)]; ok {
			continue
		}
		if !*update {
			t.Errorf("%s is the page of no cause", file)
			continue
		}
		if err := os.Remove(file); err != nil {
			t.Error(err)
		}
	}
}

const pageNote = "<!-- Written by make generate from package fabric and the logs in testdata. -->\n"

func indexPage() string {
	var b strings.Builder
	b.WriteString(pageNote)
	b.WriteString(`
# Troubleshooting

Each verdict of trainyard that is not PASS names a cause, and so do some
warnings. What the causes mean, and what to do:

| cause | meaning | in short |
|---|---|---|
`)
	for _, info := range fabric.Causes() {
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s |\n", info.Cause, info.Cause, cell(info.Why), cell(info.Remedy))
	}
	return b.String()
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func causePage(info fabric.CauseInfo, example fabric.Verdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n# %s\n\n%s.\n", pageNote, info.Cause, sentence(info.Why))
	section := func(title, body string) {
		if body = strings.TrimSpace(body); body != "" {
			fmt.Fprintf(&b, "\n## %s\n\n%s\n", title, body)
		}
	}
	section("What the log shows", info.Looks)
	if len(example.Evidence) > 0 {
		section("An example", exampleText(example))
	}
	section("Why it happens", info.About)
	fix := "In short: " + info.Remedy + "."
	if info.Fix != "" {
		fix += "\n\n" + info.Fix
	}
	section("What to do", fix)
	b.WriteString("\n[All causes](README.md)\n")
	return b.String()
}

// sentence begins a text with a capital.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func exampleText(v fabric.Verdict) string {
	var b strings.Builder
	markdownQuotes(&b, v.Evidence)
	dir := filepath.ToSlash(filepath.Dir(v.Evidence[0].File))
	return fmt.Sprintf("From the logs in [%s](../../%s), with `--expect %s`:\n\n> %s %s\n%s",
		dir, dir, v.Expectation, v.Verdict, escape(headline(v)), strings.TrimRight(b.String(), "\n"))
}

// examples finds for each cause the first real job that has it.
func examples(t *testing.T) map[fabric.Cause]fabric.Verdict {
	t.Helper()
	found := map[fabric.Cause]fabric.Verdict{}
	for _, expect := range []fabric.Expectation{fabric.RDMA, fabric.EFA, fabric.IB} {
		for _, logs := range jobs(t) {
			v := fabric.JudgeAll(fabric.Evidence{Expectation: expect, Logs: logs, GPUs: -1}).Verdict
			if _, known := found[v.Cause]; !known && v.Cause != "" {
				found[v.Cause] = v
			}
		}
	}
	return found
}

// oneRank matches the logs of the ranks of one job in a folder of several.
var oneRank = regexp.MustCompile(`^(.*)\.rank\d+\.log$`)

// jobs parses the logs of each job in testdata.
func jobs(t *testing.T) [][]fabric.LogFile {
	t.Helper()
	byName := map[string][]fabric.LogFile{}
	for _, pattern := range []string{"nccllog/testdata/nccl-*/*", "nccllog/testdata/ray-*/*/worker-*"} {
		paths, err := filepath.Glob(filepath.Join(rootDir, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no logs in %s: %v", pattern, err)
		}
		for _, path := range paths {
			job := filepath.Dir(path)
			if m := oneRank.FindStringSubmatch(path); m != nil {
				job = m[1]
			}
			byName[job] = append(byName[job], parse(t, path))
		}
	}
	var all [][]fabric.LogFile
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, byName[name])
	}
	return all
}

func parse(t *testing.T, path string) fabric.LogFile {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	name, err := filepath.Rel(rootDir, path)
	if err != nil {
		t.Fatal(err)
	}
	p := nccllog.NewParser(name)
	_, _ = p.Write(data) // never fails
	_ = p.Close()        // never fails
	return fabric.LogFile{Log: p.Log()}
}

// TestDocumentedFields finds every field of the JSON form in docs/verdict.md.
func TestDocumentedFields(t *testing.T) {
	page, err := os.ReadFile("../../docs/verdict.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[reflect.Type]bool{}
	var check func(reflect.Type)
	check = func(typ reflect.Type) {
		if typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		for i := range typ.NumField() {
			field := typ.Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name != "" && !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("%s.%s is written as %q, which docs/verdict.md does not describe", typ.Name(), field.Name, name)
			}
			check(field.Type)
		}
	}
	check(reflect.TypeFor[fabric.Report]())
	if len(seen) < 8 {
		t.Errorf("only %d types were looked at", len(seen))
	}
}
