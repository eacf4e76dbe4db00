package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trainyard/trainyard/internal/capacity"
)

// sweep cancels what dead probes of this user have left, and says so, and where
// it could not look.
func (s *searching) sweep(ctx context.Context, found capacity.Found) (swept []string, err error) {
	dead := found.DeadProbes(s.me, time.Now())
	problems := s.sweepAll(ctx, dead)
	for i, v := range dead {
		if problems[i] != nil {
			continue
		}
		swept = append(swept, v.ID)
		s.Story.Warn(fmt.Sprintf("cancelled capacity reservation %s, %d of %s in %s, which a probe of yours that was killed had left",
			v.ID, v.Total, v.Type, v.Zone))
	}
	for _, line := range sayUnseen(found.Unseen()) {
		s.Story.Note("not looked at for what earlier probes may have left, which ends by itself: " + line)
	}
	for _, v := range found.Kept(s.me.Owner, time.Now()) {
		if !found.Asked(v.Region) {
			s.Story.Note(sayKept(v))
		}
	}
	return swept, errors.Join(problems...)
}

// sweepAll cancels reservations at once, within the deadline of a region, and returns
// an error, or nil, for each.
func (s *searching) sweepAll(ctx context.Context, dead []capacity.Reservation) []error {
	ctx, cancel := context.WithTimeout(ctx, s.req.Deadline)
	defer cancel()
	problems := make([]error, len(dead))
	var all sync.WaitGroup
	for i, v := range dead {
		all.Go(func() { problems[i] = capacity.Sweep(ctx, s.session, v) })
	}
	all.Wait()
	return problems
}

// sayUnseen names the regions of each reason in a line.
func sayUnseen(all []capacity.Unseen) []string {
	var reasons []string
	regions := map[string][]string{}
	for _, u := range all {
		if regions[u.Why] == nil {
			reasons = append(reasons, u.Why)
		}
		regions[u.Why] = append(regions[u.Why], u.Region)
	}
	for i, why := range reasons {
		reasons[i] = fmt.Sprintf("%s (%s)", strings.Join(regions[why], ", "), why)
	}
	return reasons
}

// kept are the reservations that this user keeps and into which the job fits.
func (s *searching) kept(found capacity.Found) []capacity.Reservation {
	return slices.DeleteFunc(found.Kept(s.me.Owner, time.Now()), func(v capacity.Reservation) bool { return !v.Holds(s.need) })
}

// sayKept says of a kept reservation where it is and until when.
func sayKept(v capacity.Reservation) string {
	return fmt.Sprintf("capacity reservation %s, %d of %s in %s, is kept already, until %s", v.ID, v.Total, v.Type, v.Zone, v.End.UTC().Format("15:04 UTC"))
}

// withKept puts into the rows what this user keeps for launches.
func withKept(found capacity.Found, owner string, need capacity.Need) []capacity.Row {
	rows := found.Rows()
	for _, v := range found.Kept(owner, time.Now()) {
		for i := range rows {
			if rows[i].Zone == v.Zone && rows[i].Type == v.Type && v.Holds(need) {
				rows[i].Stock = &capacity.Finding{Outcome: capacity.Proven, At: time.Now().UTC(), Reservation: v.ID, Until: v.End}
			}
		}
	}
	return rows
}
