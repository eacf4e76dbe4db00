package workflow

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/trainyard/trainyard/internal/awsapi"
	"github.com/trainyard/trainyard/internal/capacity"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/instancetype"
)

// readNeed turns names of types into types. All that is wrong is said at once.
func (s *searching) readNeed(ctx context.Context) (capacity.Need, error) {
	need := capacity.Need{Nodes: s.req.Nodes, Spot: s.req.Spot, Cluster: s.req.Cluster, Block: s.req.Block, Profile: s.req.Profile}
	var problems []error
	for _, name := range s.req.Types {
		t, err := s.typeNamed(ctx, name)
		switch {
		case err != nil:
			problems = append(problems, err)
		case s.req.EFA && t.EFA == 0:
			problems = append(problems, noEFA(t))
		default:
			need.Types = append(need.Types, t)
		}
	}
	for _, t := range need.Types {
		if t.EFA == 0 && need.Nodes > 1 && t.GPUs > 0 {
			s.Story.Note(fmt.Sprintf("%s has no EFA: its nodes would talk over TCP", t.Name))
		}
	}
	return need, errors.Join(problems...)
}

// typeNamed looks a type up in the table, and asks AWS where it is newer, or
// has no GPU.
func (s *searching) typeNamed(ctx context.Context, name string) (instancetype.Type, error) {
	t, unknown := instancetype.Lookup(name)
	if unknown == nil {
		return t, nil
	}
	if strings.ContainsAny(name, "*?") { // which AWS takes for a pattern
		return t, unknown
	}
	ctx, cancel := context.WithTimeout(ctx, s.req.Deadline)
	defer cancel()
	all, err := capacity.Describe(ctx, s.session.EC2(s.session.Home(s.req.Regions...)), name)
	switch {
	case awsapi.KindOf(err) == awsapi.Late:
		return t, fault.WithHint("--deadline gives AWS more time", fmt.Errorf("asking AWS what %q is: no answer within %s", name, s.req.Deadline))
	case awsapi.KindOf(err) == awsapi.Denied:
		return t, fmt.Errorf("%w; whether AWS knows it could not be asked: %s", unknown, awsapi.Brief(err))
	case err != nil:
		return t, err
	case len(all) == 0:
		return t, unknown
	}
	return all[0], nil
}

// noEFA refuses a type, and names the smallest of its family that will do.
func noEFA(t instancetype.Type) error {
	err := fmt.Errorf("instance type %q has no EFA", t.Name)
	for _, other := range instancetype.All() { // by size
		if other.Family() == t.Family() && other.EFA > 0 {
			return fault.WithCode(fault.Usage, fault.WithHint("the smallest of its family with EFA is "+other.Name, err))
		}
	}
	return fault.WithCode(fault.Usage, fault.WithHint("trainyard types --efa lists those that have it", err))
}
