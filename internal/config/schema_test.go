package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	jsonvalidate "github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

const docs = "../../docs"

func TestSchemaIsCommitted(t *testing.T) {
	schema, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join(docs, "trainyard.schema.json"), string(schema))
}

func compiledSchema(t testing.TB) *jsonvalidate.Schema {
	t.Helper()
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonvalidate.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonvalidate.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("trainyard.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("trainyard.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// checkSchema validates a run file as an editor does.
func checkSchema(schema *jsonvalidate.Schema, file []byte) error {
	var v any
	if err := yaml.Unmarshal(file, &v); err != nil {
		return err
	}
	return schema.Validate(asJSON(v))
}

// asJSON turns what YAML calls dates into the text that they are in JSON, and
// integers into the numbers that JSON has.
func asJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = asJSON(v[key])
		}
	case []any:
		for i := range v {
			v[i] = asJSON(v[i])
		}
	case time.Time:
		return v.Format(time.RFC3339)
	case uint64:
		return json.Number(fmt.Sprint(v))
	}
	return v
}

// examples returns every run file in the repository that a reader may copy.
func examples(t *testing.T) map[string][]byte {
	t.Helper()
	found := map[string][]byte{"the template": []byte(Template())}
	for _, path := range files(t, "valid-") {
		found[path] = read(t, path)
	}
	standard, err := Load(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	found["the defaults"] = []byte(standard.YAML())
	pages, err := filepath.Glob(filepath.Join(docs, "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages in docs: %v", err)
	}
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range runFilesIn(string(text)) {
			found[fmt.Sprintf("%s, run file %d", page, i+1)] = []byte(block)
		}
	}
	return found
}

// A fenced block is a run file if its info string or its first line, a
// comment, names trainyard.yaml.
var fence = regexp.MustCompile("(?ms)^```(ya?ml[^\n]*)\n(.*?)^```")

func runFilesIn(page string) []string {
	var blocks []string
	for _, match := range fence.FindAllStringSubmatch(page, -1) {
		first, _, _ := strings.Cut(match[2], "\n")
		if strings.Contains(match[1], FileName) || strings.HasPrefix(first, "#") && strings.Contains(first, FileName) {
			blocks = append(blocks, match[2])
		}
	}
	return blocks
}

func TestExamples(t *testing.T) {
	schema := compiledSchema(t)
	inPages := 0
	for name, file := range examples(t) {
		if strings.Contains(name, ".md, ") {
			inPages++
		}
		if _, err := Load(Sources{File: file, FileName: name}); err != nil {
			t.Errorf("%s does not load:\n%v", name, err)
		}
		if err := checkSchema(schema, file); err != nil {
			t.Errorf("%s does not fit the schema: %v", name, err)
		}
	}
	if inPages == 0 {
		t.Error("no page of the documentation shows a run file")
	}
}

// What the loader refuses, the schema refuses too, but for what no JSON
// Schema can see.
func TestSchemaRefusesInvalid(t *testing.T) {
	blind := []string{
		"invalid-anchor.yaml",      // anchors are gone once it is JSON
		"invalid-documents.yaml",   // editors check each document by itself
		"invalid-utf16.yaml",       // encoding
		"invalid-nul-escaped.yaml", // characters
		"invalid-tags.yaml",        // tags are gone once it is JSON
	}
	schema := compiledSchema(t)
	for _, path := range files(t, "invalid-") {
		name := filepath.Base(path)
		err := checkSchema(schema, read(t, path))
		if refused := err != nil; refused == slices.Contains(blind, name) {
			t.Errorf("%s: refused by the schema: %t, which the list of this test denies", name, refused)
		}
	}
}

// Each wrong value by itself, since a file with several faults shows only
// that one of them is seen.
func TestSchemaAndLoaderAgree(t *testing.T) {
	schema := compiledSchema(t)
	tests := map[string][]string{
		"target":                 {"local", "eks", "7", `""`},
		"python":                 {"", "{}", "[]", "python3", "{interpretr: x}"},
		"python.torchIndex":      {`""`, "https://a.example/x", "ftp://a", "a", "https://u:p@a/", "https://u@a", "file:///x", "file://x", "https://"},
		"cluster.nodes":          {"0", "1", "4096", "4097", `"2"`, "2.5", "[]", "true", ""},
		"cluster.workersPerNode": {"-1", "0", "1000"},
		"cluster.keep":           {"true", "false", "yes", "1", `"true"`},
		"cluster.name":           {`""`, "a", "a-1", "A", "1a", "a-", "a.b", strings.Repeat("a", 47), strings.Repeat("a", 48)},
		"cluster.image": {
			DefaultImage, `""`, "a", "a:v1", "host:5000/a/b:v1", "a b", "a:", "A/b:c", "a@sha256:" + strings.Repeat("0", 64), "a@sha256:0", "a:v@sha256:" + strings.Repeat("f", 64),
		},
		"cluster.rayVersion":         {"2.58.0", "2.58", "latest", "3.0.0rc1", `""`},
		"cluster.efaPerNode":         {"-2", "-1", "0", "65"},
		"kubernetes.namespace":       {`""`, "a", "a.b", "-a", strings.Repeat("a", 63), strings.Repeat("a", 64)},
		"kubernetes.nodeSelector":    {"{}", "{role: gpu}", "{a.b/c: 1}", "{role: null}", "{role: a b}", "{-x: y}", "{a/b/c: d}", "[]"},
		"kubernetes.tolerations":     {"[]", "[{}]", "[{key: a, n: 1.5, b: [true, null]}]", "[a]", "{}", "[[]]"},
		"kubernetes.resources":       {"{}", "{rdma/hca: 8}", "{rdma/hca: 1.5Gi}", "{rdma/hca: 8x}"},
		"kubernetes.workerMemory":    {`""`, "160Gi", "160GB", "40", "1.5", "true", "-1Gi", "1.5Ti"},
		"kubernetes.secrets":         {"[]", "[a.b]", "[A]", `[""]`, "a"},
		"kubernetes.queue":           {`""`, "a.b", "a_b"},
		"kubernetes.imagePullPolicy": {`""`, "Always", "always"},
		"job.command":                {"[]", "[a, 1, 1e-4, true]", "[null]", "[[a]]", "a", "{}"},
		"job.env":                    {"{}", "{A: 1, b_2: x}", "{1A: x}", `{"": x}`, "{A: null}", "{A: [1]}", "[]"},
		"job.pip":                    {"[]", "[a]", `[""]`, "a", `[" "]`, `["a\nb"]`},
		"job.timeout":                {"0", "30", "30m", "1h30m", "1.5h", "-5m", "5 m", "m", `"0"`, "+5s", "1m0", ".5s", "."},
		"job.workingDir":             {".", `""`, "7"},
		"train.steps":                {"0", "1", "-1", "many"},
		"train.learningRate":         {"0", "2e-5", "-1", "1", "x"},
		"train.seed":                 {"0", "4294967295", "4294967296", "-1"},
		"train.model":                {"tiny", `""`, "2026-11-29"},
		"verify.expect":              {"any", "efa", "rdma", "ib", "socket", "tcp", "EFA"},
		"verify":                     {"", "null", "efa"},
	}
	for key, texts := range tests {
		for _, text := range texts {
			file, _ := fileWith(key, text)
			_, loadErr := Load(Sources{File: file, Remote: true})
			schemaErr := checkSchema(schema, file)
			if (loadErr == nil) != (schemaErr == nil) {
				t.Errorf("%s: %s\nloader: %v\nschema: %v", key, text, loadErr, schemaErr)
			}
		}
	}
}

// Every field of Config has a row, and every row a field: the schema is made
// from the fields and looked up by the rows.
func TestTableCoversConfig(t *testing.T) {
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	type node struct {
		Properties  map[string]node `json:"properties"`
		Description string          `json:"description"`
	}
	var root node
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	rows := 0
	var walk func(path string, n node)
	walk = func(path string, n node) {
		if n.Description == "" {
			t.Errorf("%q has no description", path)
		}
		for name, child := range n.Properties {
			walk(strings.TrimPrefix(path+"."+name, "."), child)
		}
		if len(n.Properties) == 0 {
			rows++
			if find(path) == nil {
				t.Errorf("%q has no row in the table", path)
			}
		}
	}
	walk("", root)
	if rows != len(settings) {
		t.Errorf("%d fields, %d rows", rows, len(settings))
	}
}
