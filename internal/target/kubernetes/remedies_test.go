package kubernetes

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/internal/config"
)

// setting is a key of the run file in a sentence; what Go selects there begins with
// a capital.
var setting = regexp.MustCompile("[ \"`]((kubernetes|cluster)\\.([a-z]\\w*))")

// What findings tell people to set, a run file has.
func TestSettingsThatAreNamed(t *testing.T) {
	text, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]struct{ Properties map[string]any }
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("check*.go")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(source)) {
			for _, found := range setting.FindAllStringSubmatch(line, -1) {
				named++
				if _, known := schema.Properties[found[2]].Properties[found[3]]; !known {
					t.Errorf("%s names %s, which no run file has: %s", file, found[1], strings.TrimSpace(line))
				}
			}
		}
	}
	if named == 0 {
		t.Error("no setting is named: is the pattern right?")
	}
}
