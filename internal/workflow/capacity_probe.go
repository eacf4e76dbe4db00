package workflow

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trainyard/trainyard/internal/capacity"
	"github.com/trainyard/trainyard/internal/ui"
)

// probePatience is how long AWS may assess a reservation.
const probePatience = time.Minute

// hiddenFor is how long AWS may not show what it has made. It names no limit;
// moments are what others saw.
const hiddenFor = 15 * time.Second

// probe proves stock in zones in their order, if the user agrees to the price,
// and ranks them again. Where the job fits into what is kept in a region that
// was asked for, nothing is left to prove.
func (s *searching) probe(ctx context.Context, ranked []capacity.Ranked, kept []capacity.Reservation) (again []capacity.Ranked, probed bool, err error) {
	rows := probeable(ranked)
	if here := slices.IndexFunc(kept, func(v capacity.Reservation) bool { return isAsked(ranked, v.Region) }); here >= 0 {
		s.Story.Note("not probed: " + sayKept(kept[here]))
		return ranked, false, nil
	}
	if len(rows) == 0 {
		s.Story.Note("no zone is worth a probe: the job would fit into none")
		return ranked, false, nil
	}
	p := capacity.Prober{
		Session: s.session, Me: s.me, Need: s.need, Reserve: s.req.Reserve, Keep: s.req.Keep, All: s.req.AllZones, AtOnce: s.req.AtOnce,
		Patience: probePatience, Hidden: hiddenFor, Now: time.Now, Hard: s.Hard,
	}
	if s.req.Keep {
		for _, v := range kept {
			s.Story.Warn(sayKept(v) + ", and is paid for, too; to give it back: " + capacity.CancelCommand(s.need.Profile, v.Region, v.ID))
		}
	}
	s.Story.Note(price(p, rows))
	if s.req.Agree != nil {
		agreed, err := s.req.Agree(ctx, question(p, rows, s.req.Keep && len(kept) > 0))
		if err != nil {
			return ranked, false, err
		}
		if !agreed {
			s.Story.Note("not probed")
			return ranked, false, nil
		}
	}
	s.Story.Begin("probe")
	s.Story.Update(rows[0].Zone)
	proven := 0
	err = p.Run(ctx, rows, func(row capacity.Row) {
		if row.Stock.Outcome == capacity.Proven {
			proven++
		}
		s.tellProbe(row)
		for i := range ranked {
			if ranked[i].Zone == row.Zone && ranked[i].Type == row.Type {
				ranked[i].Stock = row.Stock
			}
		}
	})
	s.Story.Done(fmt.Sprintf("%s with stock for %d", plural(proven, "zone"), s.need.Nodes))
	known := make([]capacity.Row, len(ranked))
	for i, r := range ranked {
		known[i] = r.Row
	}
	return capacity.Rank(known, s.need), true, err
}

// isAsked tells whether a region was asked for.
func isAsked(ranked []capacity.Ranked, region string) bool {
	return slices.ContainsFunc(ranked, func(r capacity.Ranked) bool { return r.Region == region })
}

// probeable are the rows of zones in which the job may fit.
func probeable(ranked []capacity.Ranked) []capacity.Row {
	var rows []capacity.Row
	for _, r := range ranked {
		if r.Fit != capacity.FitsNot && r.Zone != "" {
			rows = append(rows, r.Row)
		}
	}
	return rows
}

// question names what may be reserved: one of the types.
func question(p capacity.Prober, rows []capacity.Row, another bool) string {
	var types []string
	byType := map[string][]capacity.Row{}
	for _, r := range rows {
		if byType[r.Type] == nil {
			types = append(types, r.Type)
		}
		byType[r.Type] = append(byType[r.Type], r)
	}
	what := strings.Join(types, " or ")
	if len(types) > 1 {
		for i, name := range types {
			types[i] = fmt.Sprintf("%s (%s)", name, atMost(p.Bill(byType[name])))
		}
		what = strings.Join(types, ", or ")
	}
	if another {
		return fmt.Sprintf("reserve another %d %s?", p.Need.Nodes, what)
	}
	return fmt.Sprintf("reserve %d %s?", p.Need.Nodes, what)
}

func atMost(b capacity.Bill) string {
	if !b.Known {
		return "price not known"
	}
	return fmt.Sprintf("at most $%.2f", b.AtMost)
}

// price says what a probe costs, before it does.
func price(p capacity.Prober, rows []capacity.Row) string {
	b := p.Bill(rows)
	extent := "until one has stock"
	if p.All {
		extent = "all of them"
	}
	text := fmt.Sprintf("a probe reserves %s in up to %s, %s", plural(p.Need.Nodes, "instance"), plural(b.Zones, "zone"), extent)
	if b.Usual == 0 {
		return text + "; what that costs is not known, since no price is"
	}
	text += fmt.Sprintf("; a minute in each, together, costs $%.2f", b.Usual)
	switch {
	case p.Keep && b.Stay > 1:
		text += fmt.Sprintf("; the reservation that is kept, or %d should this machine die, go on for ", b.Stay)
	case p.Keep:
		text += "; the reservation that is kept goes on for "
	case b.Stay > 1:
		text += fmt.Sprintf("; should this machine die, %d reservations go on for ", b.Stay)
	default:
		text += "; should this machine die, the reservation goes on for "
	}
	text += fmt.Sprintf("%s, and AWS may take an hour more to end it: $%.2f in all at most", ui.Duration(p.Reserve), b.AtMost)
	if !b.Known {
		text += "; and more for zones whose price is not known"
	}
	return text
}

// tellProbe says what was found in a zone.
func (s *searching) tellProbe(row capacity.Row) {
	f := row.Stock
	switch {
	case f.Left != "":
		s.Story.Warn(fmt.Sprintf("%s: capacity reservation %s is still there: %s", row.Zone, f.Left, capacity.CancelCommand(s.need.Profile, row.Region, f.Left)))
	case f.Reservation != "":
		s.Story.Note(fmt.Sprintf("%s: stock proven; kept %s until %s", row.Zone, f.Reservation, f.Until.UTC().Format("15:04 UTC")))
	case f.Outcome == capacity.Proven && f.Why == "":
		s.Story.Note(row.Zone + ": stock proven, reservation cancelled")
	case slices.Contains([]capacity.Outcome{capacity.NoStock, capacity.NoQuota, capacity.NotHere, capacity.Proven}, f.Outcome):
		s.Story.Note(fmt.Sprintf("%s: %s: %s", row.Zone, f.Outcome, f.Why))
	case f.Cancelled:
		s.Story.Warn(fmt.Sprintf("%s: %s: %s; its reservation is cancelled", row.Zone, f.Outcome, f.Why))
	default:
		s.Story.Warn(fmt.Sprintf("%s: %s: %s", row.Zone, f.Outcome, f.Why))
	}
}
