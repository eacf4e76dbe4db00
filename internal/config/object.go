package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// JSON is a mapping of the run file whose keys are not trainyard's but those
// of Kubernetes: an object with sorted keys in one line, which is YAML too.
type JSON string

// objects reads a list of mappings, each of which may hold anything that JSON
// has.
func (r *reader) objects(s *setting, n *yaml.Node) []item {
	if n.Kind != yaml.SequenceNode {
		return nil
	}
	var items []item
	for i, child := range n.Content {
		key := elementKey(s.key, i)
		if child.Kind != yaml.MappingNode {
			r.problems.add(r.at(child), "%s is %s, must be %s", key, describe(child), s.rule.wants)
			continue
		}
		before := len(r.problems.all)
		object := r.data(key, child)
		if len(r.problems.all) == before {
			items = append(items, item{text: encode(object), origin: r.at(child)})
		}
	}
	return items
}

// data turns a node into what encoding/json takes.
func (r *reader) data(path string, n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		object := map[string]any{}
		for key, child := range r.pairs(path, n) {
			if !isText(key.Value) || len(key.Value) > maxObjectKey {
				r.problems.add(r.at(key), "%s has the key %s, must be a short word", path, show(key.Value))
			}
			object[key.Value] = r.data(path+"."+key.Value, child)
		}
		return object
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for i, child := range n.Content {
			list = append(list, r.data(elementKey(path, i), child))
		}
		return list
	default:
		return r.scalarData(path, n)
	}
}

// maxObjectKey is in bytes: the longest label, and less than YAML allows.
const maxObjectKey = 63 + 1 + 253

func (r *reader) scalarData(path string, n *yaml.Node) any {
	var v any
	ok := isText(n.Value)
	switch {
	case isScalar(n, []string{"!!str", "!!timestamp"}):
		v = n.Value
	case isScalar(n, []string{"!!int", "!!float", "!!bool", "!!null"}):
		ok = n.Decode(&v) == nil
		if f, isFloat := v.(float64); isFloat {
			ok = ok && !math.IsInf(f, 0) && !math.IsNaN(f)
			v = f + 0 // no negative zero
		}
	default:
		ok = false
	}
	if !ok {
		r.problems.add(r.at(n), "%s is %s, must be text, a number, true, false or null", path, describe(n))
	}
	return v
}

// encode writes v as JSON that YAML reads alike: YAML breaks lines at, or does
// not take, characters that JSON allows.
func encode(v any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(fmt.Sprintf("config: %v", err)) // data made v
	}
	var out strings.Builder
	for _, c := range strings.TrimSuffix(b.String(), "\n") {
		if !unicode.IsPrint(c) && c <= math.MaxUint16 {
			fmt.Fprintf(&out, `\u%04x`, c)
			continue
		}
		out.WriteRune(c)
	}
	return out.String()
}

// objects takes the file's list: no flag and no variable can hold one.
func (r *resolver) objects(s *setting) []JSON {
	value := r.values[s.key]
	r.cfg.origins[s.key] = value.origin
	var list []JSON
	for i, it := range value.items {
		r.cfg.origins[elementKey(s.key, i)] = it.origin
		list = append(list, JSON(it.text))
	}
	return list
}
