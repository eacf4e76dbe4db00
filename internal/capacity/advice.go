package capacity

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Advice is what to do after a search.
type Advice struct {
	// Best is the zone to take: it fits for certain and, where zones were probed,
	// has proven stock. nil: there is none.
	Best *Ranked `json:"best,omitempty"`
	// Undecided says that something may fit, which could not be found out.
	Undecided bool          `json:"undecided,omitempty"`
	Text      string        `json:"text"`
	Next      string        `json:"next,omitempty"`    // what to do next, where that is no command of ours
	Command   string        `json:"command,omitempty"` // what to type next
	Cost      string        `json:"cost,omitempty"`    // of what is kept, and until when
	Undo      string        `json:"undo,omitempty"`    // what to type to give back what is kept
	Quota     *QuotaRequest `json:"quotaRequest,omitempty"`
	Others    []Alternative `json:"alternatives,omitempty"`
}

// Asked is what a search was asked, besides what is needed.
type Asked struct {
	Regions []string      // empty: all
	Probed  bool          // zones were probed
	Reserve time.Duration // how long a reservation is to last
}

// Advise says what to do, of rows in their order.
func Advise(ranked []Ranked, need Need, asked Asked) Advice {
	if len(ranked) > 0 && ranked[0].Fit == Fits && (!asked.Probed || ranked[0].Proven()) {
		return praise(ranked[0], need, asked)
	}
	a := Advice{Quota: shortQuota(ranked, need), Others: alternatives(ranked, need, asked.Regions)}
	switch {
	case len(ranked) > 0 && ranked[0].Fit == Fits:
		a.Undecided = true
		a.Text = fmt.Sprintf("nothing is proven: %s in %s: %s", ranked[0].Type, where(ranked[0].Row), sayStock(ranked[0].Row))
	case len(ranked) > 0 && ranked[0].Fit == Unknown:
		a.Undecided = true
		a.Text = fmt.Sprintf("%s in %s may fit: %s", ranked[0].Type, where(ranked[0].Row), ranked[0].Why)
	default:
		a.Text = fmt.Sprintf("no zone that was asked has room for %d of %s", need.Nodes, strings.Join(need.typeNames(), " or "))
	}
	return a
}

func where(r Row) string { return cmp.Or(r.Zone, r.Region) }

// praise says why the best is the best, and what follows: a probe proves the
// stock; what is proven can be kept; into what is kept, nodes are launched. Of
// Spot there is nothing to prove and nothing to keep.
func praise(best Ranked, need Need, asked Asked) Advice {
	a := Advice{Best: &best, Text: fmt.Sprintf("%d %s in %s: %s", need.Nodes, best.Type, where(best.Row), strings.Join(reasons(best.Row, need), ", "))}
	again := need.of(best.Type)
	switch {
	case need.Spot:
		a.Next = fmt.Sprintf("launch them as Spot instances in %s: no call proves or reserves Spot stock, and AWS may take the instances back at any time", best.Zone)
	case best.Reserved():
		id := best.Stock.Reservation
		a.Next = fmt.Sprintf("launch them in %s with CapacityReservationTarget={CapacityReservationId=%s}, in the launch template of a node group or in run-instances: only what names the reservation gets into it", best.Zone, id)
		a.Cost = keptCost(best.Row, need)
		a.Undo = CancelCommand(need.Profile, best.Region, id)
	case best.Proven() && asked.Reserve != DefaultReserve:
		a.Command = again.Command([]string{best.Region}, "--probe", "--keep", "--reserve-for", short(asked.Reserve))
	case best.Proven():
		a.Command = again.Command([]string{best.Region}, "--probe", "--keep")
	default:
		a.Command = again.Command([]string{best.Region}, "--probe")
	}
	return a
}

// reasons are why a zone is good.
func reasons(best Row, need Need) []string {
	var all []string
	switch {
	case need.Spot:
		all = append(all, sayQuota(*best.SpotQuota, need.Nodes))
	case best.Reserved():
		all = append(all, "reserved until "+clock(best.Stock.Until))
	case best.Quota != nil:
		all = append(all, sayQuota(*best.Quota, need.Nodes), sayStock(best))
	default:
		all = append(all, sayStock(best))
	}
	if best.Subnet != nil {
		all = append(all, saySubnet(best))
	}
	if _, ok := best.hourly(need); ok {
		all = append(all, sayPrice(best, need))
	}
	return all
}

// keptCost says what a reservation costs until it ends.
func keptCost(r Row, need Need) string {
	return fmt.Sprintf("%s, used or not, until %s; AWS may take an hour more to end it", sayPrice(r, need), clock(r.Stock.Until))
}

func clock(t time.Time) string { return t.UTC().Format("15:04 UTC") }
