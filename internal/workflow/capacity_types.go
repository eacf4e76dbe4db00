package workflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trainyard/trainyard/internal/awsapi"
	"github.com/trainyard/trainyard/internal/capacity"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/instancetype"
)

// TypesRequest says which instance types to list.
type TypesRequest struct {
	GPU     string // model; "": any
	EFA     bool   // only those with EFA
	Offline bool   // do not ask AWS
	Region  string // to ask
	Profile string // of AWS's configuration

	Deadline time.Duration // for AWS to say which types there are, and what they cost
}

// TypePrice is an instance type with its On-Demand price.
type TypePrice struct {
	instancetype.Type
	USDPerHour *float64 `json:"usdPerHour,omitempty"` // nil: not known
}

// Types lists instance types with GPUs: those that AWS names, or those of the
// table that is built in, where AWS cannot be asked.
func (w Workspace) Types(ctx context.Context, req TypesRequest) (types []TypePrice, err error) {
	defer w.failedStep(&err)
	w.Story.Begin("types")
	all, err := w.typesOfAWS(ctx, req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if awsapi.KindOf(err) == awsapi.NoProfile || fault.CodeOf(err) == fault.Usage {
			return nil, err
		}
		w.Story.Done("of the table that is built in, without prices: " + oneLine(err))
		all = nil
		for _, t := range instancetype.All() {
			all = append(all, TypePrice{Type: t})
		}
	}
	models := map[string]bool{}
	chosen := slices.DeleteFunc(slices.Clone(all), func(t TypePrice) bool {
		models[t.GPU] = true
		return req.EFA && t.EFA == 0 || req.GPU != "" && !strings.EqualFold(t.GPU, req.GPU)
	})
	if len(chosen) == 0 && req.GPU != "" {
		return nil, fault.WithCode(fault.Usage, fmt.Errorf("no instance type has GPU %q; there are %s", req.GPU, strings.Join(sortedKeys(models), ", ")))
	}
	return chosen, nil
}

func (w Workspace) typesOfAWS(ctx context.Context, req TypesRequest) ([]TypePrice, error) {
	if req.Offline {
		return nil, errors.New("as --offline says")
	}
	if err := awsapi.CheckRegions(req.Region); err != nil {
		return nil, err
	}
	session, err := awsapi.Load(ctx, awsapi.Options{Profile: req.Profile, Agent: "trainyard"})
	if err != nil {
		return nil, err
	}
	region := cmp.Or(req.Region, session.Region, session.Home())
	if err := awsapi.CheckRegions(region); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, req.Deadline)
	defer cancel()
	type priced struct {
		prices capacity.Prices
		err    error
	}
	asked := make(chan priced, 1)
	go func() {
		prices, err := capacity.PricesIn(ctx, session, region)
		asked <- priced{prices, err}
	}()
	found, err := capacity.GPUTypes(ctx, session.EC2(session.Home(region)))
	if awsapi.KindOf(err) == awsapi.Late {
		return nil, fmt.Errorf("no answer of AWS's in %s within %s", session.Home(region), req.Deadline)
	}
	if err != nil {
		return nil, err
	}
	answer := <-asked
	if answer.err != nil {
		w.Story.Warn("without prices: " + awsapi.Brief(answer.err))
	}
	all := make([]TypePrice, len(found))
	for i, t := range found {
		all[i].Type = t
		if usd, ok := answer.prices.Of(t.Name, region); ok {
			all[i].USDPerHour = &usd
		}
	}
	w.Story.Done(fmt.Sprintf("%s as AWS describes them; prices of %s", plural(len(all), "type"), region))
	return all, nil
}

func sortedKeys(set map[string]bool) []string {
	var names []string
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
