package ec2

import (
	"regexp"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/test/awssim/policy"
	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// filter is one condition of a describe call; any of its values will do, in
// which * and ? stand for other text.
type filter struct {
	Name   string
	Values []string `aws:"Value"`
}

// keys are the filters that a kind of object knows, with the values it has.
type keys[T any] map[string]func(T) []string

// one makes a filter of a function with one value.
func one[T any](value func(T) string) func(T) []string {
	return func(t T) []string { return []string{value(t)} }
}

// apply keeps what satisfies all filters.
func apply[T any](list []T, filters []filter, known keys[T]) ([]T, error) {
	var kept []T
	for _, f := range filters {
		if known[f.Name] == nil && !isTagFilter(f.Name) {
			return nil, wire.Errorf("InvalidParameterValue", "The filter '%s' is invalid", f.Name)
		}
		if len(f.Values) == 0 {
			return nil, wire.Errorf("InvalidParameterValue", "The filter '%s' has no values", f.Name)
		}
	}
	for _, item := range list {
		if !slices.ContainsFunc(filters, func(f filter) bool { return !satisfies(item, f, known) }) {
			kept = append(kept, item)
		}
	}
	return kept, nil
}

func satisfies[T any](item T, f filter, known keys[T]) bool {
	var have []string
	if value := known[f.Name]; value != nil {
		have = value(item)
	} else if o, ok := any(item).(object); ok {
		have = tagValues(o.common().Tags, f.Name)
	}
	for _, want := range f.Values {
		if slices.ContainsFunc(have, func(v string) bool { return policy.Match(want, v) }) {
			return true
		}
	}
	return false
}

func isTagFilter(name string) bool { return name == "tag-key" || strings.HasPrefix(name, "tag:") }

// tagValues is what tags have to say to a filter "tag:Name" or "tag-key".
func tagValues(tags []Tag, name string) []string {
	var have []string
	for _, t := range tags {
		switch name {
		case "tag-key":
			have = append(have, t.Key)
		case "tag:" + t.Key:
			have = append(have, t.Value)
		}
	}
	return have
}

// kind is how AWS speaks of a kind of objects in errors.
type kind struct {
	resource string // "vpc", as in ARNs and tag specifications
	name     string // "vpc ID"
	missing  string // "InvalidVpcID.NotFound"
	pages    pages
	ids      *regexp.Regexp // what an id looks like; nil: all that is not one does not exist
}

// pages is how many objects may be asked for at once.
type pages struct{ least, most int }

// manyPages are those of most calls.
var manyPages = pages{5, 1000}

func (k kind) notFound(id string) error {
	if k.ids != nil && !k.ids.MatchString(id) {
		malformed := strings.TrimSuffix(k.missing, "NotFound") + "Malformed"
		return wire.Errorf(malformed, "The %s '%s' is malformed", k.name, id)
	}
	return wire.Errorf(k.missing, "The %s '%s' does not exist", k.name, id)
}

// find is the object with this id, if the caller can see it yet.
func find[T object](c *world.Call, k kind, list []T, id string) (T, error) {
	for _, o := range list {
		if m := o.common(); m.id == id && c.Visible(m.made) {
			return o, nil
		}
	}
	var none T
	return none, k.notFound(id)
}

// listing is what describe calls ask for.
type listing struct {
	world.Paging
	Filters []filter `aws:"Filter"`
}

// describe is the part of the list that is asked for: by ids, all of which must
// exist, by filters and by page.
func describe[T object](c *world.Call, k kind, list []T, ids []string, in listing, known keys[T]) ([]T, string, error) {
	chosen := slices.DeleteFunc(slices.Clone(list), func(o T) bool { return !c.Visible(o.common().made) })
	if len(ids) > 0 {
		if in.MaxResults > 0 {
			return nil, "", wire.Errorf("InvalidParameterCombination", "The parameter %ss cannot be used with the parameter maxResults", k.resource)
		}
		chosen = nil
		for _, id := range ids {
			o, err := find(c, k, list, id)
			if err != nil {
				return nil, "", err
			}
			chosen = append(chosen, o)
		}
	}
	return narrow(c, k.pages, chosen, in, known)
}

// narrow is the part of a list that filters and page ask for.
func narrow[T any](c *world.Call, p pages, list []T, in listing, known keys[T]) ([]T, string, error) {
	if err := p.check(in.MaxResults); err != nil {
		return nil, "", err
	}
	kept, err := apply(list, in.Filters, known)
	if err != nil {
		return nil, "", err
	}
	return world.Page(c, in.Paging, p.most, kept)
}

func (p pages) check(asked int) error {
	if asked == 0 || asked >= p.least && asked <= p.most {
		return nil
	}
	return wire.Errorf("InvalidParameterValue", "Value ( %d ) for parameter maxResults is invalid. Expecting a value from %d to %d.", asked, p.least, p.most)
}
