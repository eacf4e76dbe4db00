package sim_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/trainyard/trainyard/test/awssim/sim"
	"github.com/trainyard/trainyard/test/awssim/world"
)

func TestThrottling(t *testing.T) {
	s := sim.Start(t, frozen(func(seed *world.Seed) { seed.Conditions.Limits = []world.Limit{{Rate: 1, Burst: 1}} }))
	cfg := admin(s, "us-east-1")
	errorsOf(t, cfg)
	for i, want := range []string{"RequestLimitExceeded", "Throttling", "ThrottlingException", "TooManyRequestsException"} {
		if got := errorsOf(t, cfg)[i]; got != want {
			t.Errorf("at more than a call a second the answer is %q, want %q", got, want)
		}
	}
	_, err := ec2.NewFromConfig(admin(s, "us-west-2")).DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
	noError(t, err) // each region has a limit of its own
	s.World.Clock.Advance(time.Second)
	for _, got := range errorsOf(t, cfg) {
		if got != "" {
			t.Errorf("a second later the answer is %q", got)
		}
	}
}

// A limit without an action is one for all of them; one with an action is for it alone.
func TestLimitsOfActions(t *testing.T) {
	for name, test := range map[string]struct {
		limit world.Limit
		want  []string // of DescribeVpcs, DescribeSubnets and DescribeVpcs again
	}{
		"all together":   {world.Limit{Rate: 1, Burst: 1}, []string{"", "RequestLimitExceeded", "RequestLimitExceeded"}},
		"of the service": {world.Limit{Service: "ec2", Rate: 1, Burst: 2}, []string{"", "", "RequestLimitExceeded"}},
		"each of some":   {world.Limit{Action: "Describe*", Rate: 1, Burst: 1}, []string{"", "", "RequestLimitExceeded"}},
		"of another":     {world.Limit{Action: "DescribeSubnets", Rate: 1, Burst: 1}, []string{"", "", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			s := sim.Start(t, frozen(func(seed *world.Seed) { seed.Conditions.Limits = []world.Limit{test.limit} }))
			c := ec2.NewFromConfig(admin(s, "us-east-1"))
			_, first := c.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
			_, second := c.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
			_, third := c.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
			if got := []string{code(first), code(second), code(third)}; !slices.Equal(got, test.want) {
				t.Errorf("the answers are %q, want %q", got, test.want)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	s := sim.Start(t, frozen())
	cfg := admin(s, "us-east-1")
	s.World.SetConditions(world.Conditions{Faults: []world.Fault{
		{Service: "ec2", Action: "Describe*", Region: "us-east-1", Skip: 1, Times: 2, Kind: world.Fail, Code: "Unavailable", Status: 503},
		{Service: "sts", Kind: world.Drop},
	}})
	c := ec2.NewFromConfig(cfg)
	for i, want := range []string{"", "Unavailable", "Unavailable", ""} {
		_, err := c.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
		if got := code(err); got != want {
			t.Errorf("the answer to call %d is %q, want %q", i+1, got, want)
		}
	}
	_, err := sts.NewFromConfig(cfg).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	wantCode(t, err, "no answer")
}

func TestAnswerThatIsLost(t *testing.T) {
	s := sim.Start(t, frozen(func(seed *world.Seed) {
		seed.Conditions.Faults = []world.Fault{{Action: "CreateCapacityReservation", Times: 1, Kind: world.Lose}}
	}))
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	token := func(in *ec2.CreateCapacityReservationInput) { in.ClientToken = aws.String("once") }
	_, err := reserve(c, "us-east-1d", 1, token)
	wantCode(t, err, "no answer")
	wantUSD(t, s, g6/60, g6) // it was made all the same
	_, err = reserve(c, "us-east-1d", 1, token)
	noError(t, err)
	wantUSD(t, s, g6/60, g6) // and not again
	_, err = reserve(c, "us-east-1d", 2, token)
	wantCode(t, err, "IdempotentParameterMismatch")
}

func TestClientTokenAsLongAsAllowed(t *testing.T) {
	s := sim.Start(t, frozen())
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	for token, want := range map[string]string{
		strings.Repeat("x", 64): "", strings.Repeat("x", 65): "InvalidParameterValue", "é": "InvalidParameterValue",
	} {
		_, err := reserve(c, "us-east-1d", 1, func(in *ec2.CreateCapacityReservationInput) { in.ClientToken = &token })
		wantCode(t, err, want)
	}
	wantUSD(t, s, g6/60, g6)
}

// A caller whose deadline passes does not know that what it asked for was done.
func TestAnswerThatIsLate(t *testing.T) {
	s := sim.Start(t, frozen(func(seed *world.Seed) {
		seed.Conditions.Faults = []world.Fault{
			{Action: "CreateCapacityReservation", Times: 1, Kind: world.Late},
			{Action: "DescribeVpcs", Kind: world.Late, Delay: world.Duration(time.Millisecond)},
		}
	}))
	ctx, giveUp := context.WithCancel(t.Context())
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	failed := make(chan error)
	go func() {
		_, err := c.CreateCapacityReservation(ctx, reservation("us-east-1d", 1))
		failed <- err
	}()
	noError(t, s.World.Await(t.Context(), func(calls []world.Record) bool { return len(calls) == 1 && calls[0].Outcome == "ok, answer late" }))
	wantUSD(t, s, g6/60, g6) // it is made before the caller has an answer
	giveUp()
	wantCode(t, <-failed, "no answer")
	_, err := c.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
	noError(t, err) // an answer that is late for a time comes
}

func TestRegionThatHangs(t *testing.T) {
	s := sim.Start(t, frozen(func(seed *world.Seed) {
		seed.Conditions.Faults = []world.Fault{{Region: "us-west-2", Kind: world.Hang}}
	}))
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := ec2.NewFromConfig(admin(s, "us-west-2")).DescribeVpcs(ctx, &ec2.DescribeVpcsInput{})
		failed <- err
	}()
	noError(t, s.World.Await(t.Context(), func(calls []world.Record) bool { return len(calls) == 1 && calls[0].Outcome == "hangs" }))
	_, err := ec2.NewFromConfig(admin(s, "us-east-1")).DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
	noError(t, err) // others go on
	cancel()
	if err := <-failed; err == nil {
		t.Error("the call that hung had an answer")
	}
}

func TestEventualConsistency(t *testing.T) {
	s := sim.Start(t, frozen(func(seed *world.Seed) { seed.Conditions.Consistency = world.Duration(2 * time.Second) }))
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	r, err := reserve(c, "us-east-1d", 1)
	noError(t, err)
	describe := &ec2.DescribeCapacityReservationsInput{CapacityReservationIds: []string{*r.CapacityReservationId}}
	_, err = c.DescribeCapacityReservations(t.Context(), describe)
	wantCode(t, err, "InvalidCapacityReservationId.NotFound")
	list, err := c.DescribeCapacityReservations(t.Context(), &ec2.DescribeCapacityReservationsInput{})
	noError(t, err)
	if n := len(list.CapacityReservations); n != 0 {
		t.Errorf("a list has %d reservations at once", n)
	}
	s.World.Clock.Advance(2 * time.Second)
	_, err = c.DescribeCapacityReservations(t.Context(), describe)
	noError(t, err)
}

// A clock that moves with each call lets the SDK's waiters end without waiting.
func TestWaiters(t *testing.T) {
	s := sim.Start(t, frozen(func(seed *world.Seed) {
		seed.TickPerCall = world.Duration(time.Minute)
		seed.Conditions.Consistency = world.Duration(2 * time.Minute)
	}))
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	out, err := run(c, "us-east-1d", 1)
	noError(t, err)
	ids := &ec2.DescribeInstancesInput{InstanceIds: []string{*out.Instances[0].InstanceId}}
	quick := func(o *ec2.InstanceRunningWaiterOptions) {
		o.MinDelay, o.MaxDelay = time.Millisecond, 2*time.Millisecond
	}
	noError(t, ec2.NewInstanceRunningWaiter(c, quick).Wait(t.Context(), ids, time.Minute))
	_, err = c.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: ids.InstanceIds})
	noError(t, err)
	quickEnd := func(o *ec2.InstanceTerminatedWaiterOptions) {
		o.MinDelay, o.MaxDelay = time.Millisecond, 2*time.Millisecond
	}
	noError(t, ec2.NewInstanceTerminatedWaiter(c, quickEnd).Wait(t.Context(), ids, time.Minute))
	noError(t, eks.NewClusterActiveWaiter(eks.NewFromConfig(admin(s, "us-east-1"))).Wait(t.Context(), &eks.DescribeClusterInput{Name: aws.String("ray-train")}, time.Minute))
}

func TestPagination(t *testing.T) {
	s := sim.Start(t, frozen())
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	for range 4 {
		_, err := run(c, "us-east-1c", 30, func(in *ec2.RunInstancesInput) { in.InstanceType = "t3.nano" })
		if code(err) == "VcpuLimitExceeded" {
			break
		}
		noError(t, err)
	}
	pages, seen := 0, map[string]bool{}
	all := ec2.NewDescribeInstancesPaginator(c, &ec2.DescribeInstancesInput{MaxResults: aws.Int32(7)})
	for all.HasMorePages() {
		page, err := all.NextPage(t.Context())
		noError(t, err)
		pages++
		for _, r := range page.Reservations {
			for _, i := range r.Instances {
				seen[*i.InstanceId] = true
			}
		}
	}
	if pages != 5 || len(seen) != 30 {
		t.Errorf("%d pages have %d instances", pages, len(seen))
	}
	_, err := c.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{NextToken: aws.String("2")})
	wantCode(t, err, "InvalidParameterValue")
	_, err = c.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{MaxResults: aws.Int32(2)})
	wantCode(t, err, "InvalidParameterValue")
	quotas := servicequotas.NewFromConfig(admin(s, "us-east-1"))
	_, err = quotas.ListServiceQuotas(t.Context(), &servicequotas.ListServiceQuotasInput{ServiceCode: aws.String("ec2"), NextToken: aws.String("x")})
	wantCode(t, err, "InvalidPaginationTokenException")
}

func TestRunInstancesOnce(t *testing.T) {
	s := sim.Start(t, frozen())
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	token := func(in *ec2.RunInstancesInput) { in.ClientToken = aws.String("once") }
	first, err := run(c, "us-east-1d", 1, token)
	noError(t, err)
	second, err := run(c, "us-east-1d", 1, token)
	noError(t, err)
	if *first.Instances[0].InstanceId != *second.Instances[0].InstanceId {
		t.Error("the same token made two instances")
	}
	_, err = run(c, "us-east-1d", 1, token, func(in *ec2.RunInstancesInput) { in.InstanceType = types.InstanceTypeG6Xlarge })
	wantCode(t, err, "IdempotentParameterMismatch")
}
