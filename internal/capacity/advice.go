package capacity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trainyard/trainyard/internal/instancetype"
)

// Advice is what to do after a search.
type Advice struct {
	Best *Ranked `json:"best,omitempty"` // nil: nothing fits for certain
	// Undecided says that something may fit, which could not be found out.
	Undecided bool          `json:"undecided,omitempty"`
	Text      string        `json:"text"`
	Command   string        `json:"command,omitempty"` // what to type next
	Quota     *QuotaRequest `json:"quotaRequest,omitempty"`
	Others    []string      `json:"alternatives,omitempty"`
}

// QuotaRequest is an increase of a quota by which the job would fit.
type QuotaRequest struct {
	Region string `json:"region"`
	Code   string `json:"code"`
	Name   string `json:"name"`
	Limit  int    `json:"limitVCPUs"`
	Wanted int    `json:"wantedVCPUs"`
}

// Command files the request by hand.
func (q QuotaRequest) Command() string {
	return fmt.Sprintf("aws service-quotas request-service-quota-increase --region %s --service-code %s --quota-code %s --desired-value %d",
		q.Region, ec2Service, q.Code, q.Wanted)
}

// Advise says what to do, of rows in their order. everywhere tells whether all
// regions were asked.
func Advise(ranked []Ranked, need Need, everywhere bool) Advice {
	if len(ranked) > 0 && ranked[0].Fit == Fits {
		best := ranked[0]
		return Advice{Best: &best, Text: praise(best, need), Command: next(best, need)}
	}
	a := Advice{Quota: shortQuota(ranked, need), Others: alternatives(ranked, need, everywhere)}
	if len(ranked) > 0 && ranked[0].Fit == Unknown {
		a.Undecided = true
		a.Text = fmt.Sprintf("%s in %s may fit: %s", ranked[0].Type, where(ranked[0].Row), ranked[0].Why)
		return a
	}
	a.Text = fmt.Sprintf("no zone that was asked has room for %d of %s", need.Nodes, typeNames(need))
	return a
}

func typeNames(need Need) string {
	names := make([]string, len(need.Types))
	for i, t := range need.Types {
		names[i] = t.Name
	}
	return strings.Join(names, " or ")
}

func where(r Row) string { return cmp.Or(r.Zone, r.Region) }

// praise says why the best is the best.
func praise(best Ranked, need Need) string {
	reasons := []string{sayStock(best.Row)}
	if best.Reserved() && !need.Spot {
		reasons = []string{fmt.Sprintf("reserved until %s, to launch into %s or to give back", best.Stock.Until.UTC().Format("15:04 UTC"), best.Stock.Reservation)}
	} else if q := best.Quota; need.Spot {
		reasons = []string{sayQuota(*best.SpotQuota, need.Nodes)}
	} else if q != nil {
		reasons = append([]string{sayQuota(*q, need.Nodes)}, reasons...)
	}
	if best.Subnet != nil {
		reasons = append(reasons, saySubnet(best.Row))
	}
	if hourly(best.Row, need) < 1e9 {
		reasons = append(reasons, sayPrice(best.Row, need))
	}
	return fmt.Sprintf("%d %s in %s: %s", need.Nodes, best.Type, where(best.Row), strings.Join(reasons, ", "))
}

// next is the command that follows: a probe proves the stock; what is proven can
// be kept; what is kept, nodes are launched into, or it is given back.
func next(best Ranked, need Need) string {
	again := fmt.Sprintf("trainyard capacity --type %s --nodes %d --region %s --probe", best.Type, need.Nodes, best.Region)
	switch {
	case best.Reserved() && !need.Spot:
		return CancelCommand(best.Region, best.Stock.Reservation)
	case need.Spot:
		return fmt.Sprintf("trainyard render --node-type %s --nodes %d --zone %s", best.Type, need.Nodes, best.Zone)
	case best.Proven():
		return again + " --keep"
	default:
		return again
	}
}

// shortQuota is the smallest request by which the best of those rows would fit
// that only a quota stands in the way of.
func shortQuota(ranked []Ranked, need Need) *QuotaRequest {
	for _, r := range ranked {
		h := r.Quota
		if need.Spot {
			h = r.SpotQuota
		}
		if h == nil || h.Instances >= need.Nodes || r.Offered == nil || !*r.Offered || gradeStock(r.Row, need) < 0 {
			continue
		}
		wanted := h.Used + need.Nodes*need.typeNamed(r.Type).VCPUs
		return &QuotaRequest{Region: r.Region, Code: h.Code, Name: h.Name, Limit: h.Limit, Wanted: wanted}
	}
	return nil
}

// mostOthers is how many alternatives of a kind are named.
const mostOthers = 3

// alternatives are the nearest things that may do instead.
func alternatives(ranked []Ranked, need Need, everywhere bool) []string {
	var all []string
	if !everywhere {
		all = append(all, fmt.Sprintf("other regions: trainyard capacity --type %s --nodes %d --region all", strings.ReplaceAll(typeNames(need), " or ", ","), need.Nodes))
	}
	if n, r := mostNodes(ranked, need); n > 0 {
		all = append(all, fmt.Sprintf("%d of %s in %s: trainyard capacity --type %s --nodes %d --region %s", n, r.Type, where(r), r.Type, n, r.Region))
	}
	for _, t := range similarTypes(need) {
		all = append(all, fmt.Sprintf("%s, %d %s and %d EFA: trainyard capacity --type %s --nodes %d", t.Name, t.GPUs, t.GPU, t.EFA, t.Name, need.Nodes))
	}
	return append(all, laterBlocks(ranked)...)
}

// mostNodes is the most instances that fit anywhere, and where.
func mostNodes(ranked []Ranked, need Need) (most int, at Row) {
	for _, r := range ranked {
		h := r.Quota
		if need.Spot {
			h = r.SpotQuota
		}
		if h != nil && r.Stock == nil && h.Instances > most && h.Instances < need.Nodes {
			most, at = h.Instances, r.Row
		}
	}
	return most, at
}

// similarTypes have as many GPUs as the first type and, if that has EFA, EFA:
// those of its generation first, then those whose GPUs' memory is nearest.
func similarTypes(need Need) []instancetype.Type {
	if len(need.Types) == 0 || need.Types[0].GPUs == 0 {
		return nil
	}
	want := need.Types[0]
	asked := func(name string) bool {
		return slices.ContainsFunc(need.Types, func(t instancetype.Type) bool { return t.Name == name })
	}
	similar := slices.DeleteFunc(instancetype.All(), func(t instancetype.Type) bool {
		return asked(t.Name) || t.GPUs < want.GPUs || want.EFA > 0 && t.EFA == 0
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

// generation is the letters and digits that a type's name begins with: "p5" of
// p5en, "p6" of p6-b200.
func generation(t instancetype.Type) string {
	digits := strings.IndexAny(t.Name, "0123456789")
	end := strings.IndexFunc(t.Name[digits:], func(r rune) bool { return r < '0' || r > '9' })
	return t.Name[:digits+end]
}

// laterBlocks are the Capacity Blocks that begin first.
func laterBlocks(ranked []Ranked) []string {
	type offer struct {
		Row
		Block
	}
	var all []offer
	for _, r := range ranked {
		for _, b := range r.Blocks {
			all = append(all, offer{r.Row, b})
		}
	}
	slices.SortStableFunc(all, func(a, b offer) int {
		return cmp.Or(cmp.Compare(b.Instances, a.Instances), a.Start.Compare(b.Start), cmp.Compare(a.USDPerGPUHour, b.USDPerGPUHour))
	})
	var texts []string
	for _, o := range all[:min(len(all), mostOthers)] {
		texts = append(texts, fmt.Sprintf("Capacity Block of %d %s in %s from %s for %s, $%.0f at once: aws ec2 purchase-capacity-block --region %s --instance-platform %s --capacity-block-offering-id %s",
			o.Instances, o.Type, o.Zone, o.Start.UTC().Format("2 Jan 15:04 UTC"), time.Duration(o.Hours)*time.Hour, o.Block.USD, o.Region, linux, o.ID))
	}
	return texts
}
