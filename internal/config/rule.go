package config

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// rule is what a setting allows, once for people, once for the loader and
// once for editors.
type rule struct {
	wants      string                   // follows "must be" in a message
	allows     func(p any) bool         // p as setting.field gives it; of a list each element, of a map each name
	schema     func(*jsonschema.Schema) // narrows the schema of the field's type
	written    bool                     // a number counts as the text that was written
	value      *regexp.Regexp           // of a map, the text that each name may have,
	valueWants string                   // and what follows "must be" where it has another
	collection string                   // what the list or map must be as a whole
}

// allow makes a rule's function for fields of one type.
func allow[T any](ok func(T) bool) func(p any) bool {
	return func(p any) bool {
		v, fits := p.(*T)
		return fits && ok(*v)
	}
}

func everything(any) bool { return true }

func noSchema(*jsonschema.Schema) {}

func exactly(n int) rule {
	return rule{
		wants:  fmt.Sprintf("the number %d", n),
		allows: allow(func(v int) bool { return v == n }),
		schema: func(s *jsonschema.Schema) { s.Const = n },
	}
}

func between(lo, hi int) rule {
	return rule{
		wants:  fmt.Sprintf("an integer from %d to %d", lo, hi),
		allows: allow(func(v int) bool { return lo <= v && v <= hi }),
		schema: func(s *jsonschema.Schema) {
			s.Minimum, s.Maximum = json.Number(strconv.Itoa(lo)), json.Number(strconv.Itoa(hi))
		},
	}
}

func atLeast(lo int) rule {
	return rule{
		wants:  fmt.Sprintf("an integer >= %d", lo),
		allows: allow(func(v int) bool { return v >= lo }),
		schema: func(s *jsonschema.Schema) { s.Minimum = json.Number(strconv.Itoa(lo)) },
	}
}

func number() rule {
	return rule{
		wants:  "a number >= 0, such as 2e-5",
		allows: allow(func(v float64) bool { return v >= 0 }),
		schema: func(s *jsonschema.Schema) { s.Minimum = "0" },
	}
}

func trueOrFalse() rule {
	return rule{wants: "true or false", allows: everything, schema: noSchema}
}

// duration takes Go's notation. A bare 0 needs no unit; any other bare number
// is refused, since nobody can tell seconds from minutes.
func duration() rule {
	return rule{
		wants:  "0 or a duration such as 90s, 30m or 2h",
		allows: everything, // the parser takes no negative one
		schema: func(s *jsonschema.Schema) {
			s.Type = ""
			s.AnyOf = []*jsonschema.Schema{
				{Type: "string", Pattern: `^\+?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`},
				{Type: "integer", Enum: []any{0}},
			}
		},
	}
}

func text() rule {
	return rule{wants: "text", allows: everything, schema: noSchema}
}

func nonEmpty(wants string) rule {
	one := uint64(1)
	return rule{
		wants:  wants,
		allows: allow(func(v string) bool { return v != "" }),
		schema: func(s *jsonschema.Schema) { s.MinLength = &one },
	}
}

func oneOf(names ...string) rule {
	wants := "one of " + strings.Join(names, ", ")
	if len(names) == 1 {
		wants = names[0] + " (all there is so far)"
	}
	return rule{
		wants:  wants,
		allows: allow(func(v string) bool { return slices.Contains(names, v) }),
		schema: func(s *jsonschema.Schema) {
			for _, name := range names {
				s.Enum = append(s.Enum, name)
			}
		},
	}
}

// elements is the rule for each string of a list: any text, or text that
// matches a pattern.
func elements(collection, wants string, pattern *regexp.Regexp) rule {
	return rule{
		wants:      wants,
		allows:     allow(func(v string) bool { return isText(v) && pattern.MatchString(v) }),
		schema:     func(s *jsonschema.Schema) { s.Items = scalarSchema(pattern) },
		collection: collection,
	}
}

// variables is the rule for the names of a map of environment variables.
func variables() rule {
	return named("names with values", "letters, digits and _", variableName, "text", anything)
}

// named is the rule for a map: for its names, and for the text that each has.
func named(collection, wants string, name *regexp.Regexp, valueWants string, value *regexp.Regexp) rule {
	return rule{
		wants:      wants,
		allows:     allow(name.MatchString),
		value:      value,
		valueWants: valueWants,
		schema: func(s *jsonschema.Schema) {
			s.PropertyNames = &jsonschema.Schema{Pattern: name.String()}
			s.AdditionalProperties = scalarSchema(value)
		},
		collection: collection,
	}
}

// mappings is the rule for a list of mappings that Kubernetes understands.
func mappings(collection, wants string) rule {
	return rule{
		wants: wants, allows: everything, collection: collection,
		schema: func(s *jsonschema.Schema) { s.Items = &jsonschema.Schema{Type: "object"} },
	}
}

// matching is the rule for text of at most so many bytes.
func matching(wants string, pattern *regexp.Regexp, most uint64) rule {
	return rule{
		wants:  wants,
		allows: allow(func(v string) bool { return uint64(len(v)) <= most && pattern.MatchString(v) }),
		schema: func(s *jsonschema.Schema) { s.Pattern, s.MaxLength = pattern.String(), &most },
	}
}

// scalarSchema takes a scalar of any type where the text that was written
// counts: --lr 1e-4, DEBUG: 1.
func scalarSchema(pattern *regexp.Regexp) *jsonschema.Schema {
	s := &jsonschema.Schema{Extras: map[string]any{"type": []string{"string", "number", "boolean"}}}
	if pattern != anything {
		s.Pattern = pattern.String()
	}
	return s
}

var anything = regexp.MustCompile(``)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// requirement is one line that is not blank.
var requirement = regexp.MustCompile(`^[^\n\r]*\S[^\n\r]*$`)

// indexPattern has no place for credentials: they would show in listings, run
// folders and the arguments of processes.
var indexPattern = regexp.MustCompile(`^$|^(https?://[^@/?#]+([/?#].*)?|file:///.*)$`)

func indexURL() rule {
	return rule{
		wants: "an http, https or file URL without credentials",
		allows: allow(func(v string) bool {
			u, err := url.Parse(v)
			return err == nil && indexPattern.MatchString(v) && (v == "" || u.Scheme == "file" || u.Hostname() != "")
		}),
		schema: func(s *jsonschema.Schema) { s.Pattern = indexPattern.String() },
	}
}

var userinfo = regexp.MustCompile(`//[^/@]*@`)

// show returns text as a message may quote it: short, and without the
// credentials of a URL.
func show(text string) string {
	const most = 40
	text = userinfo.ReplaceAllString(text, "//...@")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "..."
	}
	return strconv.Quote(text)
}

// amount is the rule for a quantity of Kubernetes', which may be a number.
func amount(wants string) rule {
	return rule{
		wants:   wants,
		allows:  allow(quantity.MatchString),
		written: true,
		schema: func(s *jsonschema.Schema) {
			s.Type = ""
			s.Extras = map[string]any{"type": []string{"string", "number"}}
			s.Pattern = quantity.String()
		},
	}
}
