package awsapi

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/spelling"
)

// Home is the region in which to ask what is the same in all: the first of those
// that were named, or the session's own, that every account of the partition has.
func (s *Session) Home(named ...string) string {
	everyones := partitionOf(cmp.Or(append([]string{s.Region}, named...)...)).regions
	for _, name := range append(slices.Clone(named), s.Region) {
		if slices.Contains(everyones, name) {
			return name
		}
	}
	return everyones[0]
}

// regionName is what AWS's names of regions are like, so that one that is newer
// than our list is taken for a name.
var regionName = regexp.MustCompile(`^(af|ap|ca|cn|eu|eusc|il|me|mx|sa|us)(-[a-z]{2,4})?-(central|(north|south)?(east|west)|north|south)-[1-9]$`)

// CheckRegions refuses, all at once, what cannot be the name of a region. "" is
// no name, and fine.
func CheckRegions(names ...string) error {
	var known, wrong []string
	for _, p := range partitions {
		known = append(known, slices.Concat(p.regions, p.more)...)
	}
	for _, name := range names {
		if name != "" && !slices.Contains(known, name) && !regionName.MatchString(name) {
			wrong = append(wrong, name)
		}
	}
	return UnknownRegions(wrong, known)
}

// UnknownRegions refuses names of regions that are none of those known, and says
// which were probably meant; nil where there are none.
func UnknownRegions(names, known []string) error {
	var problems []error
	for _, name := range names {
		text := fmt.Sprintf("unknown region %q", name)
		if near := spelling.Nearest(strings.ToLower(name), known); near != "" {
			text += fmt.Sprintf(" (did you mean %s?)", near)
		}
		problems = append(problems, errors.New(text))
	}
	return fault.WithCode(fault.Usage, fault.WithHint("aws ec2 describe-regions lists the regions of your account", errors.Join(problems...)))
}
