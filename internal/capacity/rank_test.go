package capacity

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFamilyOf(t *testing.T) {
	for name, want := range map[string]string{
		"g6.12xlarge": "G and VT", "gr6.8xlarge": "G and VT", "g7e.48xlarge": "G and VT", "vt1.24xlarge": "G and VT",
		"p5.48xlarge": "P", "p6-b200.48xlarge": "P", "p4de.24xlarge": "P",
		"trn1n.32xlarge": "Trn", "inf2.xlarge": "Inf", "dl2q.24xlarge": "DL", "d3.xlarge": "Standard (A, C, D, H, I, M, R, T, Z)",
		"m7i.xlarge": "Standard (A, C, D, H, I, M, R, T, Z)", "im4gn.large": "Standard (A, C, D, H, I, M, R, T, Z)",
		"i4i.large": "Standard (A, C, D, H, I, M, R, T, Z)", "f2.6xlarge": "F", "x2idn.16xlarge": "X",
		"hpc7a.96xlarge": "", "u-6tb1.112xlarge": "", "mac2.metal": "", "nonsense": "", "": "",
	} {
		if f, ok := FamilyOf(name); f.Name != want || ok != (want != "") {
			t.Errorf("%q is of family %q, want %q", name, f.Name, want)
		}
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
	rows := []Row{
		rowWith("us-east-1a", func(r *Row) {
			r.Stock, r.USD, r.Latency = &Finding{Outcome: Proven}, &dear, 900
		}),
		rowWith("us-east-1b", func(r *Row) { r.Subnet, r.USD, r.Latency = &PrivateSubnet{ID: "subnet-1"}, &dear, 800 }),
		rowWith("us-east-1c", func(r *Row) { r.SpotScore, r.USD, r.Latency = &Score{Value: 3}, &dear, 700 }),
		rowWith("us-east-1d", func(r *Row) { r.SpotScore, r.USD, r.Latency = &Score{Value: 9, Capped: true}, &cheap, 600 }),
		rowWith("us-east-1e", func(r *Row) { r.Latency = 100 }),
		rowWith("us-east-1f", func(r *Row) { r.Latency = 200 }),
		rowWith("us-west-1a", func(r *Row) { r.USD = nil; r.lacks(Price, "denied") }),
		rowWith("us-west-1b", func(r *Row) { r.Subnet = &PrivateSubnet{} }),
		rowWith("us-west-1c", func(r *Row) { r.Quota = nil; r.lacks(Quota, "denied"); r.Stock = &Finding{Outcome: Proven} }),
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
		"the best", "stock: stock not probed, the best has stock proven", "stock: ", "stock: ", "stock: ", "stock: ", "stock: ", "stock: ",
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
	cheap, dear := 1.0, 2.0
	need := needOf(t, "g6.12xlarge", 2)
	need.Spot = true
	ranked := Rank([]Row{
		rowWith("us-east-1a", func(r *Row) { r.SpotQuota, r.SpotUSD = &Headroom{Instances: 2}, &dear }),
		rowWith("us-east-1b", func(r *Row) { r.SpotQuota, r.SpotUSD = &Headroom{Instances: 1}, &cheap }),
		rowWith("us-east-1c", func(r *Row) { r.SpotQuota, r.SpotUSD, r.Quota = &Headroom{Instances: 2}, &cheap, &Headroom{} }),
	}, need)
	if ranked[0].Zone != "us-east-1c" || ranked[2].Zone != "us-east-1b" || ranked[2].Fit != FitsNot {
		t.Errorf("order %s %s %s, fits %s", ranked[0].Zone, ranked[1].Zone, ranked[2].Zone, ranked[2].Fit)
	}
}

func TestAdvise(t *testing.T) {
	need := needOf(t, "p5.48xlarge", 4)
	yes := true
	short := Row{
		Type: "p5.48xlarge", Region: "us-east-2", Zone: "us-east-2a", Offered: &yes,
		Quota:  &Headroom{Code: "L-417A185B", Name: "Running On-Demand P instances", Limit: 384, Used: 192, Instances: 1},
		Blocks: []Block{{ID: "cb-1", Instances: 2, Hours: 24, USD: 1000}},
	}
	a := Advise(Rank([]Row{short}, need), need, false)
	if a.Best != nil || a.Quota == nil {
		t.Fatalf("advice is %+v", a)
	}
	if got, want := a.Quota.Command(), "aws service-quotas request-service-quota-increase --region us-east-2 --service-code ec2 --quota-code L-417A185B --desired-value 960"; got != want {
		t.Errorf("command %q, want %q", got, want)
	}
	all := strings.Join(a.Others, "\n")
	for _, want := range []string{"--region all", "1 of p5.48xlarge in us-east-2a", "p5e.48xlarge", "--capacity-block-offering-id cb-1"} {
		if !strings.Contains(all, want) {
			t.Errorf("alternatives lack %q:\n%s", want, all)
		}
	}
	unknown := rowWith("us-east-1a", func(r *Row) { r.Quota = nil; r.lacks(Quota, "not permitted") })
	if a := Advise(Rank([]Row{unknown}, need), need, true); a.Best != nil || !a.Undecided {
		t.Errorf("what is not known is taken for good: %+v", a)
	}
	kept := rowWith("us-east-1a", func(r *Row) { r.Stock, r.Quota = &Finding{Outcome: Proven, Reservation: "cr-1"}, &Headroom{} })
	if a := Advise(Rank([]Row{kept}, need), need, true); a.Best == nil || !strings.Contains(a.Text, "cr-1") {
		t.Errorf("what is reserved does not fit: %+v", a)
	}
}
