package capacity

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Fit says whether the job fits into a zone, as far as is known.
type Fit string

// The fits. Unknown never counts as yes.
const (
	Fits    Fit = "yes"
	Unknown Fit = "unknown"
	FitsNot Fit = "no"
)

// Ranked is a row with its place in the order.
type Ranked struct {
	Row
	Fit Fit `json:"fit"`
	// Why says what decided: why it does not fit, or the first criterion in which
	// it is not as good as the best.
	Why string `json:"why"`
}

// criterion is one step of the rule: a larger grade is better, and where two
// rows are alike the next step decides.
type criterion struct {
	name  string
	grade func(Row, Need) float64
	say   func(Row, Need) string // what a row has there
}

// rule is the order in which zones are ranked. It is this table and nothing
// else:
//
//  1. fits: the type is offered and the quota of its family has room for all
//     nodes; not knowing is worse than yes, and better than no.
//  2. stock: a probe has proven that there are instances, or that there are not;
//     with Spot it says nothing.
//  3. subnet: the cluster has a private subnet in the zone.
//  4. score: the Spot placement score, the only hint at stock that costs nothing.
//     One that the Spot quota has lowered, or may have, as it is not known, says
//     nothing of the zone.
//  5. price: On-Demand, or Spot's where that is asked for.
//  6. latency: how soon the region answers from here, in steps of 50 ms.
func rule() []criterion {
	return []criterion{
		{"fits", gradeFit, func(r Row, n Need) string { _, why := fit(r, n); return why }},
		{"stock", gradeStock, func(r Row, _ Need) string { return sayStock(r) }},
		{"subnet", gradeSubnet, func(r Row, _ Need) string { return saySubnet(r) }},
		{"score", gradeScore, func(r Row, _ Need) string { return sayScore(r) }},
		{"price", gradePrice, sayPrice},
		{"latency", func(r Row, _ Need) float64 { return -float64(r.Latency / 50) }, func(r Row, _ Need) string { return fmt.Sprintf("%d ms away", r.Latency) }},
	}
}

// Rank orders rows, the best first, and says of each what decided. It is a pure
// function of its arguments.
func Rank(rows []Row, need Need) []Ranked {
	steps := rule()
	ranked := make([]Ranked, len(rows))
	for i, r := range rows {
		ranked[i].Row = r
		ranked[i].Fit, ranked[i].Why = fit(r, need)
	}
	slices.SortStableFunc(ranked, func(a, b Ranked) int {
		for _, c := range steps {
			if order := cmp.Compare(c.grade(b.Row, need), c.grade(a.Row, need)); order != 0 {
				return order
			}
		}
		return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.Type, b.Type))
	})
	for i := range ranked {
		if ranked[i].Fit == Fits {
			ranked[i].Why = against(ranked[i].Row, ranked[0].Row, need)
		}
	}
	return ranked
}

// against is the first criterion in which a row is worse than the best.
func against(r, best Row, need Need) string {
	for _, c := range rule() {
		if c.grade(r, need) < c.grade(best, need) {
			return fmt.Sprintf("%s: %s, the best has %s", c.name, c.say(r, need), c.say(best, need))
		}
	}
	if r.Type == best.Type && r.Zone == best.Zone {
		return "the best"
	}
	return "as good as the best"
}

// fit tells whether all nodes fit, and why.
func fit(r Row, need Need) (Fit, string) {
	quota, part := r.quota(need)
	switch {
	case r.Skipped != "":
		return FitsNot, r.Skipped
	case r.Offered != nil && !*r.Offered:
		return FitsNot, "not offered here"
	case r.Reserved() && !need.Spot:
		return Fits, "reserved: " + r.Stock.Reservation
	case r.Proven() && !need.Spot: // AWS grants none that is not offered, or over quota
		return Fits, sayStock(r)
	case r.Stock != nil && r.Stock.Outcome == NoQuota && !need.Spot:
		return FitsNot, r.Stock.Why
	case gradeStock(r, need) < 0:
		return FitsNot, sayStock(r)
	case quota != nil && quota.Instances < need.Nodes:
		return FitsNot, sayQuota(*quota, need.Nodes)
	case r.Offered == nil:
		return Unknown, "whether it is offered is not known: " + r.Problems[Offered]
	case quota == nil:
		return Unknown, "the quota is not known: " + r.Problems[part]
	}
	return Fits, sayQuota(*quota, need.Nodes)
}

// Proven tells whether a probe has found stock in the zone.
func (r Row) Proven() bool { return r.Stock != nil && r.Stock.Outcome == Proven }

// Reserved tells whether a reservation waits in the zone.
func (r Row) Reserved() bool { return r.Proven() && r.Stock.Reservation != "" }

func gradeFit(r Row, need Need) float64 {
	f, _ := fit(r, need)
	return map[Fit]float64{Fits: 2, Unknown: 1, FitsNot: 0}[f]
}

// gradeStock is about On-Demand: a reservation says nothing of Spot.
func gradeStock(r Row, need Need) float64 {
	if r.Stock == nil || need.Spot {
		return 0
	}
	return map[Outcome]float64{Proven: 1, NoStock: -1, NotHere: -1}[r.Stock.Outcome]
}

func gradeSubnet(r Row, _ Need) float64 {
	switch {
	case r.Subnet == nil:
		return 0
	case r.Subnet.ID == "":
		return -1
	default:
		return 1
	}
}

func gradeScore(r Row, _ Need) float64 {
	if r.SpotScore == nil || r.SpotQuota == nil || r.SpotScore.Capped {
		return 0
	}
	return float64(r.SpotScore.Value)
}

// gradePrice is the price of one instance; what is not known is dearest.
func gradePrice(r Row, need Need) float64 {
	if usd, ok := r.hourly(need); ok {
		return -usd
	}
	return math.Inf(-1)
}
