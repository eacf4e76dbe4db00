package capacity

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/trainyard/trainyard/internal/awsapi"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/test/awssim/world"
)

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
