package raycluster

import (
	"cmp"
	"strings"
)

// DefaultName is the name of a user's cluster who gave it none, so that two
// people in one namespace do not meet: "trainyard-" and the user's name, as far
// as names of Kubernetes have its letters.
func DefaultName(user string) string {
	return clip("trainyard-"+strings.ReplaceAll(OwnerName(user), ".", "-"), maxName)
}

// OwnerName is a user's name as the value of OwnerLabel.
func OwnerName(user string) string {
	if i := strings.LastIndexByte(user, '\\'); i >= 0 {
		user = user[i+1:] // a Windows domain
	}
	safe := strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '.', c == '-':
			return c
		default:
			return '-'
		}
	}, strings.ToLower(user))
	return cmp.Or(clip(strings.Trim(safe, "-."), maxName), "unknown")
}

func clip(name string, most int) string {
	return strings.TrimRight(name[:min(len(name), most)], "-.")
}
