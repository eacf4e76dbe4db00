package capacity

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
)

func TestQuotaOf(t *testing.T) {
	const standard, standardSpot = "L-1216C47A", "L-34B43A08"
	for name, want := range map[string][2]string{ // On-Demand, Spot
		"g6.12xlarge": {"L-DB2E81BA", "L-3819A6DF"}, "gr6.8xlarge": {"L-DB2E81BA", "L-3819A6DF"}, "g7e.48xlarge": {"L-DB2E81BA", "L-3819A6DF"}, "vt1.24xlarge": {"L-DB2E81BA", "L-3819A6DF"},
		"p3dn.24xlarge": {"L-417A185B", "L-7212CCBC"}, "p4de.24xlarge": {"L-417A185B", "L-7212CCBC"},
		"p5.48xlarge": {"L-417A185B", "L-C4BD4855"}, "p5en.48xlarge": {"L-417A185B", "L-C4BD4855"}, "p6-b200.48xlarge": {"L-417A185B", ""},
		"trn1n.32xlarge": {"L-2C3B7624", "L-6B0D517C"}, "inf2.xlarge": {"L-1945791B", "L-B5D1601B"}, "dl2q.24xlarge": {"L-6E869C2A", "L-85EED4F7"},
		"d3.xlarge": {standard, standardSpot}, "m7i.xlarge": {standard, standardSpot}, "im4gn.large": {standard, standardSpot}, "i4i.large": {standard, standardSpot},
		"f2.6xlarge": {"L-74FC7D96", "L-88CF9481"}, "x2idn.16xlarge": {"L-7295265B", "L-E3A00192"},
		"hpc7a.96xlarge": {"L-F7808C92", ""}, "u-6tb1.112xlarge": {"L-43DA4232", ""}, "u7i-12tb.224xlarge": {"L-43DA4232", ""},
		"mac2.metal": {}, "nonsense": {}, "": {},
	} {
		for i, spot := range []bool{false, true} {
			q, err := quotaOf(name, spot)
			if q.code != want[i] || (err == nil) != (want[i] != "") {
				t.Errorf("%q, Spot %v: quota %q, error %v; want %q", name, spot, q.code, err, want[i])
			}
		}
	}
}

// TestOneQuota: no type is counted twice.
func TestOneQuota(t *testing.T) {
	for _, q := range vcpuQuotas {
		for _, family := range q.families {
			for _, other := range vcpuQuotas {
				if other.code != q.code && other.spot == q.spot && other.counts(family+"1.xlarge") && q.counts(family+"1.xlarge") {
					t.Errorf("%s and %s both count %s", q.code, other.code, family)
				}
			}
		}
	}
}

func TestVCPUsByName(t *testing.T) {
	for name, want := range map[string]int{
		"t3.nano": 2, "t3.medium": 2, "t4g.small": 2, "t2.micro": 1, "t2.medium": 2, "m6g.medium": 1, "m7i.large": 2, "m7i.xlarge": 4, "c5n.18xlarge": 72,
		"c4.8xlarge": 36, "hpc7a.96xlarge": 0, "c6i.metal": 0, "m7i.metal-24xl": 0, "nonsense": 0, "": 0,
	} {
		if got := vcpusByName(name); got != want {
			t.Errorf("%s has %d vCPUs, want %d", name, got, want)
		}
	}
}

// TestUsed: what is not known to count for something is not counted as nothing.
func TestUsed(t *testing.T) {
	q, err := quotaOf("m7i.xlarge", false)
	if err != nil {
		t.Fatal(err)
	}
	a := answers{asking: asking{need: Need{Nodes: 1}, now: time.Now}}
	a.running.value = []running{{"m7i.xlarge", 4, false}, {"m7i.xlarge", 4, true}, {"g6.xlarge", 4, false}}
	if n, err := a.used(q); n != 4 || err != nil {
		t.Errorf("%d used, error %v", n, err)
	}
	a.reserved.value = []Reservation{{Type: "m7i.metal-24xl", Unused: 1, State: types.CapacityReservationStateActive}}
	if n, err := a.used(q); err == nil {
		t.Errorf("bare metal counts for %d", n)
	}
	a.reserved = answer[[]Reservation]{err: errors.New("denied")}
	spot, err := quotaOf("m7i.xlarge", true)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := a.used(spot); n != 4 || err != nil {
		t.Errorf("of Spot %d used, error %v: no reservation counts", n, err)
	}
}

// rowWith is a row in which two nodes fit, changed.
func rowWith(zone string, change func(*Row)) Row {
	yes, usd := true, 4.6
	r := Row{Type: "g6.12xlarge", Region: zone[:len(zone)-1], Zone: zone, Offered: &yes, Quota: &Headroom{Limit: 192, Instances: 4}, USD: &usd}
	if change != nil {
		change(&r)
	}
	return r
}

// TestRank holds the documented order: each row is better than the next in the
// criterion that is named, and worse in all that come later.
func TestRank(t *testing.T) {
	cheap, dear := 1.0, 9.0
	room := &Headroom{Instances: 4}
	rows := []Row{
		rowWith("us-east-1", func(r *Row) { // which proves the quota and the offer, too
			r.Quota, r.Offered, r.Stock = nil, nil, &Finding{Outcome: Proven}
		}),
		rowWith("us-east-1a", func(r *Row) {
			r.Stock, r.USD, r.Latency = &Finding{Outcome: Proven}, &dear, 900
		}),
		rowWith("us-east-1b", func(r *Row) { r.Subnet, r.USD, r.Latency = &PrivateSubnet{ID: "subnet-1"}, &dear, 800 }),
		rowWith("us-east-1c", func(r *Row) { r.SpotScore, r.SpotQuota, r.USD, r.Latency = &Score{Value: 3}, room, &dear, 700 }),
		rowWith("us-east-1d", func(r *Row) {
			r.SpotScore, r.SpotQuota, r.USD, r.Latency = &Score{Value: 9, Capped: true}, room, &cheap, 600
		}),
		rowWith("us-east-1e", func(r *Row) { r.SpotScore, r.Latency = &Score{Value: 9}, 100 }), // the Spot quota is not known
		rowWith("us-east-1f", func(r *Row) { r.Latency = 200 }),
		rowWith("us-west-1a", func(r *Row) { r.USD = nil; r.lacks(Price, "denied") }),
		rowWith("us-west-1b", func(r *Row) { r.Subnet = &PrivateSubnet{} }),
		rowWith("us-west-1c", func(r *Row) { r.Quota = nil; r.lacks(Quota, "denied"); r.Subnet = &PrivateSubnet{ID: "subnet-1"} }),
		rowWith("us-west-1d", func(r *Row) { r.Offered = nil; r.lacks(Offered, "denied") }),
		rowWith("us-west-2a", func(r *Row) { r.Quota.Instances = 1; r.Subnet = &PrivateSubnet{ID: "subnet-2"} }),
		rowWith("us-west-2b", func(r *Row) { no := false; r.Offered = &no }),
		rowWith("us-west-2c", func(r *Row) { r.Skipped = "not opted in" }),
		rowWith("us-west-2d", func(r *Row) { r.Stock = &Finding{Outcome: NoStock, Why: "none"} }),
	}
	want := make([]string, len(rows))
	for i, r := range rows {
		want[i] = r.Zone
	}
	need := needOf(t, "g6.12xlarge", 2)
	for seed := range uint64(20) {
		shuffled := append([]Row(nil), rows...)
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(rows), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		var got []string
		for _, r := range Rank(shuffled, need) {
			got = append(got, r.Zone)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("order (-want +got):\n%s", diff)
		}
	}
	ranked := Rank(rows, need)
	for i, why := range []string{
		"the best", "price: $18.00 an hour, the best has $9.20 an hour", "stock: stock not probed, the best has stock proven", "stock: ", "stock: ", "stock: ", "stock: ", "stock: ", "stock: ",
		"the quota is not known: denied", "whether it is offered is not known: denied", "quota: 192 of 192 vCPUs left, room for 1 of 2",
		"not offered here", "not opted in", "no stock: none",
	} {
		if !strings.HasPrefix(ranked[i].Why, why) {
			t.Errorf("%s: %q, want %q", ranked[i].Zone, ranked[i].Why, why)
		}
	}
}

// TestSpotRank: with Spot it is Spot's quota and price that count.
func TestSpotRank(t *testing.T) {
	cheap, between, dear, dearest := 1.0, 1.5, 2.0, 3.0
	need := needOf(t, "g6.12xlarge", 2)
	need.Spot = true
	ranked := Rank([]Row{
		rowWith("us-east-1a", func(r *Row) { r.SpotQuota, r.SpotUSD = &Headroom{Instances: 2}, &dear }),
		rowWith("us-east-1b", func(r *Row) { r.SpotQuota, r.SpotUSD = &Headroom{Instances: 1}, &cheap }),
		rowWith("us-east-1c", func(r *Row) { r.SpotQuota, r.SpotUSD, r.Quota = &Headroom{Instances: 2}, &cheap, &Headroom{} }),
		rowWith("us-east-1d", func(r *Row) { // what was found of On-Demand says nothing
			r.SpotQuota, r.SpotUSD, r.Stock = &Headroom{Instances: 2}, &dearest, &Finding{Outcome: Proven, Reservation: "cr-1"}
		}),
		rowWith("us-east-1f", func(r *Row) { r.lacks(SpotQuota, "denied"); r.Stock = &Finding{Outcome: Proven} }),
		rowWith("us-east-1e", func(r *Row) {
			r.SpotQuota, r.SpotUSD, r.Stock = &Headroom{Instances: 2}, &between, &Finding{Outcome: NoStock, Why: "none"}
		}),
	}, need)
	var order []string
	for _, r := range ranked {
		order = append(order, strings.TrimPrefix(r.Zone, "us-east-1")+" "+string(r.Fit))
	}
	if diff := cmp.Diff([]string{"c yes", "e yes", "a yes", "d yes", "f unknown", "b no"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}
