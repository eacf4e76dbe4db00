package policy

import (
	"strconv"
	"strings"
)

// operators say whether a value of the request satisfies one of the policy.
// Negations are made of them in hold.
var operators = map[string]func(value, want string) bool{
	"StringEquals":              func(v, w string) bool { return v == w },
	"StringEqualsIgnoreCase":    strings.EqualFold,
	"StringLike":                func(v, w string) bool { return Match(w, v) },
	"ArnEquals":                 func(v, w string) bool { return Match(w, v) },
	"ArnLike":                   func(v, w string) bool { return Match(w, v) },
	"Bool":                      strings.EqualFold,
	"NumericEquals":             numeric(func(v, w float64) bool { return v == w }),
	"NumericLessThan":           numeric(func(v, w float64) bool { return v < w }),
	"NumericLessThanEquals":     numeric(func(v, w float64) bool { return v <= w }),
	"NumericGreaterThan":        numeric(func(v, w float64) bool { return v > w }),
	"NumericGreaterThanEquals":  numeric(func(v, w float64) bool { return v >= w }),
	"Null":                      nil, // see hold
	"StringNotEquals":           nil,
	"StringNotLike":             nil,
	"StringNotEqualsIgnoreCase": nil,
	"ArnNotEquals":              nil,
	"ArnNotLike":                nil,
	"NumericNotEquals":          nil,
}

func numeric(compare func(v, w float64) bool) func(value, want string) bool {
	return func(value, want string) bool {
		v, err := strconv.ParseFloat(value, 64)
		w, err2 := strconv.ParseFloat(want, 64)
		return err == nil && err2 == nil && compare(v, w)
	}
}

// bareOperator is the operator without "ForAllValues:", "ForAnyValue:" and
// "IfExists".
func bareOperator(name string) string {
	if _, operator, found := strings.Cut(name, ":"); found {
		name = operator
	}
	return strings.TrimSuffix(name, "IfExists")
}

func (c Condition) hold(context map[string][]string) bool {
	for operator, keys := range c {
		for key, wanted := range keys {
			if !holds(operator, lookup(context, key), wanted) {
				return false
			}
		}
	}
	return true
}

// lookup finds a condition key, whose prefix is written in any case; the key
// of a tag, behind the slash, is not.
func lookup(context map[string][]string, key string) []string {
	for name, values := range context {
		prefix, tag, _ := strings.Cut(name, "/")
		wantPrefix, wantTag, _ := strings.Cut(key, "/")
		if strings.EqualFold(prefix, wantPrefix) && tag == wantTag {
			return values
		}
	}
	return nil
}

func holds(operator string, values, wanted []string) bool {
	name := bareOperator(operator)
	switch {
	case name == "Null":
		return len(wanted) == 1 && (wanted[0] == "true") == (len(values) == 0)
	case len(values) == 0 && (strings.HasSuffix(operator, "IfExists") || strings.HasPrefix(operator, "ForAllValues:")):
		return true
	}
	positive := strings.Replace(name, "Not", "", 1)
	is := operators[positive]
	one := func(value string) bool {
		for _, want := range wanted {
			if is(value, want) {
				return positive == name
			}
		}
		return positive != name
	}
	if len(values) == 0 {
		return positive != name // a negation holds of a key that is not there
	}
	for _, value := range values {
		if one(value) != strings.HasPrefix(operator, "ForAllValues:") {
			return !strings.HasPrefix(operator, "ForAllValues:")
		}
	}
	return strings.HasPrefix(operator, "ForAllValues:")
}
