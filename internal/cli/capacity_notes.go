package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/trainyard/trainyard/internal/capacity"
	"github.com/trainyard/trainyard/internal/ui"
	"github.com/trainyard/trainyard/internal/workflow"
)

// isFolded tells whether a row has nothing to show but a reason.
func isFolded(r capacity.Ranked) bool {
	return r.Skipped != "" || r.Offered != nil && !*r.Offered || r.Offered == nil && r.Quota == nil
}

// foldedRows say in a line for each reason which zones the table leaves out, and
// of which types, unless it is all of them.
func foldedRows(ranked []capacity.Ranked, need capacity.Need, most int) []string {
	type folded struct{ reason, place string }
	types := map[folded][]string{}
	shown := 0
	for _, r := range ranked {
		if !isFolded(r) && shown < most {
			shown++
			continue
		}
		f := folded{foldedWhy(r), cmp.Or(r.Zone, r.Region)}
		if r.Offered == nil && isFolded(r) { // nothing is known of all the region
			f.place = r.Region
		}
		if !slices.Contains(types[f], r.Type) {
			types[f] = append(types[f], r.Type)
		}
	}
	places := map[string][]string{}
	for f, of := range types {
		head := f.reason
		if len(of) < len(need.Types) {
			slices.Sort(of)
			head += " (" + strings.Join(of, ", ") + ")"
		}
		places[head] = append(places[head], f.place)
	}
	var lines []string
	for _, head := range slices.Sorted(maps.Keys(places)) {
		slices.Sort(places[head])
		lines = append(lines, head+": "+strings.Join(places[head], ", "))
	}
	return lines
}

// foldedWhy is why the table does not show a row.
func foldedWhy(r capacity.Ranked) string {
	switch {
	case isFolded(r):
		return r.Why
	case r.Fit == capacity.Fits:
		return "room there, too"
	default:
		return "not shown, --explain says why"
	}
}

// footnotes explain the marks of the table, and what could not be learned.
func footnotes(r workflow.CapacityResult, now time.Time) []string {
	var notes []string
	capped, stale := false, ""
	var oldest time.Time
	for _, row := range r.Rows {
		s := row.SpotScore
		if s == nil {
			continue
		}
		capped = capped || s.Capped
		stale = cmp.Or(stale, s.Stale)
		if oldest.IsZero() || s.Asked.Before(oldest) {
			oldest = s.Asked
		}
	}
	if !oldest.IsZero() {
		notes = append(notes, "* Spot placement score, 1 to 10: one type alone always scores low, so compare zones only")
	}
	if capped {
		notes = append(notes, "! the Spot quota is too small, which lowers the score whatever there is")
	}
	if age := now.Sub(oldest); !oldest.IsZero() && age >= time.Minute {
		text := "Spot placement scores are up to " + ui.Duration(age.Truncate(time.Minute)) + " old"
		if stale != "" {
			text += ", since AWS answers no new questions: " + stale
		}
		notes = append(notes, text)
	}
	return append(notes, problemNotes(r.Rows)...)
}

// problemNotes say for each reason what is unknown, and where.
func problemNotes(ranked []capacity.Ranked) []string {
	type problem struct{ part, why string }
	where := map[problem][]string{}
	for _, r := range ranked {
		if isFolded(r) {
			continue
		}
		for part, why := range r.Problems {
			p := problem{partNames[part], why}
			if !slices.Contains(where[p], r.Region) {
				where[p] = append(where[p], r.Region)
			}
		}
	}
	var notes []string
	for p, regions := range where {
		slices.Sort(regions)
		text := strings.Join(regions, ", ")
		if len(regions) > 3 {
			text = fmt.Sprintf("%d regions", len(regions))
		}
		notes = append(notes, fmt.Sprintf("? %s not known in %s: %s", p.part, text, p.why))
	}
	slices.Sort(notes)
	return notes
}

var partNames = map[capacity.Part]string{
	capacity.Zone: "zone ids", capacity.Offered: "offers", capacity.Quota: "quota", capacity.SpotQuota: "Spot quota",
	capacity.SpotScore: "Spot score", capacity.Subnet: "subnets", capacity.Price: "price", capacity.SpotPrice: "Spot price",
	capacity.Blocks: "Capacity Blocks", capacity.Stock: "stock",
}
