package raycluster

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

// TestGoldenFilesFitKubeRay checks every golden file by the definitions that
// come with the KubeRay that go.mod names: each field must be known, and each
// value valid.
func TestGoldenFilesFitKubeRay(t *testing.T) {
	schemas := map[string]*jsonschema.Schema{
		"RayCluster": definition(t, "ray.io_rayclusters.yaml"),
		"RayJob":     definition(t, "ray.io_rayjobs.yaml"),
	}
	paths, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(paths) < 7 {
		t.Fatalf("golden files: %q, %v", paths, err)
	}
	for _, path := range paths {
		if err := misfit(t, schemas, path, read(t, path)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	seesMistakes(t, schemas)
}

// seesMistakes shows that the check can fail.
func seesMistakes(t *testing.T, schemas map[string]*jsonschema.Schema) {
	t.Helper()
	text := string(read(t, "testdata/g6.12xlarge.yaml"))
	for old, mistake := range map[string]string{
		"mode: token":     "mode: tokens",
		"rayVersion:":     "rayVersions:",
		`maxReplicas: 2`:  `maxReplicas: "2"`,
		"effect: NoS":     "effects: NoS",
		`operator: NotIn`: `operators: NotIn`,
		`rayStartParams:`: `rayStartParam:`,
		`numOfHosts: 1`:   `numOfHosts: 1.5`,
		`hostname`:        `hostname`, // no mistake
	} {
		err := misfit(t, schemas, mistake, []byte(strings.Replace(text, old, mistake, 1)))
		if !strings.Contains(text, old) || (err != nil) != (old != mistake) {
			t.Errorf("%s for %s: %v", mistake, old, err)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// definition returns the schema of a kind in the version that we write.
func definition(t *testing.T, file string) *jsonschema.Schema {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/ray-project/kuberay/ray-operator").Output()
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Name   string
				Schema struct{ OpenAPIV3Schema map[string]any }
			}
		}
	}
	text := read(t, filepath.Join(strings.TrimSpace(string(dir)), "config", "crd", "bases", file))
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	for _, v := range crd.Spec.Versions {
		if v.Name == "v1" {
			return compile(t, v.Schema.OpenAPIV3Schema)
		}
	}
	t.Fatalf("%s has no version v1", file)
	return nil
}

func compile(t *testing.T, definition map[string]any) *jsonschema.Schema {
	t.Helper()
	closed(definition)
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("definition.json", plain(t, definition)); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("definition.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// closed makes a definition refuse the fields that it does not know, which the
// API server would drop.
func closed(definition any) {
	switch d := definition.(type) {
	case map[string]any:
		if _, has := d["properties"].(map[string]any); has && d["x-kubernetes-preserve-unknown-fields"] != true {
			d["additionalProperties"] = false
		}
		for _, below := range d {
			closed(below)
		}
	case []any:
		for _, below := range d {
			closed(below)
		}
	}
}

// plain gives numbers the type that the validator wants.
func plain(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// misfit says what is wrong with a manifest.
func misfit(t *testing.T, schemas map[string]*jsonschema.Schema, name string, text []byte) error {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal(text, &object); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	kind, _ := object["kind"].(string)
	if schemas[kind] == nil {
		t.Fatalf("%s: no definition of kind %q", name, kind)
	}
	return schemas[kind].Validate(plain(t, object))
}
