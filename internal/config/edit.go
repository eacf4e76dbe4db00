package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// errNotEditable says that a run file writes a setting in a way that Edit leaves
// to people.
var errNotEditable = errors.New("it is written in a way that only a person can change")

// Edit returns a run file in which the setting key, such as cluster.image, has
// another value; everything else of the file, comments too, stays as it is. value
// is YAML on one line.
func Edit(file []byte, key, value string) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(file, &document); err != nil {
		return nil, fmt.Errorf("reading the run file: %w", err)
	}
	section, name, _ := strings.Cut(key, ".")
	lines := bytes.SplitAfter(file, []byte("\n"))
	header, group := member(root(&document), section)
	if header == nil {
		return appended(file, section+":\n  "+name+": "+value+"\n"), nil
	}
	if _, old := member(group, name); old != nil {
		return replaced(lines, old, value)
	}
	indent := "  "
	switch {
	case group.Kind == yaml.MappingNode && group.Style&yaml.FlowStyle == 0 && len(group.Content) > 0:
		indent = strings.Repeat(" ", group.Content[0].Column-1)
	case group.Kind != yaml.ScalarNode || group.Tag != "!!null" || group.Value != "":
		return nil, errNotEditable
	}
	lines = slices.Insert(lines, header.Line, []byte(indent+name+": "+value+"\n"))
	return bytes.Join(lines, nil), nil
}

// root is the mapping that a document holds; nil where it is empty.
func root(document *yaml.Node) *yaml.Node {
	if len(document.Content) == 0 {
		return nil
	}
	return document.Content[0]
}

// member finds the key of a mapping and its value; nil where there is none.
func member(mapping *yaml.Node, name string) (key, value *yaml.Node) {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i], mapping.Content[i+1]
		}
	}
	return nil, nil
}

// appended adds text at the end, on a line of its own.
func appended(file []byte, text string) []byte {
	file = bytes.Clone(file)
	if len(file) > 0 && file[len(file)-1] != '\n' {
		file = append(file, '\n')
	}
	return append(file, text...)
}

// replaced writes value in place of a scalar that is on one line.
func replaced(lines [][]byte, old *yaml.Node, value string) ([]byte, error) {
	raw := old.Value
	switch {
	case old.Kind != yaml.ScalarNode:
		return nil, errNotEditable
	case raw == "" && old.Style == 0: // nothing behind the colon
		value = " " + value
	case old.Style&yaml.DoubleQuotedStyle != 0:
		raw = `"` + raw + `"`
	case old.Style&yaml.SingleQuotedStyle != 0:
		raw = "'" + raw + "'"
	}
	line, at := lines[old.Line-1], old.Column-1
	if at > len(line) || !bytes.HasPrefix(line[at:], []byte(raw)) {
		return nil, errNotEditable
	}
	lines[old.Line-1] = slices.Concat(line[:at], []byte(value), line[at+len(raw):])
	return bytes.Join(lines, nil), nil
}
