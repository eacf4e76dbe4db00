package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// MaxFileSize is the most bytes that a run file may have.
const MaxFileSize = 256 << 10

// writeOne is the way out for those whose file is no run file at all.
const writeOne = "`trainyard init` writes a run file with every setting and its default"

// document is a run file that was read: the values by the key of their
// setting. Each value that is not wrong fits the type of its field.
type document struct {
	values   map[string]entry
	problems problems
	broken   bool // not YAML, or YAML that cannot be a run file; values is empty
}

// entry is the value of one setting as a source gives it.
type entry struct {
	origin Origin
	items  []item // one for a scalar
	wrong  bool   // reported already; items is empty
}

// item is a scalar, or one element of a list or a map.
type item struct {
	name   string // in a map
	text   string
	origin Origin
}

// reader turns the nodes of a run file into a document.
type reader struct {
	document
	name   string
	listed map[string]bool // sections whose keys a message has listed
}

// readFile reads a run file strictly. A nil data is no file.
func readFile(name string, data []byte) document {
	r := reader{document: document{values: map[string]entry{}}, name: name, listed: map[string]bool{}}
	if data == nil {
		return r.document
	}
	if root := r.root(data); root != nil {
		r.mapping("", root)
	} else {
		r.broken = true
	}
	return r.document
}

func (r *reader) at(n *yaml.Node) Origin { return r.pos(n.Line, n.Column) }

func (r *reader) pos(line, column int) Origin {
	return Origin{Kind: FromFile, Name: r.name, Line: line, Column: column}
}

// root parses data down to its top mapping; nil after reporting why that
// cannot be.
func (r *reader) root(data []byte) *yaml.Node {
	if len(data) > MaxFileSize {
		r.problems.addHint(writeOne, r.pos(0, 0), "larger than %d kB, too large for a run file", MaxFileSize>>10)
		return nil
	}
	if !r.readable(data) {
		return nil
	}
	docs, err := parse(data)
	switch {
	case err != nil:
		r.syntax(data, err)
		return nil
	case len(docs) == 0:
		r.problems.addHint(writeOne, r.pos(1, 1), `the file is empty, must start with "version: %d"`, Version)
		return nil
	case len(docs) > 1:
		r.problems.add(r.at(docs[1]), "a second document starts here, must be one document")
		return nil
	}
	return r.top(docs[0].Content[0])
}

// parse returns the documents of data. Aliases stay aliases, so the result is
// as large as the text.
func parse(data []byte) ([]*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var docs []*yaml.Node
	for {
		doc := new(yaml.Node)
		switch err := decoder.Decode(doc); {
		case errors.Is(err, io.EOF):
			return docs, nil
		case err != nil:
			return nil, err
		}
		docs = append(docs, doc)
	}
}

func (r *reader) top(root *yaml.Node) *yaml.Node {
	if r.refuseSharing(root); len(r.problems.all) > 0 {
		return nil
	}
	if root.Kind != yaml.MappingNode {
		r.problems.addHint(writeOne, r.at(root), "the file is %s, must be settings such as \"version: %d\"", describe(root), Version)
		return nil
	}
	return root
}

// readable reports the first character that no text file has, with a place
// that the YAML parser would not give.
func (r *reader) readable(data []byte) bool {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		r.problems.add(r.pos(1, 1), "the file is UTF-16, must be UTF-8")
		return false
	}
	line, column := 1, 0
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		column++
		switch {
		case c == '\n':
			line, column = line+1, 0
		case c == utf8.RuneError && size == 1:
			r.problems.add(r.pos(line, column), "byte 0x%02x is not UTF-8", data[i])
			return false
		case unicode.IsControl(c) && c != '\t' && c != '\r' && c != '\u0085':
			r.problems.add(r.pos(line, column), "control character %U, must be text", c)
			return false
		}
		i += size
	}
	return true
}

// syntax reports what the parser could not read.
func (r *reader) syntax(data []byte, err error) {
	lines := bytes.SplitAfter(data, []byte("\n"))
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		number, after, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(number); err == nil {
			line, message = n, after
		}
	}
	if len(lines) <= maxSearchedLines && len(data) <= maxSearchedBytes {
		line = firstBadLine(data, lines)
	}
	if column := tabIndent(lines[min(line, len(lines))-1]); column > 0 {
		r.problems.add(r.pos(line, column), "a tab in the indentation, must be spaces")
		return
	}
	r.problems.add(r.pos(line, 0), "reading YAML: %s", message)
}

// The largest file in which firstBadLine is quick: it reads the file once for
// each line.
const (
	maxSearchedLines = 400
	maxSearchedBytes = 16 << 10
)

// firstBadLine is the line after the longest beginning of data that is YAML by
// itself: the line that breaks the file or opens what never ends. The parser's
// own number is that of the surrounding block, and often one too low.
func firstBadLine(data []byte, lines [][]byte) int {
	end := len(data)
	for n := len(lines); n > 1; n-- {
		end -= len(lines[n-1])
		if _, err := parse(data[:end]); err == nil {
			return n
		}
	}
	return 1
}

// tabIndent returns the column of a tab in the indentation of a line, or 0.
func tabIndent(line []byte) int {
	indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
	return bytes.IndexByte(indent, '\t') + 1
}

// refuseSharing reports anchors and merge keys; aliases cannot be without. A
// run file is short enough to write values out, and then every value has one
// place.
func (r *reader) refuseSharing(n *yaml.Node) {
	switch {
	case n.Anchor != "":
		r.problems.add(r.at(n), "anchor %s, must be left out: aliases are not read", show("&"+n.Anchor))
	case n.Tag == "!!merge":
		r.problems.add(r.at(n), "merge key \"<<\", must be the settings themselves")
	}
	for _, child := range n.Content {
		r.refuseSharing(child)
	}
}

// mapping reads the root (section "") or a section.
func (r *reader) mapping(section string, n *yaml.Node) {
	for key, value := range r.pairs(section, n) {
		path := key.Value
		if section != "" {
			path = section + "." + path
		}
		switch s := find(path); {
		case s != nil:
			r.value(s, value)
		case isSection(path):
			r.section(path, value)
		default:
			r.unknown(section, path, key)
		}
	}
}

// pairs yields the keys and values of a mapping, each key once.
func (r *reader) pairs(path string, n *yaml.Node) func(func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		first := map[string]int{}
		for pair := range slices.Chunk(n.Content, 2) {
			key, value := pair[0], pair[1]
			line, twice := first[key.Value]
			switch {
			case key.Kind != yaml.ScalarNode:
				r.problems.add(r.at(key), "a key is %s, must be a word", describe(key))
				continue
			case twice:
				r.problems.add(r.at(key), "%s is set twice, first in line %d", label(path, key.Value), line)
				continue
			}
			first[key.Value] = key.Line
			if !yield(key, value) {
				return
			}
		}
	}
}

func label(section, key string) string {
	if section == "" {
		return show(key)
	}
	return show(section + "." + key)
}

// section reads the mapping below a top-level key. A section whose settings
// are all commented out is empty.
func (r *reader) section(name string, n *yaml.Node) {
	switch {
	case n.Kind == yaml.MappingNode:
		r.mapping(name, n)
	case n.ShortTag() != "!!null":
		r.problems.add(r.at(n), "%s is %s, must hold settings: %s", name, describe(n), strings.Join(keysOf(name), ", "))
	}
}

func (r *reader) unknown(section, path string, key *yaml.Node) {
	where := "unknown key " + label(section, key.Value)
	if match := nearest(path); match != "" {
		r.problems.add(r.at(key), "%s, did you mean %s?", where, match)
		return
	}
	if !r.listed[section] {
		where += ", known here:\n  " + strings.Join(keysOf(section), ", ")
	}
	r.listed[section] = true
	r.problems.add(r.at(key), "%s", where)
}

// value reads the value of a setting and keeps it where it fits the type.
func (r *reader) value(s *setting, n *yaml.Node) {
	value := entry{origin: r.at(n)}
	wants := s.rule.wants
	switch p := s.field(new(Config)).(type) {
	case *[]string:
		value.wrong, wants = n.Kind != yaml.SequenceNode, s.rule.collection
		value.items = r.list(s, n)
	case *[]JSON:
		value.wrong, wants = n.Kind != yaml.SequenceNode, s.rule.collection
		value.items = r.objects(s, n)
	case *map[string]string:
		value.wrong, wants = n.Kind != yaml.MappingNode, s.rule.collection
		value.items = r.table(s, n)
	default:
		tags := scalarTags(p)
		if s.rule.written {
			tags = elementTags
		}
		value.wrong = !isScalar(n, tags) || !assign(p, n.Value)
		value.items = []item{{text: n.Value, origin: r.at(n)}}
	}
	if value.wrong {
		r.problems.add(r.at(n), "%s is %s, must be %s", s.key, describe(n), wants)
		value.items = nil
	}
	r.values[s.key] = value
}

func (r *reader) list(s *setting, n *yaml.Node) []item {
	if n.Kind != yaml.SequenceNode {
		return nil
	}
	var items []item
	for i, child := range n.Content {
		if r.element(elementKey(s.key, i), child) {
			items = append(items, item{text: child.Value, origin: r.at(child)})
		}
	}
	return items
}

func (r *reader) table(s *setting, n *yaml.Node) []item {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	var items []item
	for key, child := range r.pairs(s.key, n) {
		if r.element(s.key+"."+key.Value, child) {
			items = append(items, item{name: key.Value, text: child.Value, origin: r.at(key)})
		}
	}
	return items
}

func (r *reader) element(key string, n *yaml.Node) bool {
	ok := isScalar(n, elementTags) && isText(n.Value)
	if !ok {
		r.problems.add(r.at(n), "%s is %s, must be text", key, describe(n))
	}
	return ok
}

func isScalar(n *yaml.Node, tags []string) bool {
	return n.Kind == yaml.ScalarNode && slices.Contains(tags, n.ShortTag())
}

// describe says what a node is, as it would read in "train.steps is ...".
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.ShortTag() == "!!null":
		return "empty"
	case n.ShortTag() == "!!str" || len(n.Value) > 40:
		return show(n.Value)
	case slices.Contains(elementTags, n.ShortTag()):
		return n.Value
	default:
		return fmt.Sprintf("%s tagged %s", show(n.Value), show(n.ShortTag()))
	}
}
