package capacity

import (
	"fmt"
	"slices"

	"github.com/trainyard/trainyard/internal/awsapi"
)

// answer is what came of one call, or of several of one kind.
type answer[T any] struct {
	value T
	err   error
}

func await[T any](wait func() (T, error)) answer[T] {
	value, err := wait()
	return answer[T]{value, err}
}

// answers is everything that a region has answered.
type answers struct {
	asking
	zones    answer[[]zone]
	offered  answer[offers]
	running  answer[[]running]
	reserved answer[[]Reservation]
	limits   map[string]answer[limit] // by code
	spot     answer[map[place]float64]
	subnets  answer[map[string]string] // private ones, by zone
	scores   map[string]answer[scored]
	blocks   map[string]answer[map[string][]Block]
	prices   answer[Prices]
	latency  int
}

// why says why a part is not known.
func (a answers) why(err error) string {
	if awsapi.KindOf(err) == awsapi.Late {
		return "no answer within " + a.deadline.String()
	}
	return awsapi.Brief(err)
}

// rows puts the answers together: a row for each type and zone; where neither
// zones nor offers are known, one for the type in all the region.
func (a answers) rows() []Row {
	zones := a.zones.value
	if a.zones.err != nil { // offers name zones, too
		for _, name := range a.offered.value.zones() {
			zones = append(zones, zone{name: name})
		}
	}
	if len(zones) == 0 {
		zones = []zone{{}}
	}
	var rows []Row
	for _, t := range a.need.Types {
		for _, z := range zones {
			rows = append(rows, a.row(t.Name, z))
		}
	}
	return rows
}

func (a answers) row(name string, z zone) Row {
	r := Row{Type: name, Region: a.region, Zone: z.name, ZoneID: z.id, Latency: a.latency}
	if a.offered.err != nil {
		r.lacks(Offered, a.why(a.offered.err))
	} else {
		yes := a.offered.value.zone(name, z.name)
		r.Offered = &yes
	}
	if a.zones.err != nil {
		r.lacks(Zone, a.why(a.zones.err))
	}
	if r.Offered != nil && !*r.Offered {
		return r // no more is asked for where there is nothing
	}
	a.setQuotas(&r)
	a.setSpot(&r)
	a.setPrice(&r)
	a.setSubnet(&r)
	if blocks := a.blocks[name]; blocks.err != nil {
		r.lacks(Blocks, a.why(blocks.err))
	} else {
		r.Blocks = blocks.value[z.name]
	}
	return r
}

func (a answers) setQuotas(r *Row) {
	for _, q := range []struct {
		part Part
		spot bool
		into **Headroom
	}{{Quota, false, &r.Quota}, {SpotQuota, true, &r.SpotQuota}} {
		h, err := a.headroom(r.Type, q.spot)
		if err != nil {
			r.lacks(q.part, a.why(err))
			continue
		}
		*q.into = h
	}
}

func (a answers) setPrice(r *Row) {
	if a.prices.err != nil {
		r.lacks(Price, awsapi.Brief(a.prices.err))
		return
	}
	if usd, ok := a.prices.value[place{r.Type, r.Region}]; ok {
		r.USD = &usd
	} else {
		r.lacks(Price, "not in AWS's price list")
	}
}

func (a answers) setSpot(r *Row) {
	if a.spot.err != nil {
		r.lacks(SpotPrice, a.why(a.spot.err))
	} else if usd, ok := a.spot.value[place{r.Type, r.Zone}]; ok {
		r.SpotUSD = &usd
	}
	s := a.scores[r.Type]
	switch {
	case s.err != nil:
		r.lacks(SpotScore, a.why(s.err))
	case r.ZoneID == "":
		r.lacks(SpotScore, "scores go by zone id, and which zone has which is not known")
	case !s.value.asked.IsZero():
		r.SpotScore = &Score{
			Value: s.value.zones[r.ZoneID], Asked: s.value.asked, Stale: s.value.stale,
			Capped: r.SpotQuota != nil && r.SpotQuota.Instances < a.need.Nodes,
		}
	}
}

func (a answers) setSubnet(r *Row) {
	switch {
	case a.need.Cluster == "":
	case a.subnets.err != nil:
		r.lacks(Subnet, a.why(a.subnets.err))
	default:
		r.Subnet = &PrivateSubnet{ID: a.subnets.value[r.Zone], NoCluster: a.subnets.value == nil}
	}
}

// headroom is what a quota leaves of the type.
func (a answers) headroom(name string, spot bool) (*Headroom, error) {
	q, err := quotaOf(name, spot)
	if err != nil {
		return nil, err
	}
	l := a.limits[q.code]
	if l.err != nil {
		return nil, l.err
	}
	used, err := a.used(q)
	if err != nil {
		return nil, err
	}
	h := Headroom{Code: q.code, Name: q.name, Limit: l.value.vcpus, Used: used, Default: l.value.standard}
	h.Instances = h.Left() / max(a.need.vcpusOf(name), 1)
	return &h, nil
}

// used is the vCPUs that count against a quota: of what runs and, On-Demand, of
// what is reserved and does not run.
func (a answers) used(q vcpuQuota) (vcpus int, err error) {
	add := func(instanceType string, count, each int) {
		if each == 0 && count > 0 {
			err = fmt.Errorf("how many vCPUs %s counts for is not known", instanceType)
		}
		vcpus += count * each
	}
	if a.running.err != nil {
		return 0, a.running.err
	}
	for _, i := range a.running.value {
		if i.spot == q.spot && q.counts(i.instanceType) {
			add(i.instanceType, 1, i.vcpus)
		}
	}
	if q.spot { // which nobody reserves
		return vcpus, err
	}
	if a.reserved.err != nil {
		return 0, a.reserved.err
	}
	for _, v := range a.reserved.value {
		if v.counts(a.account) && !v.Dead(a.me, a.now()) && q.counts(v.Type) {
			add(v.Type, v.Unused, a.need.vcpusOf(v.Type))
		}
	}
	return vcpus, err
}

// offers is where which types are offered.
type offers map[string][]string // zones by type

func (o offers) region(instanceType string) bool { return len(o[instanceType]) > 0 }

func (o offers) zone(instanceType, zone string) bool {
	return zone == "" && o.region(instanceType) || slices.Contains(o[instanceType], zone)
}

// zones are all that offer anything.
func (o offers) zones() []string {
	var all []string
	for _, names := range o {
		all = append(all, names...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
