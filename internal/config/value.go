package config

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// assign parses text, as a flag, a variable or a run file has it, into the
// field that p points to. It reports whether the text fits the type.
func assign(p any, text string) bool {
	switch p := p.(type) {
	case *string:
		*p = text
		return isText(text)
	case *int:
		return parsed(p, text, strconv.Atoi)
	case *float64:
		return parsed(p, text, parseFinite)
	case *bool:
		return parsed(p, text, strconv.ParseBool)
	case *time.Duration:
		return parsed(p, text, parseDuration)
	default:
		panic(fmt.Sprintf("config: no parser for %T", p))
	}
}

func parsed[T any](p *T, text string, parse func(string) (T, error)) bool {
	v, err := parse(text)
	*p = v
	return err == nil
}

// parseFinite leaves out what no run file and no JSON can hold.
func parseFinite(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
		err = strconv.ErrRange
	}
	return v, err
}

// parseDuration takes Go's notation without a sign below zero.
func parseDuration(text string) (time.Duration, error) {
	if strings.HasPrefix(text, "-") {
		return 0, strconv.ErrRange
	}
	return time.ParseDuration(text)
}

// isText reports whether s can be an argument, a variable and JSON.
func isText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsRune(s, 0)
}

// scalarTags are the YAML types that a field takes. A string field takes what
// YAML calls a date, because it is text to us.
func scalarTags(p any) []string {
	switch p.(type) {
	case *int:
		return []string{"!!int"}
	case *float64:
		return []string{"!!float", "!!int"}
	case *bool:
		return []string{"!!bool"}
	case *time.Duration:
		return []string{"!!str", "!!int"}
	default:
		return []string{"!!str", "!!timestamp"}
	}
}

// elementTags are the YAML types of an element of a list or map of strings:
// the arguments 8 and 1e-4 mean what is written, so they need no quotes.
var elementTags = []string{"!!str", "!!timestamp", "!!int", "!!float", "!!bool"}

// format is the text that assign would read back.
func format(p any) string {
	switch p := p.(type) {
	case *string:
		return *p
	case *int:
		return strconv.Itoa(*p)
	case *float64:
		return strconv.FormatFloat(*p, 'g', -1, 64)
	case *bool:
		return strconv.FormatBool(*p)
	case *time.Duration:
		return p.String()
	default:
		panic(fmt.Sprintf("config: no format for %T", p))
	}
}

// formatYAML is format as a run file has it, in one line.
func formatYAML(p any) string {
	if s, ok := p.(*string); ok {
		return quote(*s)
	}
	return format(p)
}

// quote writes s as a YAML scalar in one line, plain where that is safe.
func quote(s string) string {
	if out := marshal(s); !strings.Contains(out, "\n") {
		return out
	}
	return marshal(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.DoubleQuotedStyle})
}

// flow writes a list as YAML in one line: [python, train.py].
func flow(list []string) string {
	node := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, s := range list {
		node.Content = append(node.Content, stringNode(s))
	}
	return marshal(node)
}

func stringNode(s string) *yaml.Node {
	node := new(yaml.Node)
	node.SetString(s)
	if marshalled := quote(s); strings.HasPrefix(marshalled, `"`) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

// marshal cannot fail: it only sees strings that isText allowed.
func marshal(v any) string {
	out, err := yaml.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("config: %v", err))
	}
	return strings.TrimSuffix(string(out), "\n")
}

// sorted yields a map in the order of its keys.
func sorted(m map[string]string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}
