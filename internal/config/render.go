package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// YAML writes the configuration as a run file that gives this configuration
// again, with the origin of every value beside it.
func (c *Config) YAML() string {
	var lines []line
	for i := range settings {
		s := &settings[i]
		lines = append(lines, header(s, i)...)
		lines = append(lines, c.lines(s)...)
	}
	return align(lines)
}

// line is one line of a run file with the comment beside it.
type line struct{ text, comment string }

// header opens the section of a setting that is the first of its section.
func header(s *setting, i int) []line {
	name := section(s.key)
	if name == s.key || section(settings[i-1].key) == name {
		return nil
	}
	return []line{{text: name + ":"}}
}

func (c *Config) lines(s *setting) []line {
	name, indent := nameIn(s)
	values := c.values(s)
	one := func(text string, v Value) line { return line{text, v.Origin.String()} }
	switch p := s.field(c).(type) {
	case *[]string:
		if len(*p) == 0 || s.whole {
			return []line{one(indent+name+": "+values[0].Text, values[0])}
		}
		lines := []line{{text: indent + name + ":"}}
		for _, v := range values {
			lines = append(lines, one(indent+"  - "+quote(v.Text), v))
		}
		return lines
	case *[]JSON:
		if len(*p) == 0 {
			return []line{one(indent+name+": []", values[0])}
		}
		lines := []line{{text: indent + name + ":"}}
		for _, v := range values {
			lines = append(lines, one(indent+"  - "+v.Text, v))
		}
		return lines
	case *map[string]string:
		if len(*p) == 0 {
			return []line{one(indent+name+": {}", values[0])}
		}
		lines := []line{{text: indent + name + ":"}}
		for _, v := range values {
			variable := strings.TrimPrefix(v.Key, s.key+".")
			lines = append(lines, one(indent+"  "+quote(variable)+": "+quote(v.Text), v))
		}
		return lines
	default:
		return []line{one(indent+name+": "+formatYAML(p), values[0])}
	}
}

// nameIn splits the key of a setting into its last word and its indentation.
func nameIn(s *setting) (name, indent string) {
	if _, last, nested := strings.Cut(s.key, "."); nested {
		return last, "  "
	}
	return s.key, ""
}

// align puts the comments into one column, as far as no line is too long.
func align(lines []line) string {
	const most = 44
	column := 0
	for _, l := range lines {
		if n := utf8.RuneCountInString(l.text); n <= most && l.comment != "" {
			column = max(column, n)
		}
	}
	var b strings.Builder
	for _, l := range lines {
		if l.comment == "" {
			fmt.Fprintln(&b, l.text)
			continue
		}
		fmt.Fprintf(&b, "%-*s  # %s\n", column, l.text, l.comment)
	}
	return b.String()
}

// Template is a run file with every setting, its meaning and its default, all
// commented out: what `trainyard init` writes.
func Template() string {
	standard, err := Load(Sources{})
	if err != nil {
		panic(fmt.Sprintf("config: %v", err)) // a default that its own rule refuses
	}
	var b strings.Builder
	fmt.Fprint(&b, templateHead)
	for i := range settings {
		s := &settings[i]
		_, indent := nameIn(s)
		if indent == "" {
			fmt.Fprintln(&b)
		}
		for _, l := range header(s, i) {
			fmt.Fprintf(&b, "\n# %s\n%s\n", groupOf(s).doc, l.text)
		}
		text := strings.TrimSpace(standard.lines(s)[0].text)
		if s.key == "version" {
			fmt.Fprintln(&b, text)
			continue
		}
		fmt.Fprintf(&b, "%s# %s\n%s#%s\n", indent, s.doc, indent, text)
	}
	return b.String()
}

const templateHead = `# The run file of trainyard. Every setting is optional and shown with its
# default: take the # away to change one. A flag wins over the environment and
# the environment over this file; "trainyard config" shows the result.
`

func groupOf(s *setting) group {
	i := slices.IndexFunc(groups, func(g group) bool { return g.name == section(s.key) })
	return groups[i]
}
