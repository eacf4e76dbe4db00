package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/trainyard/trainyard/internal/fault"
)

// OriginKind is the kind of source that a value came from.
type OriginKind int

// The sources, weakest first.
const (
	FromDefault OriginKind = iota
	FromFile
	FromPlainEnv // the reference's own name, such as STEPS
	FromEnv      // TRAINYARD_X
	FromFlag
	FromCommandLine // what follows "--"
)

// Origin is where a value came from. The zero Origin is a default.
type Origin struct {
	Kind         OriginKind
	Name         string // file, variable, or flag with its dashes
	Line, Column int    // in a file, from 1; 0 where unknown
}

// String says where for a person: "flag --steps", "environment STEPS",
// "trainyard.yaml:12", "default".
func (o Origin) String() string {
	switch o.Kind {
	case FromFile:
		if o.Line == 0 {
			return o.Name
		}
		return fmt.Sprintf("%s:%d", o.Name, o.Line)
	case FromPlainEnv, FromEnv:
		return "environment " + o.Name
	case FromFlag:
		return "flag " + o.Name
	case FromCommandLine:
		return "command line"
	default:
		return "default"
	}
}

// position is String with the column that an editor can jump to.
func (o Origin) position() string {
	if o.Kind == FromFile && o.Column > 0 {
		return fmt.Sprintf("%s:%d", o, o.Column)
	}
	return o.String()
}

// before orders problems: the file's by position, then the environment's,
// then the command line's.
func (o Origin) before(p Origin) int {
	return cmp.Or(cmp.Compare(o.Kind, p.Kind), cmp.Compare(o.Line, p.Line), cmp.Compare(o.Column, p.Column))
}

// Problem is one fault in a configuration, with the place to mend.
type Problem struct {
	Origin  Origin
	Message string
}

// Error gives the place and the fault: "trainyard.yaml:12:10: train.steps is
// 0, must be an integer >= 1".
func (p *Problem) Error() string { return p.Origin.position() + ": " + p.Message }

// maxProblems is how many problems are shown: a file of another kind has one
// in every line.
const maxProblems = 20

// problems gathers faults, so that all are reported at once.
type problems struct{ all []found }

type found struct {
	*Problem
	hint string
}

func (ps *problems) add(at Origin, format string, args ...any) {
	ps.addHint("", at, format, args...)
}

func (ps *problems) addHint(hint string, at Origin, format string, args ...any) {
	ps.all = append(ps.all, found{&Problem{at, fmt.Sprintf(format, args...)}, hint})
}

// err joins the problems in the order of their places; nil where there are
// none. The exit code is that of a wrong use.
func (ps *problems) err() error {
	slices.SortStableFunc(ps.all, func(a, b found) int { return a.Origin.before(b.Origin) })
	var errs []error
	for _, p := range ps.all[:min(len(ps.all), maxProblems)] {
		errs = append(errs, hinted(p))
	}
	if more := len(ps.all) - maxProblems; more > 0 {
		errs = append(errs, fmt.Errorf("%d more problems", more))
	}
	return fault.WithCode(fault.Usage, errors.Join(errs...))
}

func hinted(p found) error {
	if p.hint == "" {
		return p.Problem
	}
	return fault.WithHint(p.hint, p.Problem)
}
