package capacity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trainyard/trainyard/internal/instancetype"
)

// Alternative is something else that may do, with what to type for it.
type Alternative struct {
	Text    string `json:"text"`
	Command string `json:"command"`
}

// mostOthers is how many alternatives of a kind are named.
const mostOthers = 3

// alternatives are the nearest things that may do instead. What is known not to
// fit is none. regions are those that were asked; none: all.
func alternatives(ranked []Ranked, need Need, regions []string) []Alternative {
	var all []Alternative
	if len(regions) > 0 {
		all = append(all, Alternative{"other regions", need.Command([]string{"all"})})
	}
	if n, r := mostNodes(ranked, need); n > 0 {
		fewer := need.of(r.Type)
		fewer.Nodes = n
		all = append(all, Alternative{fmt.Sprintf("%d of %s in %s", n, r.Type, where(r)), fewer.Command([]string{r.Region})})
	}
	if !slices.ContainsFunc(ranked, func(r Ranked) bool { return r.Skipped == "" }) {
		return all // none of these regions can be used, whatever the type
	}
	for _, t := range similarTypes(ranked, need) {
		other := need
		other.Types, other.Nodes = []instancetype.Type{t}, nodesOf(t, need)
		all = append(all, Alternative{fmt.Sprintf("%s, %d %s and %d EFA", t.Name, t.GPUs, t.GPU, t.EFA), other.Command(regions)})
	}
	return append(all, laterBlocks(ranked, need)...)
}

// mostNodes is the most instances that fit anywhere, and where.
func mostNodes(ranked []Ranked, need Need) (most int, at Row) {
	for _, r := range ranked {
		h, _ := r.quota(need)
		if h != nil && r.Offered != nil && *r.Offered && r.Stock == nil && h.Instances > most && h.Instances < need.Nodes {
			most, at = h.Instances, r.Row
		}
	}
	return most, at
}

// similarTypes have as many GPUs as the first type and, if that has EFA, EFA:
// those of its generation first, then those whose GPUs' memory is nearest.
// Without those for which no region has quota left.
func similarTypes(ranked []Ranked, need Need) []instancetype.Type {
	if len(need.Types) == 0 || need.Types[0].GPUs == 0 {
		return nil
	}
	want := need.Types[0]
	similar := slices.DeleteFunc(instancetype.All(), func(t instancetype.Type) bool {
		return slices.Contains(need.typeNames(), t.Name) || t.GPUs < want.GPUs || want.EFA > 0 && t.EFA == 0 || isShort(ranked, need, t)
	})
	distance := func(t instancetype.Type) int {
		d := t.GPUMemoryMiB*t.GPUs - want.GPUMemoryMiB*want.GPUs
		return max(d, -d)
	}
	other := func(t instancetype.Type) int {
		if generation(t) == generation(want) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(similar, func(a, b instancetype.Type) int {
		return cmp.Or(cmp.Compare(other(a), other(b)), cmp.Compare(distance(a), distance(b)))
	})
	return similar[:min(len(similar), mostOthers)]
}

// nodesOf is how many nodes of a type have as many GPUs as all that are needed of the
// first.
func nodesOf(t instancetype.Type, need Need) int {
	wanted := need.Nodes * need.Types[0].GPUs
	return (wanted + t.GPUs - 1) / t.GPUs
}

// isShort tells whether the quota that counts a type, which is known from a type
// that it counts too, has room for it in none of the regions that were asked.
func isShort(ranked []Ranked, need Need, t instancetype.Type) bool {
	quota, err := quotaOf(t.Name, need.Spot)
	known := false
	for _, r := range ranked {
		h, _ := r.quota(need)
		switch {
		case err != nil || r.Skipped != "" || r.Offered != nil && !*r.Offered: // where nothing was asked
		case h == nil:
			return false
		case h.Code != quota.code:
		case h.Left() >= nodesOf(t, need)*t.VCPUs:
			return false
		default:
			known = true
		}
	}
	return known
}

// generation is the letters and digits that a type's name begins with: "p5" of
// p5en, "p6" of p6-b200.
func generation(t instancetype.Type) string {
	digits := strings.IndexAny(t.Name, "0123456789")
	end := strings.IndexFunc(t.Name[digits:], func(r rune) bool { return r < '0' || r > '9' })
	return t.Name[:digits+end]
}

// laterBlocks are the largest Capacity Blocks, of these those that begin first.
func laterBlocks(ranked []Ranked, need Need) []Alternative {
	type offer struct {
		Row
		Block
	}
	var offers []offer
	for _, r := range ranked {
		for _, b := range r.Blocks {
			offers = append(offers, offer{r.Row, b})
		}
	}
	slices.SortStableFunc(offers, func(a, b offer) int {
		return cmp.Or(cmp.Compare(b.Instances, a.Instances), a.Start.Compare(b.Start), cmp.Compare(a.USDPerGPUHour, b.USDPerGPUHour))
	})
	var all []Alternative
	for _, o := range offers[:min(len(offers), mostOthers)] {
		all = append(all, Alternative{
			fmt.Sprintf("Capacity Block of %d %s in %s from %s for %s, $%.0f at once",
				o.Instances, o.Type, o.Zone, o.Start.UTC().Format("2 Jan 15:04 UTC"), short(time.Duration(o.Hours)*time.Hour), o.Block.USD),
			awsCommand(need.Profile, o.Region, "ec2", "purchase-capacity-block", "--instance-platform", linux, "--capacity-block-offering-id", o.ID),
		})
	}
	return all
}
