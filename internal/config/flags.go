package config

import (
	"iter"
	"slices"

	"github.com/spf13/pflag"
)

// groupAnnotation marks a flag with the title of its group.
const groupAnnotation = "trainyard_group"

// AddFlags adds the flags of the named keys of the run file to fs: of a section,
// such as "cluster", or of one setting, such as "kubernetes.context"; all flags if
// none is named. Values are kept as text and checked by [Load], which reports
// every wrong one at once.
func AddFlags(fs *pflag.FlagSet, keys ...string) {
	for _, g := range groups {
		for i := range settings {
			s := &settings[i]
			named := len(keys) == 0 || slices.Contains(keys, g.name) || slices.Contains(keys, s.key)
			if named && section(s.key) == g.name && s.flag != "" {
				addFlag(fs, s, g.title)
			}
		}
	}
}

func addFlag(fs *pflag.FlagSet, s *setting, title string) {
	_, isBool := s.field(new(Config)).(*bool)
	f := fs.VarPF(&flagText{arg: s.arg, isBool: isBool}, s.flag, s.short, s.doc)
	f.Annotations = map[string][]string{groupAnnotation: {title}}
	if s.standard != "0s" {
		f.DefValue = s.standard
	}
	if isBool {
		f.NoOptDefVal = "true"
	}
}

// FlagGroups yields the flags of fs in groups with their titles, for a help
// text; flags that AddFlags did not add come last, with an empty title.
func FlagGroups(fs *pflag.FlagSet) iter.Seq2[string, *pflag.FlagSet] {
	return func(yield func(string, *pflag.FlagSet) bool) {
		for _, g := range append(slices.Clone(groups), group{}) {
			part := pflag.NewFlagSet(g.name, pflag.ContinueOnError)
			part.SortFlags = false
			fs.VisitAll(func(f *pflag.Flag) {
				if title := f.Annotations[groupAnnotation]; slices.Equal(title, nonZero(g.title)) {
					part.AddFlag(f)
				}
			})
			if part.HasFlags() && !yield(g.title, part) {
				return
			}
		}
	}
}

func nonZero(title string) []string {
	if title == "" {
		return nil
	}
	return []string{title}
}

// flagText keeps what the command line gave to a flag, each time it was there.
type flagText struct {
	arg    string
	isBool bool
	given  []string
}

// Set keeps one value.
func (f *flagText) Set(text string) error {
	f.given = append(f.given, text)
	return nil
}

// String returns the value that counts.
func (f *flagText) String() string {
	if len(f.given) == 0 {
		return ""
	}
	return f.given[len(f.given)-1]
}

// Type names the value in a help text; pflag shows no name for a bool.
func (f *flagText) Type() string {
	if f.isBool {
		return "bool"
	}
	return f.arg
}

// flagItems returns what the command line gave to one of our flags.
func flagItems(fs *pflag.FlagSet, name string) []item {
	if fs == nil || name == "" {
		return nil
	}
	f := fs.Lookup(name)
	if f == nil {
		return nil
	}
	ours, ok := f.Value.(*flagText)
	if !ok {
		return nil
	}
	var items []item
	for _, text := range ours.given {
		items = append(items, item{text: text, origin: Origin{Kind: FromFlag, Name: "--" + name}})
	}
	return items
}
