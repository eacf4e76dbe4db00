package capacity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/trainyard/trainyard/internal/awsapi"
	"github.com/trainyard/trainyard/internal/fault"
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

func TestScoreCache(t *testing.T) {
	l := newLab(t, one(func(a *world.AccountSeed, _ *world.Seed) { a.NewSpotScoreLimit = 1 }))
	search := l.search(t, needOf(t, "g6.12xlarge", 2), "us-east-1")
	first := rowIn(t, mustFind(t, search).Rows(), "us-east-1d")
	asked := len(l.actions("GetSpotPlacementScores"))
	search.Scores = reopened(search.Scores)
	again := rowIn(t, mustFind(t, search).Rows(), "us-east-1d")
	if n := len(l.actions("GetSpotPlacementScores")); n != asked || again.SpotScore == nil || !again.SpotScore.Asked.Equal(first.SpotScore.Asked) {
		t.Errorf("asked again: %d calls, score %+v, first %+v", n, again.SpotScore, first.SpotScore)
	}
	// An old answer is asked again; where AWS refuses, it is better than none.
	l.World.Locked(func() {
		l.World.Conditions.Faults = []world.Fault{{Action: "GetSpotPlacementScores", Kind: world.Fail, Code: "MaxConfigLimitExceeded", Status: 400}}
	})
	l.World.Clock.Advance(time.Hour)
	old := rowIn(t, mustFind(t, search).Rows(), "us-east-1d")
	if old.SpotScore == nil || old.SpotScore.Stale == "" || old.SpotScore.Value != first.SpotScore.Value {
		t.Errorf("an old score: %+v", old.SpotScore)
	}
	// Another question is refused, which is no score of 0.
	search.Need.Nodes = 3
	if r := rowIn(t, mustFind(t, search).Rows(), "us-east-1d"); r.SpotScore != nil || r.Problems[SpotScore] != "too many asked" {
		t.Errorf("a refused question: %+v %v", r.SpotScore, r.Problems)
	}
}

// TestScoreAge: an answer is kept for a day, and one of the future is none.
func TestScoreAge(t *testing.T) {
	now, question := time.Now(), scoreQuestion{Account: "111122223333", Region: "us-east-1", Type: "g6.12xlarge", Nodes: 2}
	for age, want := range map[time.Duration]bool{0: true, time.Minute: true, keptScore: true, keptScore + time.Second: false, -time.Second: false, -keptScore: false} {
		c := OpenScores(t.TempDir())
		c.put(question, scored{asked: now.Add(-age)})
		if _, got, ok := c.get(question, now); ok != want || ok && got != age {
			t.Errorf("an answer %s old: %v, said to be %s old", age, ok, got)
		}
		if err := c.Save(now); err != nil {
			t.Error(err)
		}
		if _, _, ok := reopened(c).get(question, now); ok != want {
			t.Errorf("an answer %s old was saved: %v", age, ok)
		}
	}
}

// TestScoresUnsaved: what cannot be remembered costs nothing else.
func TestScoresUnsaved(t *testing.T) {
	l := newLab(t, world.Default())
	search := l.search(t, needOf(t, "g6.12xlarge", 2), "us-east-1")
	search.Scores = OpenScores("/dev/null/cache")
	if found := mustFind(t, search); found.Unsaved == nil || rowIn(t, found.Rows(), "us-east-1d").SpotScore == nil {
		t.Errorf("unsaved: %v", found.Unsaved)
	}
}

func reopened(c *ScoreCache) *ScoreCache {
	return OpenScores(strings.TrimSuffix(c.path, "/spot-scores.json"))
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

func TestRegionNames(t *testing.T) {
	l := newLab(t, world.Default())
	for names, want := range map[string]string{
		"us-esat-1":           `unknown region "us-esat-1" (did you mean us-east-1?)`,
		"us-esat-1,eu-wset-1": "unknown region \"us-esat-1\" (did you mean us-east-1?)\nunknown region \"eu-wset-1\" (did you mean eu-west-1?)",
		"us-east-9":           `unknown region "us-east-9" (did you mean us-east-1?)`, // AWS must say so
	} {
		_, err := l.search(t, needOf(t, "g6.12xlarge", 2), strings.Split(names, ",")...).All(t.Context(), func(Region) {})
		if fault.CodeOf(err) != fault.Usage || fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", names, err, want)
		}
	}
	rows := l.found(t, needOf(t, "g6.12xlarge", 2), "us-east-1", "us-gov-west-1", "cn-north-1").Rows()
	for _, name := range []string{"us-gov-west-1", "cn-north-1"} {
		if r := rowIn(t, rows, name); !strings.Contains(r.Skipped, "partition") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := rowIn(t, rows, "us-east-1d"); r.Skipped != "" {
		t.Errorf("the region that can be asked was not: %+v", r)
	}
}

// TestOwnRegion: the region of AWS's configuration decides nothing but the
// partition, and is a name, too.
func TestOwnRegion(t *testing.T) {
	l := newLab(t, world.Default())
	l.session.Region = "eu-south-2" // which the account has not enabled
	if r := rowIn(t, l.found(t, needOf(t, "g6.12xlarge", 2), "us-east-1").Rows(), "us-east-1d"); r.Quota == nil {
		t.Errorf("row %+v", r)
	}
	for _, wrong := range []string{"us-esat-1", "us-east-9"} {
		l.session.Region = wrong
		_, err := l.search(t, needOf(t, "g6.12xlarge", 2), "us-east-1").All(t.Context(), func(Region) {})
		if fault.CodeOf(err) != fault.Usage || !strings.Contains(fmt.Sprint(err), "did you mean us-east-1?") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// TestHomeTrouble: where one region cannot be reached, others can be asked; its
// own rows say why it was not, and what only it knows is not known.
func TestHomeTrouble(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "2")
	for _, kind := range []world.FaultKind{world.Drop, world.Hang} {
		l := newLab(t, one(func(_ *world.AccountSeed, s *world.Seed) {
			s.Conditions.Faults = []world.Fault{{Region: "us-east-1", Kind: kind}}
		}))
		search := l.search(t, needOf(t, "g6.12xlarge", 2), "us-west-2")
		search.Deadline = time.Second
		if r := rowIn(t, mustFind(t, search).Rows(), "us-west-2a"); r.Quota == nil || r.Problems[Price] == "" {
			t.Errorf("%s elsewhere: %+v", kind, r)
		}
		search.Regions = []string{"us-east-1", "us-west-2"}
		found := mustFind(t, search)
		if r := rowIn(t, found.Rows(), "us-west-2a"); r.Quota == nil || found.Guessed == "" {
			t.Errorf("%s of the first region: %+v, guessed %q", kind, r, found.Guessed)
		}
		if r := rowIn(t, found.Rows(), "us-east-1"); r.Problems[Offered] == "" {
			t.Errorf("%s: %+v", kind, r)
		}
	}
}

// TestNothingReached: where no region can be reached, that is all there is to say.
func TestNothingReached(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	l := newLab(t, one(func(_ *world.AccountSeed, s *world.Seed) { s.Conditions.Faults = []world.Fault{{Kind: world.Drop}} }))
	_, err := l.search(t, needOf(t, "g6.12xlarge", 2), "us-west-2").All(t.Context(), func(Region) {})
	if awsapi.KindOf(err) != awsapi.Unreachable || len(fault.HintsOf(err)) == 0 {
		t.Errorf("%v is %q, hints %q", err, awsapi.KindOf(err), fault.HintsOf(err))
	}
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

// TestDenied denies each call by itself: it costs its own part of a row, with
// the reason, and nothing else.
func TestDenied(t *testing.T) {
	for action, parts := range map[string][]Part{
		"ec2:DescribeAvailabilityZones":           {Zone, SpotScore}, // which goes by zone id
		"ec2:DescribeInstanceTypeOfferings":       {Offered, Blocks},
		"ec2:DescribeInstances":                   {Quota, SpotQuota},
		"ec2:DescribeCapacityReservations":        {Quota},
		"ec2:DescribeCapacityBlockOfferings":      {Blocks},
		"ec2:GetSpotPlacementScores":              {SpotScore},
		"ec2:DescribeSpotPriceHistory":            {SpotPrice},
		"ec2:DescribeSubnets":                     {Subnet},
		"ec2:DescribeRouteTables":                 {Subnet},
		"eks:DescribeCluster":                     {Subnet},
		"servicequotas:GetServiceQuota":           {Quota, SpotQuota},
		"servicequotas:GetAWSDefaultServiceQuota": {SpotQuota}, // which was never applied
		"pricing:GetProducts":                     {Price},
		"sts:GetCallerIdentity":                   {}, // AWS answers it whatever a policy says
	} {
		t.Run(action, func(t *testing.T) {
			l := newLab(t, one(func(a *world.AccountSeed, _ *world.Seed) {
				a.Clusters = []world.ClusterSeed{{Region: "us-east-2", Name: "train", Version: "1.35", Zones: []string{"us-east-2a"}}}
				a.Quotas["L-C4BD4855"] = -1
				a.ServiceControl = denying(action)
			}))
			need := needOf(t, "p5.48xlarge", 2)
			need.Cluster = "train"
			r := rowIn(t, l.found(t, need, "us-east-2").Rows(), "us-east-2a")
			want := map[Part]string{}
			for _, part := range parts {
				want[part] = "not permitted: " + action
			}
			if action == "ec2:DescribeAvailabilityZones" {
				want[SpotScore] = "scores go by zone id, and which zone has which is not known"
			}
			if diff := cmp.Diff(want, r.Problems, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("what is not known (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRegionsDenied: who may not list regions asks those that all accounts have.
func TestRegionsDenied(t *testing.T) {
	l := newLab(t, one(func(a *world.AccountSeed, _ *world.Seed) {
		a.ServiceControl = []byte(`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "NotAction": "ec2:DescribeRegions", "Resource": "*"}]}`)
	}))
	found := l.found(t, needOf(t, "g6.12xlarge", 2))
	if found.Guessed == "" || len(found.Regions) != len(awsapi.DefaultRegions("us-east-1")) {
		t.Errorf("asked %d regions, guessed %q", len(found.Regions), found.Guessed)
	}
}

// TestNamedRegionsDenied: nor are their names taken for wrong.
func TestNamedRegionsDenied(t *testing.T) {
	l := newLab(t, one(func(a *world.AccountSeed, _ *world.Seed) {
		a.OptedIn = []string{"eu-south-2"}
		a.ServiceControl = []byte(`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "NotAction": "ec2:DescribeRegions", "Resource": "*"}]}`)
	}))
	if found := l.found(t, needOf(t, "g6.12xlarge", 2), "us-east-2", "eu-south-2"); len(found.Regions) != 2 || len(found.Others) != len(awsapi.DefaultRegions("us-east-1"))-1 {
		t.Errorf("asked %d regions, looked around in %d", len(found.Regions), len(found.Others))
	}
}

// TestHangingRegion: a region that does not answer costs its own row.
func TestHangingRegion(t *testing.T) {
	l := newLab(t, one(func(_ *world.AccountSeed, s *world.Seed) {
		s.Conditions.Faults = []world.Fault{{Region: "eu-west-1", Kind: world.Hang}}
	}))
	search := l.search(t, needOf(t, "g6.12xlarge", 2), "eu-west-1", "us-east-1")
	search.Deadline = time.Second
	rows := mustFind(t, search).Rows()
	if r := rowIn(t, rows, "eu-west-1"); r.Problems[Offered] != "no answer within 1s" {
		t.Errorf("the region that hangs: %+v", r)
	}
	if r := rowIn(t, rows, "us-east-1d"); r.Quota == nil {
		t.Errorf("another region suffers: %+v", r)
	}
}

// TestThrottled: one call a second in each region, and everything is known in
// the end.
func TestThrottled(t *testing.T) {
	regions := []string{"us-east-1", "us-east-2", "us-west-2"}
	l := newLab(t, one(func(_ *world.AccountSeed, s *world.Seed) {
		s.Conditions.Limits = []world.Limit{{Rate: 1, Burst: 1}}
		speed := 100.0
		s.Speed = &speed // of the clock that fills the bucket
	}))
	found := l.found(t, needOf(t, "g6.12xlarge", 2), regions...)
	for _, r := range found.Rows() {
		if len(r.Problems) > 0 {
			t.Errorf("%s: not known: %v", r.Zone, r.Problems)
		}
	}
	answered, refused := map[string]int{}, map[string]int{}
	for _, c := range l.Calls() {
		if c.Outcome == "ok" {
			answered[c.Region+" "+c.Action]++
		} else {
			refused[c.Region]++
		}
	}
	for _, region := range regions {
		if refused[region] == 0 {
			t.Errorf("nothing was throttled in %s: the test shows nothing", region)
		}
		for _, action := range []string{"DescribeAvailabilityZones", "DescribeInstanceTypeOfferings", "DescribeInstances", "DescribeCapacityReservations", "GetSpotPlacementScores", "DescribeSpotPriceHistory"} {
			if n := answered[region+" "+action]; n != 1 {
				t.Errorf("%s answered %s %d times", region, action, n)
			}
		}
		if n := answered[region+" GetServiceQuota"]; n != 2 {
			t.Errorf("%s answered for %d quotas", region, n)
		}
	}
}

// TestServerErrors: a storm that passes is weathered, one that does not costs
// the rows of its region.
func TestServerErrors(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "7")
	l := newLab(t, one(func(_ *world.AccountSeed, s *world.Seed) {
		s.Conditions.Faults = []world.Fault{{Region: "us-east-1", Kind: world.Fail, Times: 5}, {Region: "us-west-2", Kind: world.Fail, Code: "ServiceUnavailable", Status: 503}}
	}))
	search := l.search(t, needOf(t, "g6.12xlarge", 2), "us-east-1", "us-west-2")
	search.Deadline = 10 * time.Second
	rows := mustFind(t, search).Rows()
	if r := rowIn(t, rows, "us-east-1d"); len(r.Problems) > 0 {
		t.Errorf("a storm that passed: %v", r.Problems)
	}
	if r := rowIn(t, rows, "us-west-2"); r.Problems[Offered] == "" {
		t.Errorf("a storm that does not pass: %+v", r)
	}
}

// TestSkew: signatures of a clock that is wrong are refused, which is said. That
// AWS and the SDK's own correction agree on is a few minutes.
func TestSkew(t *testing.T) {
	for skew, fine := range map[time.Duration]bool{2 * time.Minute: true, time.Hour: false} {
		l := newLab(t, one(func(_ *world.AccountSeed, s *world.Seed) { s.Conditions.Skew = world.Duration(skew) }))
		_, err := l.search(t, needOf(t, "g6.12xlarge", 2), "us-east-1").All(t.Context(), func(Region) {})
		if fine && err != nil || !fine && (awsapi.KindOf(err) != awsapi.ClockSkew || len(fault.HintsOf(err)) == 0) {
			t.Errorf("%s: %v is %q, hints %q", skew, err, awsapi.KindOf(err), fault.HintsOf(err))
		}
	}
}

func TestExpiredCredentials(t *testing.T) {
	l := newLab(t, one(func(a *world.AccountSeed, _ *world.Seed) { a.Keys[0].Expires = time.Now().Add(-time.Hour) }))
	_, err := l.search(t, needOf(t, "g6.12xlarge", 2)).All(t.Context(), func(Region) {})
	if kind := awsapi.KindOf(err); kind != awsapi.Expired {
		t.Errorf("%v is %q", err, kind)
	}
}

func TestInterrupted(t *testing.T) {
	l := newLab(t, world.Default())
	_, err := l.search(t, needOf(t, "g6.12xlarge", 2)).All(ended(t), func(Region) {})
	if !errors.Is(err, context.Canceled) || fault.CodeOf(err) != fault.Interrupted {
		t.Errorf("%v, code %d", err, fault.CodeOf(err))
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
