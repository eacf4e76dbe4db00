package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestYAMLShowsOrigins(t *testing.T) {
	file := []byte("version: 1\ncluster:\n  nodes: 3\njob:\n  env:\n    A: \"1\"\n  pip: [datasets]\n")
	env := map[string]string{"STEPS": "5", "TRAINYARD_EXPECT": "socket"}
	c, err := load(t, file, []string{"--env=B=x y", "--seed=7", "--keep"}, env)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/rendered/origins.golden", c.YAML())
	checkRoundTrip(t, c)
}

func TestTemplate(t *testing.T) {
	text := Template()
	golden(t, "testdata/rendered/template.golden", text)
	for line := range strings.Lines(text) {
		if len(line) > 81 {
			t.Errorf("longer than 80 columns: %q", line)
		}
	}
	standard, err := Load(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	// As written, and with every setting taken out of its comment.
	whole := regexp.MustCompile(`(?m)^( *)#(\S)`).ReplaceAllString(text, "$1$2")
	for name, file := range map[string]string{"template": text, "all settings": whole} {
		c, err := Load(Sources{File: []byte(file), FileName: FileName})
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, file)
			continue
		}
		if diff := cmp.Diff(standard, c, cmpopts.IgnoreUnexported(Config{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s differs from the defaults (-want +got):\n%s", name, diff)
		}
		if name == "all settings" {
			for v := range c.Values() {
				if v.Origin.Kind != FromFile {
					t.Errorf("%s is not in the template", v.Key)
				}
			}
		}
	}
}

// The reference of the run file is made from the table.
func TestReferenceIsCommitted(t *testing.T) {
	golden(t, filepath.Join(docs, "run-file.md"), reference())
}

func reference() string {
	var b strings.Builder
	fmt.Fprint(&b, referenceHead)
	for _, g := range groups {
		fmt.Fprintf(&b, "\n## %s\n\n", g.title)
		if g.doc != "" {
			fmt.Fprintf(&b, "`%s`: %s.\n\n", g.name, g.doc)
		}
		fmt.Fprint(&b, "| key | flag | environment | default | values | meaning |\n|---|---|---|---|---|---|\n")
		for i := range settings {
			if s := &settings[i]; section(s.key) == g.name {
				fmt.Fprintln(&b, row(s))
			}
		}
	}
	fmt.Fprint(&b, referenceTail)
	return b.String()
}

func row(s *setting) string {
	flag, names := "", ""
	if s.flag != "" {
		flag = code(strings.TrimSpace("--" + s.flag + " " + s.arg))
	}
	if s.key == "job.command" {
		flag = code("-- COMMAND...")
	}
	if s.env() != "" {
		names = code(s.env())
	}
	if s.plain != "" {
		names += ", " + code(s.plain)
	}
	standard := ""
	if s.standard != "" {
		standard = code(s.standard)
	}
	values := s.rule.wants
	if s.collection() {
		values = s.rule.collection
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s |", code(s.key), flag, names, standard, values, s.doc)
}

func code(s string) string { return "`" + s + "`" }

const referenceHead = `<!-- Made from the table in internal/config/settings.go by
     go test ./internal/config -update. Do not edit. -->
# The run file

` + "`trainyard.yaml`" + ` in the working directory says how to run a job, so that flags
need not be typed again. It is optional. ` + "`trainyard init`" + ` writes one with every
setting, ` + "`trainyard config`" + ` shows what a run would use and where each value
came from, and ` + "`trainyard config schema`" + ` prints a JSON Schema for editors (the
same as ` + "[trainyard.schema.json](trainyard.schema.json)" + `).

` + "```yaml" + `
# trainyard.yaml
version: 1
cluster:
  nodes: 2
job:
  command: [python, train.py, --lr, 1e-4]
  env:
    NCCL_DEBUG: INFO
  pip: [datasets]
  timeout: 2h
verify:
  expect: any
` + "```" + `

## Which value counts

1. A flag of the command.
2. The setting's own variable, such as ` + "`TRAINYARD_STEPS`" + `.
3. The plain name of the AWS example that trainyard replaces, such as ` + "`STEPS`" + `.
   Such a name may be set for another reason, so a run lists those it used.
   With a command of your own they are the command's and set nothing, and
   neither do names such as ` + "`NAMESPACE`" + ` when the job runs on this machine.
4. The run file.
5. The default.

Variables that are empty count as unset. ` + "`job.env`" + ` is merged name by name, ` + "`--pip`" + `
adds to ` + "`job.pip`" + `, and a command after ` + "`--`" + ` replaces ` + "`job.command`" + `. The settings
of the built-in training do nothing with a command: as flags they are an error
then, anywhere else they are left alone. Relative paths start at the working
directory.

## What is refused

Unknown keys, keys that are set twice, values of another type, more than one
document, anchors and merge keys, a file that is not UTF-8 or larger than
256 kB. Every problem is reported at once with its place, and the exit code
is 2. ` + "`version: 1`" + ` must be there.
`

const referenceTail = `
Elements of ` + "`job.command`" + ` and values of ` + "`job.env`" + ` are taken as they are written:
` + "`1e-4`" + `, ` + "`08`" + ` and ` + "`true`" + ` need no quotes.
`
