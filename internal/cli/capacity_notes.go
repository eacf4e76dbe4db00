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

// foldedRows say in a line for each reason which zones the table leaves out.
func foldedRows(ranked []capacity.Ranked, most int) []string {
	byReason := map[string][]string{}
	shown := 0
	for _, r := range ranked {
		switch {
		case isFolded(r):
			name := r.Region
			if r.Fit == capacity.FitsNot && r.Skipped == "" {
				name = cmp.Or(r.Zone, r.Region)
			}
			if !slices.Contains(byReason[r.Why], name) {
				byReason[r.Why] = append(byReason[r.Why], name)
			}
		case shown < most:
			shown++
		case r.Fit == capacity.Fits:
			byReason["room there, too"] = append(byReason["room there, too"], r.Zone)
		default:
			byReason["not shown, --explain says why"] = append(byReason["not shown, --explain says why"], cmp.Or(r.Zone, r.Region))
		}
	}
	var lines []string
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		slices.Sort(byReason[reason])
		lines = append(lines, fmt.Sprintf("%s: %s", reason, strings.Join(byReason[reason], ", ")))
	}
	return lines
}

// footnotes explain the marks of the table, and what could not be learned.
func footnotes(r workflow.CapacityResult, now time.Time) []string {
	var notes []string
	oneType, capped, stale := false, false, ""
	var oldest time.Time
	for _, row := range r.Rows {
		s := row.SpotScore
		if s == nil {
			continue
		}
		oneType, capped = oneType || s.OneType, capped || s.Capped
		stale = cmp.Or(stale, s.Stale)
		if oldest.IsZero() || s.Asked.Before(oldest) {
			oldest = s.Asked
		}
	}
	if oneType {
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
