package config

import (
	"fmt"
	"slices"
	"strings"
)

// Load merges the sources and checks the result. Its error joins every
// [Problem] that it found, in the order of the file and then of the command
// line, and carries the exit code of wrong use; the Config is nil then. A file
// that is no YAML at all is reported alone.
func Load(src Sources) (*Config, error) {
	doc := readFile(src.FileName, src.File)
	r := &resolver{Sources: src, document: doc, cfg: &Config{origins: map[string]Origin{}}}
	if !r.broken && r.version() {
		r.merge()
	}
	if err := r.problems.err(); err != nil {
		return nil, err
	}
	return r.cfg, nil
}

// resolver fills a Config from its sources.
type resolver struct {
	Sources
	document
	cfg *Config
}

// version reports whether the file is for this trainyard. Of another version
// nothing else is reported: its keys mean something else.
func (r *resolver) version() bool {
	given, ok := r.values["version"]
	switch {
	case r.File == nil || given.wrong:
		return true
	case !ok:
		r.problems.add(Origin{Kind: FromFile, Name: r.FileName, Line: 1, Column: 1},
			"version is missing, must be \"version: %d\"", Version)
		return true
	}
	var version int
	if assign(&version, given.items[0].text); version == Version {
		return true
	}
	r.problems = problems{}
	r.problems.addHint("the file may be for another trainyard: see `trainyard version`", given.origin,
		"version is %d, must be %d", version, Version)
	return false
}

func (r *resolver) merge() {
	for i := range settings {
		s := &settings[i]
		switch p := s.field(r.cfg).(type) {
		case *[]string:
			*p = r.list(s)
		case *[]JSON:
			*p = r.objects(s)
		case *map[string]string:
			*p = r.table(s)
		default:
			r.scalar(s, p)
		}
	}
	r.check()
}

// pick is the order of precedence.
func (r *resolver) pick(s *setting) item {
	if given := flagItems(r.Flags, s.flag); len(given) > 0 {
		return given[len(given)-1]
	}
	if text := r.lookup(s.env()); text != "" {
		return item{text: text, origin: Origin{Kind: FromEnv, Name: s.env()}}
	}
	if text := r.lookup(s.plain); text != "" && !r.ignoresPlain(s) {
		return item{text: text, origin: Origin{Kind: FromPlainEnv, Name: s.plain}}
	}
	if value, ok := r.values[s.key]; ok && !value.wrong {
		return value.items[0]
	}
	if s.key == "target" && r.Target != "" {
		return item{text: r.Target}
	}
	return item{text: s.standard}
}

// lookup returns a variable. An empty one counts as unset, as it does in the
// reference example.
func (r *resolver) lookup(name string) string {
	if r.Env == nil || name == "" {
		return ""
	}
	text, _ := r.Env(name)
	return text
}

// ignoresPlain reports whether a plain name would only set something that
// nothing reads: with a command, a variable called STEPS is the command's, and
// on this machine one called NAMESPACE is somebody else's. The target comes
// before all settings that ask.
func (r *resolver) ignoresPlain(s *setting) bool {
	return section(s.key) == "train" && r.hasCommand() ||
		s.remote && r.cfg.Target == TargetLocal && !r.Remote
}

func (r *resolver) hasCommand() bool {
	return len(r.Command) > 0 || len(r.values["job.command"].items) > 0
}

func (r *resolver) scalar(s *setting, p any) {
	it := r.pick(s)
	r.cfg.origins[s.key] = it.origin
	switch {
	case !assign(p, it.text):
		r.wrong(s, it.origin, s.key, show(it.text))
	case !s.rule.allows(p):
		shown := format(p)
		if _, isString := p.(*string); isString {
			shown = show(shown)
		}
		r.wrong(s, it.origin, s.key, shown)
	}
}

// wrong reports a value that the rule of its setting does not allow.
func (r *resolver) wrong(s *setting, at Origin, key, shown string) {
	hint := ""
	if at.Kind == FromPlainEnv {
		hint = fmt.Sprintf("unset %s if it is there for something else", s.plain)
		if s.flag != "" {
			hint += ", or give --" + s.flag
		}
	}
	r.problems.addHint(hint, at, "%s is %s, must be %s", key, shown, s.rule.wants)
}

// list merges a list: what follows "--" replaces the file's command, all else
// is added to the file's.
func (r *resolver) list(s *setting) []string {
	origin := r.values[s.key].origin
	items := slices.Concat(r.values[s.key].items, flagItems(r.Flags, s.flag))
	if s.whole && len(r.Command) > 0 {
		origin = Origin{Kind: FromCommandLine}
		items = commandItems(r.Command)
	}
	r.cfg.origins[s.key] = origin
	var list []string
	for i, it := range items {
		key := elementKey(s.key, i)
		list = append(list, it.text)
		r.cfg.origins[key] = it.origin
		if !s.rule.allows(&it.text) {
			r.wrong(s, it.origin, key, show(it.text))
		}
	}
	return list
}

func commandItems(command []string) []item {
	var items []item
	for _, text := range command {
		items = append(items, item{text: text, origin: Origin{Kind: FromCommandLine}})
	}
	return items
}

// table merges a map: a flag wins over the file for each name by itself.
func (r *resolver) table(s *setting) map[string]string {
	r.cfg.origins[s.key] = r.values[s.key].origin
	table := map[string]string{}
	for _, it := range slices.Concat(r.values[s.key].items, r.assignments(s)) {
		table[it.name] = it.text
		key := s.key + "." + it.name
		r.cfg.origins[key] = it.origin
		if !s.rule.allows(&it.name) {
			r.problems.add(it.origin, "%s has the name %s, must be %s", s.key, show(it.name), s.rule.wants)
		}
		switch {
		case !isText(it.text):
			r.problems.add(it.origin, "%s is %s, must be text", key, show(it.text))
		case !s.rule.value.MatchString(it.text):
			r.problems.add(it.origin, "%s is %s, must be %s", key, show(it.text), s.rule.valueWants)
		}
	}
	return table
}

// assignments splits flags of the form NAME=VALUE.
func (r *resolver) assignments(s *setting) []item {
	var items []item
	for _, it := range flagItems(r.Flags, s.flag) {
		name, text, ok := strings.Cut(it.text, "=")
		if !ok {
			r.problems.add(it.origin, "%s gets %s, must be NAME=VALUE", s.key, show(it.text))
			continue
		}
		items = append(items, item{name: name, text: text, origin: it.origin})
	}
	return items
}

// maxLocalNodes is more than any machine has a use for: each is a Ray node of
// several processes.
const maxLocalNodes = 64

const trainOnly = "train settings are for the built-in training; " +
	"a command takes its own arguments after --"

// check reports what only shows between settings.
func (r *resolver) check() {
	if n := r.cfg.Cluster.Nodes; r.cfg.Target == TargetLocal && !r.Remote && n > maxLocalNodes && n <= MaxNodes {
		r.problems.add(r.cfg.Origin("cluster.nodes"), "cluster.nodes is %d, must be at most %d on this machine", n, maxLocalNodes)
	}
	command := r.cfg.Job.Command
	if len(command) == 0 {
		return
	}
	origin := r.cfg.Origin("job.command")
	if command[0] == "" {
		r.problems.add(origin, "job.command[0] is \"\", must be a program")
	}
	for i := range settings {
		s := &settings[i]
		if given := flagItems(r.Flags, s.flag); section(s.key) == "train" && len(given) > 0 {
			r.problems.addHint(trainOnly, given[0].origin, "%s does nothing with a command (%s)", s.key, origin)
		}
	}
}
