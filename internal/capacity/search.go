package capacity

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/trainyard/trainyard/internal/awsapi"
)

// Search looks for capacity.
type Search struct {
	Session  *awsapi.Session
	Need     Need
	Regions  []string // empty: all that the account has
	Me       Me
	Scores   *ScoreCache
	Deadline time.Duration // for each region
	Now      func() time.Time
}

// Found is what a search has found.
type Found struct {
	Identity awsapi.Identity
	Regions  []Region // those that were asked for
	// Others are regions that were only looked at for reservations that dead
	// commands left.
	Others []Region
	// Guessed says why the regions are those that every account has: the account's
	// own could not be listed.
	Guessed string
	// NoCluster says that the cluster is in none of the regions, and which was
	// probably meant.
	NoCluster string
	// Unsaved is why Spot placement scores could not be remembered, which AWS may
	// not answer so often.
	Unsaved error
}

// Rows are those of all regions.
func (f Found) Rows() []Row {
	var all []Row
	for _, r := range f.Regions {
		all = append(all, r.Rows...)
	}
	return all
}

// othersDeadline is for regions that nobody asked for.
const othersDeadline = 5 * time.Second

// All asks all regions at once, and hands over each as soon as it has answered.
// What fails in a region is said in its rows; the error is about what concerns
// all: credentials, the name of a region, or that none could be reached.
func (s Search) All(ctx context.Context, have func(Region)) (Found, error) {
	if err := awsapi.CheckRegions(append(slices.Clone(s.Regions), s.Session.Region)...); err != nil {
		return Found{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	home := s.Session.Home(s.Regions...)
	identity := later(func() (awsapi.Identity, error) { return within(ctx, s.Deadline, s.identity(home)) })
	known := later(func() (knownRegions, error) { return within(ctx, s.Deadline, s.regions(home)) })
	prices := later(func() (Prices, error) { return within(ctx, s.Deadline, s.prices(home)) })

	who, regions := await(identity), answer[knownRegions]{}
	if !isAboutAll(who.err) {
		regions = await(known)
	}
	switch {
	case ctx.Err() != nil:
		return Found{}, ctx.Err()
	case isAboutAll(who.err):
		return Found{}, who.err
	case isAboutAll(regions.err):
		return Found{}, awsapi.Explain(regions.err)
	}
	found := Found{Identity: who.value}
	if regions.err != nil {
		found.Guessed = awsapi.Brief(regions.err)
		regions.value = guessedRegions(home, s.Regions)
	}
	if err := regions.value.check(home, append(slices.Clone(s.Regions), s.Session.Region)); err != nil {
		return Found{}, err
	}
	found.Regions, found.Others = s.askAll(ctx, regions.value, who.value, prices, have)
	switch {
	case ctx.Err() != nil:
		return Found{}, ctx.Err()
	case awsapi.KindOf(who.err) == awsapi.Unreachable && !slices.ContainsFunc(found.Regions, Region.answered):
		return Found{}, who.err
	}
	found.NoCluster = s.missingCluster(ctx, found.Regions)
	found.Unsaved = s.Scores.Save(s.Now())
	return found, nil
}

// within does something that is to take no longer.
func within[T any](ctx context.Context, deadline time.Duration, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	return do(ctx)
}

func (s Search) identity(home string) func(context.Context) (awsapi.Identity, error) {
	return func(ctx context.Context) (awsapi.Identity, error) { return s.Session.Identity(ctx, home) }
}

func (s Search) regions(home string) func(context.Context) (knownRegions, error) {
	return func(ctx context.Context) (knownRegions, error) { return listRegions(ctx, s.Session.EC2(home)) }
}

func (s Search) prices(home string) func(context.Context) (Prices, error) {
	return func(ctx context.Context) (Prices, error) { return pricesOf(ctx, s.Session, home, s.Need.Types) }
}

// isAboutAll tells whether an error would be the same in every region. One that
// cannot be reached says nothing of others.
func isAboutAll(err error) bool {
	return slices.Contains([]awsapi.Kind{
		awsapi.NoCredentials, awsapi.Expired, awsapi.Refused, awsapi.ClockSkew,
	}, awsapi.KindOf(err))
}

// askAll asks the regions that are looked for, and looks around in the others.
func (s Search) askAll(ctx context.Context, known knownRegions, who awsapi.Identity, prices func() (Prices, error), have func(Region)) (asked, others []Region) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for name, status := range known {
		all.Go(func() {
			wanted := len(s.Regions) == 0 || slices.Contains(s.Regions, name)
			var r Region
			switch {
			case wanted && status != "":
				r = s.skipped(name, status)
			case wanted:
				r = asking{
					clients: s.Session, need: s.Need, region: name, account: who.Account, me: s.Me,
					prices: prices, scores: s.Scores, now: s.Now, deadline: s.Deadline,
				}.ask(ctx)
			case status == "":
				r = s.lookAround(ctx, name)
			default:
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if !wanted {
				others = append(others, r)
				return
			}
			asked = append(asked, r)
			have(r)
		})
	}
	all.Wait()
	return asked, others
}

func (s Search) skipped(name, why string) Region {
	r := Region{Name: name}
	for _, t := range s.Need.Types {
		r.Rows = append(r.Rows, Row{Type: t.Name, Region: name, Skipped: why})
	}
	return r
}

// lookAround lists what trainyard has reserved in a region.
func (s Search) lookAround(ctx context.Context, name string) Region {
	ctx, cancel := context.WithTimeout(ctx, min(othersDeadline, s.Deadline))
	defer cancel()
	all, err := reservationsIn(ctx, s.Session.EC2(name), filter("tag:"+TagManagedBy, manager))
	return Region{Name: name, Reservations: all, Unseen: err}
}
