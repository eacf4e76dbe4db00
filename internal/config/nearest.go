package config

import (
	"strings"

	"github.com/trainyard/trainyard/internal/spelling"
)

// find returns the setting with this key, or nil.
func find(key string) *setting {
	for i := range settings {
		if settings[i].key == key {
			return &settings[i]
		}
	}
	return nil
}

func isSection(name string) bool {
	return len(keysOf(name)) > 0 && name != ""
}

// keysOf lists the keys of a section, or the top-level keys for "".
func keysOf(name string) []string {
	var keys []string
	for _, s := range settings {
		first, rest, nested := strings.Cut(s.key, ".")
		switch {
		case name == "" && (len(keys) == 0 || keys[len(keys)-1] != first):
			keys = append(keys, first)
		case nested && first == name:
			keys = append(keys, rest)
		}
	}
	return keys
}

// nearest returns the key that the writer of an unknown key most likely
// meant, or "". A key's flag and its name in the reference example count as
// its names too, so that "workers-per-node" and "MODEL_ID" find theirs. Of two
// names that are equally near, the one in the same section wins.
func nearest(path string) string {
	parent, name := "", path
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		parent, name = path[:i], path[i+1:]
	}
	if name == "" || len(name) > 40 {
		return "" // no slip of the finger
	}
	best, match := 2*(len(name)/3+1), ""
	consider := func(key, as string, sameSection bool) {
		d := 2 * spelling.Distance(plainForm(name), plainForm(as))
		if !sameSection {
			d++
		}
		if d < best {
			best, match = d, key
		}
	}
	if parent == "" {
		for _, key := range keysOf("") {
			consider(key, key, true)
		}
	}
	for _, s := range settings {
		first, last, nested := strings.Cut(s.key, ".")
		if !nested {
			continue
		}
		for _, as := range []string{last, s.flag, s.plain, s.key} {
			consider(s.key, as, first == parent)
		}
	}
	return match
}

// plainForm drops what differs between the notations of one name.
func plainForm(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", ".", "").Replace(name))
}
