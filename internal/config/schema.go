package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
)

// Schema is the JSON Schema of the run file, for editors and for checks
// without trainyard. It comes from the Go types and the table of settings. It
// cannot say everything that [Load] refuses, but it refuses nothing that Load
// takes.
func Schema() ([]byte, error) {
	reflector := jsonschema.Reflector{
		Anonymous: true, DoNotReference: true, RequiredFromJSONSchemaTags: true, Mapper: mapDuration,
	}
	root := reflector.Reflect(&Config{})
	root.Title = FileName
	root.Description = "The run file of trainyard."
	for _, g := range groups {
		if s, ok := root.Properties.Get(g.name); ok && isSection(g.name) {
			nullable(s, "object")
			s.Description = g.doc
		}
	}
	for i := range settings {
		if err := describeSetting(root, &settings[i]); err != nil {
			return nil, err
		}
	}
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding schema: %w", err)
	}
	return append(out, '\n'), nil
}

func mapDuration(t reflect.Type) *jsonschema.Schema {
	if t == reflect.TypeFor[time.Duration]() {
		return &jsonschema.Schema{Type: "string"}
	}
	return nil
}

// nullable lets a section be empty: all its settings may be commented out.
func nullable(s *jsonschema.Schema, kind string) {
	s.Type = ""
	s.Extras = map[string]any{"type": []string{kind, "null"}}
}

// describeSetting completes the schema of a field with its row of the table.
func describeSetting(root *jsonschema.Schema, s *setting) error {
	node := root
	for name := range strings.SplitSeq(s.key, ".") {
		child, ok := node.Properties.Get(name)
		if !ok {
			return fmt.Errorf("describing setting %q: no such field", s.key)
		}
		node = child
	}
	node.Description = s.doc
	s.rule.schema(node)
	switch p := s.field(new(Config)).(type) {
	case *[]string, *[]JSON, *map[string]string:
	case *string:
		node.Default = s.standard
	default:
		assign(p, s.standard)
		node.Default = p
		if d, ok := p.(*time.Duration); ok {
			node.Default = d.String()
		}
	}
	return nil
}
