package workflow

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/trainyard/trainyard/internal/capacity"
	"github.com/trainyard/trainyard/internal/ui"
)

// probePatience is how long AWS may assess a reservation.
const probePatience = time.Minute

// probe proves stock in zones in their order, if the user agrees to the price,
// and ranks them again.
func (s *searching) probe(ctx context.Context, ranked []capacity.Ranked) (again []capacity.Ranked, probed bool, err error) {
	rows := probeable(ranked)
	switch {
	case len(rows) == 0:
		s.Story.Note("no zone is worth a probe: the job would fit into none")
		return ranked, false, nil
	case ranked[0].Reserved():
		s.Story.Note(fmt.Sprintf("not probed: capacity reservation %s in %s is kept already", ranked[0].Stock.Reservation, ranked[0].Zone))
		return ranked, false, nil
	}
	p := capacity.Prober{
		Session: s.session, Me: s.me, Need: s.need, Reserve: s.req.Reserve, Keep: s.req.Keep, All: s.req.AllZones, AtOnce: s.req.AtOnce,
		Patience: probePatience, Now: time.Now, Hard: s.Hard,
	}
	s.Story.Note(price(p, rows))
	if s.req.Agree != nil {
		agreed, err := s.req.Agree(ctx, fmt.Sprintf("reserve %d %s?", s.need.Nodes, rows[0].Type))
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

// price says what a probe costs, before it does.
func price(p capacity.Prober, rows []capacity.Row) string {
	b := p.Bill(rows)
	extent := "until one has stock"
	if p.All {
		extent = "all of them"
	}
	text := fmt.Sprintf("a probe reserves %d instances in up to %s, %s; AWS bills a minute of each, at most $%.2f",
		p.Need.Nodes, plural(b.Zones, "zone"), extent, b.Usual)
	whose := "should this machine die, the reservation"
	if p.Keep {
		whose = "the reservation that is kept"
	}
	text += fmt.Sprintf("; %s goes on for %s, and AWS may take an hour more to end it: $%.2f in all at most", whose, ui.Duration(p.Reserve), b.AtMost)
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
	default:
		s.Story.Warn(fmt.Sprintf("%s: %s: %s", row.Zone, f.Outcome, f.Why))
	}
}
