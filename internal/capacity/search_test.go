package capacity

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trainyard/trainyard/test/awssim/world"
)

// one is AWS with the account of Default, changed.
func one(change func(*world.AccountSeed, *world.Seed)) world.Seed {
	seed := world.Default()
	change(&seed.Accounts[0], &seed)
	return seed
}

func TestSearch(t *testing.T) {
	l := newLab(t, one(func(a *world.AccountSeed, _ *world.Seed) {
		a.Instances = []world.InstanceSeed{
			{Zone: "us-east-1d", Type: "g6.12xlarge", Count: 1},
			{Zone: "us-east-1d", Type: "g6.12xlarge", Count: 1, Spot: true},
			{Zone: "us-east-1d", Type: "m7i.xlarge", Count: 3}, // of another family
		}
		a.Clusters = []world.ClusterSeed{{Region: "us-east-1", Name: "train", Version: "1.35", Zones: []string{"us-east-1a", "us-east-1d"}}}
		a.Quotas["us-west-2/L-DB2E81BA"] = -1 // never applied: the default
	}))
	need := needOf(t, "g6.12xlarge", 2)
	need.Cluster = "train"
	found := l.found(t, need)
	rows := found.Rows()

	r := rowIn(t, rows, "us-east-1d")
	if len(r.Problems) > 0 {
		t.Errorf("problems: %v", r.Problems)
	}
	if r.Quota == nil || r.Quota.Used != 48 || r.Quota.Left() != 144 || r.Quota.Instances != 3 || r.Quota.Code != "L-DB2E81BA" {
		t.Errorf("quota %+v", r.Quota)
	}
	if r.SpotQuota == nil || r.SpotQuota.Used != 48 || r.SpotQuota.Instances != 3 {
		t.Errorf("Spot quota %+v", r.SpotQuota)
	}
	if r.Subnet == nil || r.Subnet.ID == "" || r.USD == nil || r.SpotUSD == nil || r.SpotScore == nil {
		t.Errorf("row %+v", r)
	}
	if other := rowIn(t, rows, "us-east-1b"); other.Subnet == nil || other.Subnet.ID != "" {
		t.Errorf("a subnet where the cluster has none: %+v", other.Subnet)
	}
	if west := rowIn(t, rows, "us-west-2a"); west.Quota == nil || !west.Quota.Default || west.Quota.Instances != 0 {
		t.Errorf("the default quota: %+v", west.Quota)
	}
	if off := rowIn(t, rows, "af-south-1"); off.Skipped != "not opted in" {
		t.Errorf("a region that is not enabled: %+v", off)
	}
	if e := rowIn(t, rows, "us-east-1e"); e.Offered == nil || *e.Offered || e.Quota != nil {
		t.Errorf("a zone that does not offer it: %+v", e)
	}
}

// TestNoCallTwice counts: whatever a search asks, it asks once.
func TestNoCallTwice(t *testing.T) {
	l := newLab(t, world.Default())
	l.found(t, Need{Types: needOf(t, "g6.12xlarge", 2).Types, Nodes: 2, Cluster: "ray-train", Block: 24 * time.Hour})
	perRegion, seen := map[string]int{}, map[string]bool{}
	for _, c := range l.Calls() {
		call := fmt.Sprint(c.Service, c.Action, c.Region, c.Params)
		if seen[call] {
			t.Errorf("twice: %s", call)
		}
		seen[call] = true
		perRegion[c.Region]++
	}
	for _, action := range []string{"DescribeCluster", "DescribeSubnets", "DescribeRouteTables"} {
		if len(l.actions(action)) == 0 {
			t.Errorf("%s is never called: the test shows little", action)
		}
	}
	for region, n := range perRegion {
		most := 9
		if region == "us-east-1" { // which has the cluster, and answers for all of them, too
			most += len([]string{"DescribeSubnets", "DescribeRouteTables", "GetCallerIdentity", "DescribeRegions", "GetProducts"})
		}
		if n > most {
			t.Errorf("%d calls to %s, at most %d", n, region, most)
		}
	}
}

// TestZoneNames: which zone has which name is different in each account, and
// scores, which go by ids, must be shown with the account's own names.
func TestZoneNames(t *testing.T) {
	seed := one(func(a *world.AccountSeed, s *world.Seed) {
		a.ID = "999988887777"
		s.Stock = []world.Stock{{Type: "g6.*", Count: 0}, {Type: "g6.*", Zone: "use1-az4", Count: 100}}
	})
	l := newLab(t, seed)
	rows := l.found(t, needOf(t, "g6.12xlarge", 2), "us-east-1").Rows()
	best := ""
	for _, r := range rows {
		if r.SpotScore != nil && r.SpotScore.Value > 1 {
			best += r.ZoneID + " " + r.Zone
		}
	}
	if !strings.HasPrefix(best, "use1-az4 ") || best == "use1-az4 us-east-1d" {
		t.Errorf("the score of use1-az4 is shown at %q", best)
	}
}

func mustFind(t *testing.T, s Search) Found {
	t.Helper()
	found, err := s.All(t.Context(), func(Region) {})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// actions are the calls of one kind so far.
func (l lab) actions(action string) []world.Record {
	return slices.DeleteFunc(l.Calls(), func(r world.Record) bool { return r.Action != action })
}

// TestNoCluster: a name that is no cluster's is said to be none.
func TestNoCluster(t *testing.T) {
	l := newLab(t, world.Default())
	need := needOf(t, "g6.12xlarge", 2)
	for name, want := range map[string]string{
		"ray-train": "", "": "", "ray-trian": `no cluster "ray-trian" in us-east-1, us-west-2 (did you mean ray-train?)`, "other": `no cluster "other" in us-east-1, us-west-2`,
	} {
		need.Cluster = name
		found := l.found(t, need, "us-east-1", "us-west-2")
		if found.NoCluster != want {
			t.Errorf("%q: %q, want %q", name, found.NoCluster, want)
		}
		if r := rowIn(t, found.Rows(), "us-west-2a"); name != "" && !r.Subnet.NoCluster {
			t.Errorf("%q in us-west-2: %+v", name, r.Subnet)
		}
	}
}

// TestBlocks: AWS answers a request for too many with an empty list, so fewer
// are asked for.
func TestBlocks(t *testing.T) {
	l := newLab(t, world.Default())
	rows := l.found(t, needOf(t, "p5.48xlarge", 60), "us-east-2").Rows()
	counts := map[int]bool{}
	for _, r := range rows {
		for _, b := range r.Blocks {
			counts[b.Instances] = true
			if b.USDPerGPUHour < 1 || b.Start.IsZero() || b.Hours != 24 {
				t.Errorf("block %+v", b)
			}
		}
	}
	if len(counts) != 1 || counts[60] {
		t.Errorf("blocks of %v instances, in %d calls", counts, len(l.actions("DescribeCapacityBlockOfferings")))
	}
}

// TestQuotaNames: a code that is another quota to AWS than in our table says
// nothing, nor is there one of which no code is known.
func TestQuotaNames(t *testing.T) {
	l := newLab(t, world.Default())
	wrong := vcpuQuota{code: "L-3819A6DF", name: "Running Dedicated inf Hosts"}
	if got, err := limitOf(t.Context(), l.session.Quotas("us-east-1"), wrong); err == nil || !strings.Contains(err.Error(), `"All G and VT Spot Instance Requests"`) {
		t.Errorf("limit %+v, error %v", got, err)
	}
	r := rowIn(t, l.found(t, needOf(t, "p6-b200.48xlarge", 2), "us-east-1").Rows(), "us-east-1a")
	if r.Offered == nil || !*r.Offered || r.SpotQuota != nil || r.Problems[SpotQuota] != "which quota counts p6-b200.48xlarge as Spot is not known" || r.Quota == nil {
		t.Errorf("a type whose Spot quota nobody knows: %+v", r)
	}
}

// TestBlocksUnknown: where offers may not be listed, no Capacity Block is known,
// which is not to say that there is none.
func TestBlocksUnknown(t *testing.T) {
	l := newLab(t, one(func(_ *world.AccountSeed, s *world.Seed) {
		s.Conditions.Faults = []world.Fault{{Action: "DescribeInstanceTypeOfferings", Kind: world.Fail, Code: "UnauthorizedOperation", Status: 403}}
	}))
	r := rowIn(t, l.found(t, needOf(t, "p5.48xlarge", 2), "us-east-2").Rows(), "us-east-2a")
	if want := "not permitted: ec2:DescribeInstanceTypeOfferings"; r.Problems[Blocks] != want {
		t.Errorf("blocks %v, problems %v, want %q", r.Blocks, r.Problems, want)
	}
}
