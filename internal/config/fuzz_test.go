package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzLoad feeds any bytes to the loader. What it takes must also fit the
// schema and survive being written and read again; what it refuses must come
// with a place.
func FuzzLoad(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(paths) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(Template()))
	schema := compiledSchema(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Load(Sources{File: data, FileName: FileName})
		if err != nil {
			checkPlaces(t, err)
			return
		}
		if c == nil {
			return
		}
		if err := checkSchema(schema, data); data != nil && err != nil {
			t.Errorf("loads but does not fit the schema: %v\n%q", err, data)
		}
		again, err := Load(Sources{File: []byte(c.YAML()), FileName: FileName})
		if err != nil {
			t.Fatalf("its own YAML does not load: %v\n%s", err, c.YAML())
		}
		if diff := cmp.Diff(c, again, cmpopts.IgnoreUnexported(Config{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("its own YAML differs (-want +got):\n%s\n%s", diff, c.YAML())
		}
	})
}

func checkPlaces(t *testing.T, err error) {
	for line := range strings.Lines(err.Error()) {
		more := strings.HasSuffix(line, " more problems")
		if !more && !strings.HasPrefix(line, FileName+":") && !strings.HasPrefix(line, "  ") {
			t.Errorf("a problem without a place: %q", line)
		}
	}
}

// FuzzFlags feeds any text to every flag.
func FuzzFlags(f *testing.F) {
	for i := range settings {
		f.Add(settings[i].flag, settings[i].standard)
	}
	f.Add("env", "A=x\ny")
	f.Add("pip", "#x: {")
	f.Fuzz(func(t *testing.T, flag, text string) {
		s := flagNamed(flag)
		if s == nil {
			t.Skip("no such flag")
		}
		var command []string
		if section(s.key) != "train" {
			command = []string{"echo", text}
		}
		c, err := load(t, nil, []string{"--" + flag + "=" + text}, nil, command...)
		if err != nil {
			return
		}
		checkRoundTrip(t, c)
	})
}

func flagNamed(name string) *setting {
	for i := range settings {
		if settings[i].flag == name && name != "" {
			return &settings[i]
		}
	}
	return nil
}
