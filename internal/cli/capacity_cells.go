package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/internal/capacity"
	"github.com/trainyard/trainyard/internal/ui"
)

func capacityCell(name string, r capacity.Ranked, need capacity.Need) string {
	quota, part := r.Quota, capacity.Quota
	if need.Spot {
		quota, part = r.SpotQuota, capacity.SpotQuota
	}
	switch name {
	case "ZONE":
		return cmp.Or(r.Zone, r.Region)
	case "TYPE":
		return r.Type
	case "FIT":
		return map[capacity.Fit]string{capacity.Fits: "yes", capacity.FitsNot: "no", capacity.Unknown: "?"}[r.Fit]
	case "QUOTA LEFT":
		if quota == nil {
			return unknownOr(r, part)
		}
		return fmt.Sprintf("%d vCPU = %d", quota.Left(), quota.Instances)
	case "SPOT":
		return scoreCell(r)
	case "SUBNET":
		if r.Subnet == nil {
			return unknownOr(r, capacity.Subnet)
		}
		return map[bool]string{true: "yes", false: "no"}[r.Subnet.ID != ""]
	case "$/H":
		return money(r, r.USD, need.Nodes, capacity.Price)
	case "$/DAY":
		return money(r, r.USD, need.Nodes*24, capacity.Price)
	case "SPOT $/H":
		return money(r, r.SpotUSD, need.Nodes, capacity.SpotPrice)
	case "BLOCK":
		return blockCell(r, need)
	default:
		if r.Stock == nil {
			return "-"
		}
		return string(r.Stock.Outcome)
	}
}

// scoreCell is the score, with * since one type alone was asked about, and !
// where the Spot quota lowers it.
func scoreCell(r capacity.Ranked) string {
	s := r.SpotScore
	if s == nil {
		return unknownOr(r, capacity.SpotScore)
	}
	text := fmt.Sprintf("%d*", s.Value)
	if s.Capped {
		text += "!"
	}
	return text
}

// blockCell says when the next Capacity Block begins and, where it is for fewer
// instances than are needed, for how many.
func blockCell(r capacity.Ranked, need capacity.Need) string {
	if len(r.Blocks) == 0 {
		return unknownOr(r, capacity.Blocks)
	}
	next := nextBlock(r.Blocks)
	day := next.Start.UTC().Format("2 Jan")
	if next.Instances < need.Nodes {
		return fmt.Sprintf("%s ×%d", day, next.Instances)
	}
	return day
}

// nextBlock is the one that begins first.
func nextBlock(blocks []capacity.Block) capacity.Block {
	return slices.MinFunc(blocks, func(a, b capacity.Block) int { return a.Start.Compare(b.Start) })
}

// unknownOr marks what could not be learned, against what there is not.
func unknownOr(r capacity.Ranked, part capacity.Part) string {
	if r.Problems[part] != "" {
		return "?"
	}
	return "-"
}

func money(r capacity.Ranked, usd *float64, times int, part capacity.Part) string {
	if usd == nil {
		return unknownOr(r, part)
	}
	return fmt.Sprintf("%.2f", *usd*float64(times))
}

// hang wraps text to the width of a page, with an indent from the second line on.
func hang(text string, indent int) string {
	return strings.Join(ui.Wrap(text, ui.Columns-indent), "\n"+strings.Repeat(" ", indent))
}
