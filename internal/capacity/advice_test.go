package capacity

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/internal/instancetype"
)

var oneHour = Asked{Reserve: time.Hour}

func commands(all []Alternative) (lines []string) {
	for _, other := range all {
		lines = append(lines, other.Text+": "+other.Command)
	}
	return lines
}

func TestAdvise(t *testing.T) {
	need := needOf(t, "p5.48xlarge", 4)
	yes := true
	short := Row{
		Type: "p5.48xlarge", Region: "us-east-2", Zone: "us-east-2a", Offered: &yes,
		Quota:  &Headroom{Code: "L-417A185B", Name: "Running On-Demand P instances", Limit: 1152, Used: 576, Instances: 3},
		Blocks: []Block{{ID: "cb-1", Instances: 2, Hours: 24, USD: 1000}},
	}
	a := Advise(Rank([]Row{short}, need), need, Asked{Regions: []string{"us-east-2", "us-west-2"}})
	if a.Best != nil || a.Quota == nil || a.Undecided {
		t.Fatalf("advice is %+v", a)
	}
	if got, want := a.Quota.Command(), "aws service-quotas request-service-quota-increase --region us-east-2 --service-code ec2 --quota-code L-417A185B --desired-value 1344"; got != want {
		t.Errorf("command %q, want %q", got, want)
	}
	want := []string{ // p4de has 96 vCPUs, of which four fit
		"other regions: trainyard capacity --type p5.48xlarge --nodes 4 --region all",
		"3 of p5.48xlarge in us-east-2a: trainyard capacity --type p5.48xlarge --nodes 3 --region us-east-2",
		"p4de.24xlarge, 8 A100 and 4 EFA: trainyard capacity --type p4de.24xlarge --nodes 4 --region us-east-2,us-west-2",
		"g7e.48xlarge, 8 RTX PRO Server 6000 and 4 EFA: trainyard capacity --type g7e.48xlarge --nodes 4 --region us-east-2,us-west-2",
		"g6e.48xlarge, 8 L40S and 4 EFA: trainyard capacity --type g6e.48xlarge --nodes 4 --region us-east-2,us-west-2",
		"Capacity Block of 2 p5.48xlarge in us-east-2a from 1 Jan 00:00 UTC for 24h, $1000 at once: " +
			"aws ec2 purchase-capacity-block --region us-east-2 --instance-platform Linux/UNIX --capacity-block-offering-id cb-1",
	}
	if diff := cmp.Diff(want, commands(a.Others)); diff != "" {
		t.Errorf("alternatives (-want +got):\n%s", diff)
	}
	unknown := rowWith("us-east-1a", func(r *Row) { r.Quota = nil; r.lacks(Quota, "not permitted") })
	if a := Advise(Rank([]Row{unknown}, need), need, Asked{}); a.Best != nil || !a.Undecided {
		t.Errorf("what is not known is taken for good: %+v", a)
	}
}

// TestAdviseCommands: what is to be typed is about the same account, cluster
// and kind of capacity.
func TestAdviseCommands(t *testing.T) {
	need := needOf(t, "g6.12xlarge", 2)
	need.Profile, need.Cluster, need.Block = "a b", "train", 48*time.Hour
	const again = "trainyard capacity --type g6.12xlarge --nodes 2 --region us-east-1 --cluster train --block-for 48h --profile 'a b' "
	proven := func(r *Row) { r.Stock = &Finding{Outcome: Proven} }
	for _, test := range []struct {
		row   Row
		asked Asked
		want  string
	}{
		{rowWith("us-east-1a", nil), oneHour, again + "--probe"},
		{rowWith("us-east-1a", proven), oneHour, again + "--probe --keep --reserve-for 1h"},
		{rowWith("us-east-1a", proven), Asked{Probed: true, Reserve: DefaultReserve}, again + "--probe --keep"},
	} {
		if a := Advise(Rank([]Row{test.row}, need), need, test.asked); a.Command != test.want {
			t.Errorf("command\n%s, want\n%s", a.Command, test.want)
		}
	}
	need.Spot = true
	short := rowWith("us-east-1a", func(r *Row) { r.SpotQuota = &Headroom{Code: "L-3819A6DF", Instances: 1, Limit: 48} })
	a := Advise(Rank([]Row{short}, need), need, Asked{Regions: []string{"us-east-1"}})
	for _, line := range append(commands(a.Others), a.Quota.FiledBy) {
		if !strings.Contains(line, "--spot") || !strings.Contains(line, "--cluster train") || !strings.Contains(line, "--profile 'a b'") {
			t.Errorf("loses something: %s", line)
		}
	}
	if got := a.Quota.Command(); !strings.HasSuffix(got, "--desired-value 96 --profile 'a b'") {
		t.Errorf("by hand: %s", got)
	}
}

// TestAdviseSpot: nothing proves Spot, and no command of ours launches it.
func TestAdviseSpot(t *testing.T) {
	need := needOf(t, "g6.12xlarge", 2)
	need.Spot = true
	row := rowWith("us-east-1a", func(r *Row) { r.SpotQuota = &Headroom{Instances: 2} })
	a := Advise(Rank([]Row{row}, need), need, oneHour)
	if a.Best == nil || a.Command != "" || !strings.Contains(a.Next, "as Spot instances in us-east-1a") {
		t.Errorf("advice is %+v", a)
	}
}

// TestAdviseKept: what is kept is to be used, and how it is given back is said
// as such.
func TestAdviseKept(t *testing.T) {
	need := needOf(t, "g6.12xlarge", 2)
	need.Profile = "prod"
	until := time.Date(2026, 11, 30, 18, 5, 0, 0, time.UTC)
	kept := rowWith("us-east-1a", func(r *Row) {
		r.Stock, r.Quota = &Finding{Outcome: Proven, Reservation: "cr-1", Until: until}, &Headroom{}
	})
	a := Advise(Rank([]Row{kept}, need), need, oneHour)
	if a.Best == nil || a.Command != "" || !strings.Contains(a.Next, "{CapacityReservationId=cr-1}") {
		t.Errorf("advice is %+v", a)
	}
	if want := "$9.20 an hour, used or not, until 18:05 UTC; AWS may take an hour more to end it"; a.Cost != want {
		t.Errorf("cost %q, want %q", a.Cost, want)
	}
	if want := "aws ec2 cancel-capacity-reservation --region us-east-1 --capacity-reservation-id cr-1 --profile prod"; a.Undo != want {
		t.Errorf("undo %q, want %q", a.Undo, want)
	}
}

// TestAdviseProbed: after a probe only what is proven is good.
func TestAdviseProbed(t *testing.T) {
	need := needOf(t, "g6.12xlarge", 2)
	rows := []Row{
		rowWith("us-east-1a", func(r *Row) { r.Stock = &Finding{Outcome: Unproven, Why: "AWS is ill"} }),
		rowWith("us-east-1b", nil),
	}
	a := Advise(Rank(rows, need), need, Asked{Probed: true})
	if a.Best != nil || !a.Undecided || !strings.HasPrefix(a.Text, "nothing is proven: g6.12xlarge in us-east-1a: unproven: AWS is ill") {
		t.Errorf("advice is %+v", a)
	}
	rows[1].Stock = &Finding{Outcome: Proven}
	if a := Advise(Rank(rows, need), need, Asked{Probed: true}); a.Best == nil || a.Best.Zone != "us-east-1b" {
		t.Errorf("what is proven is not the best: %+v", a)
	}
}

// TestAdviseRefused: AWS refuses for quota what seems to have room, so there is
// more that counts. What the job needs above the limit is enough for certain.
func TestAdviseRefused(t *testing.T) {
	need := needOf(t, "g6.12xlarge", 2)
	row := rowWith("us-east-1a", func(r *Row) {
		r.Quota = &Headroom{Code: "L-DB2E81BA", Limit: 192, Instances: 4}
		r.Stock = &Finding{Outcome: NoQuota, Why: "refused for quota"}
	})
	a := Advise(Rank([]Row{row}, need), need, Asked{Regions: []string{"us-east-1"}, Probed: true})
	if a.Quota == nil || a.Quota.Wanted != 192+2*48 {
		t.Fatalf("request %+v", a.Quota)
	}
	if want := "trainyard capacity --type g6.12xlarge --nodes 2 --region us-east-1 --request-quota --probe"; a.Quota.FiledBy != want {
		t.Errorf("filed by %q, want %q", a.Quota.FiledBy, want)
	}
}

// TestAlternativesFit: types for which the quota is short everywhere are none.
func TestAlternativesFit(t *testing.T) {
	need := needOf(t, "g6.12xlarge", 8)
	names := func(ranked []Ranked) string {
		var all []string
		for _, similar := range similarTypes(ranked, need) {
			all = append(all, similar.Name)
		}
		return strings.Join(all, " ")
	}
	short := Rank([]Row{rowWith("us-east-1a", func(r *Row) { r.Quota = &Headroom{Code: "L-DB2E81BA", Limit: 192, Instances: 4} })}, need)
	for name := range strings.FieldsSeq(names(short)) {
		if found, err := instancetype.Lookup(name); err != nil || strings.HasPrefix(name, "g") {
			t.Errorf("%s has %d vCPUs, eight of which do not fit into 192", name, found.VCPUs)
		}
	}
	if got := names(append(short, Rank([]Row{rowWith("us-west-2a", func(r *Row) { r.Quota = nil })}, need)...)); !strings.Contains(got, "g6") {
		t.Errorf("a region may have room, and %q are all", got)
	}
}

// TestAlternativesHaveAsManyGPUs: of larger nodes fewer do.
func TestAlternativesHaveAsManyGPUs(t *testing.T) {
	need := needOf(t, "g6.12xlarge", 9) // 36 GPUs
	no := false
	a := Advise(Rank([]Row{{Type: "g6.12xlarge", Region: "us-east-1", Zone: "us-east-1a", Offered: &no}}, need), need, Asked{})
	lines := strings.Join(commands(a.Others), "\n")
	for _, want := range []string{"--type g6.24xlarge --nodes 9\n", "--type g6.48xlarge --nodes 5\n"} {
		if !strings.Contains(lines, want) {
			t.Errorf("no %q in\n%s", want, lines)
		}
	}
}
