package sim_test

import (
	"math"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/trainyard/trainyard/test/awssim/sim"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// The price of g6.12xlarge in us-east-1, an hour.
const g6 = 4.6016

func wantUSD(t *testing.T, s *sim.Server, usd, perHour float64) {
	t.Helper()
	gotUSD, gotPerHour := total(s)
	if math.Abs(gotUSD-usd) > 1e-6 || math.Abs(gotPerHour-perHour) > 1e-6 {
		t.Errorf("the ledger says $%.4f and $%.4f an hour, want $%.4f and $%.4f", gotUSD, gotPerHour, usd, perHour)
	}
}

func TestReservationIsBilledUntilItEnds(t *testing.T) {
	s := sim.Start(t, frozen())
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	r, err := reserve(c, "us-east-1d", 2)
	noError(t, err)
	if r.State != types.CapacityReservationStateActive || *r.AvailableInstanceCount != 2 {
		t.Errorf("the new reservation is %s with %d instances", r.State, *r.AvailableInstanceCount)
	}
	wantUSD(t, s, 2*g6/60, 2*g6) // a minute is the least
	s.World.Clock.Advance(30 * time.Minute)
	wantUSD(t, s, g6, 2*g6)
	if open := s.Reservations(); len(open) != 1 || open[0].ReservationID != *r.CapacityReservationId || open[0].State != "active" || open[0].Total != 2 {
		t.Errorf("the reservations that have not ended are %+v", open)
	}

	_, err = c.CancelCapacityReservation(t.Context(), &ec2.CancelCapacityReservationInput{CapacityReservationId: r.CapacityReservationId})
	noError(t, err)
	if open := s.Reservations(); len(open) != 0 {
		t.Errorf("one that was cancelled has not ended: %+v", open)
	}
	s.World.Clock.Advance(time.Hour)
	wantUSD(t, s, g6, 0)
	_, err = c.CancelCapacityReservation(t.Context(), &ec2.CancelCapacityReservationInput{CapacityReservationId: r.CapacityReservationId})
	wantCode(t, err, "InvalidCapacityReservationState")
}

func TestReservationExpires(t *testing.T) {
	seed := frozen()
	s := sim.Start(t, seed)
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	end := seed.Start.Add(30 * time.Minute)
	r, err := reserve(c, "us-east-1d", 1, func(in *ec2.CreateCapacityReservationInput) {
		in.EndDate, in.EndDateType = &end, types.EndDateTypeLimited
	})
	noError(t, err)
	s.World.Clock.Advance(5 * time.Hour)
	wantUSD(t, s, g6/2, 0)
	out, err := c.DescribeCapacityReservations(t.Context(), &ec2.DescribeCapacityReservationsInput{CapacityReservationIds: []string{*r.CapacityReservationId}})
	noError(t, err)
	if got := out.CapacityReservations[0].State; got != types.CapacityReservationStateExpired {
		t.Errorf("after its end the reservation is %s", got)
	}
}

// An id that is none is told from one that nobody has.
func TestReservationIDs(t *testing.T) {
	c := ec2.NewFromConfig(admin(sim.Start(t, frozen()), "us-east-1"))
	for id, want := range map[string]string{
		"cr-00000000000000000": "InvalidCapacityReservationId.NotFound", "cr-12345678": "InvalidCapacityReservationId.NotFound",
		"cr-0": "InvalidCapacityReservationId.Malformed", "cr-0000000000000000g": "InvalidCapacityReservationId.Malformed",
		"i-00000000000000000": "InvalidCapacityReservationId.Malformed",
	} {
		_, err := c.DescribeCapacityReservations(t.Context(), &ec2.DescribeCapacityReservationsInput{CapacityReservationIds: []string{id}})
		wantCode(t, err, want)
		_, err = c.CancelCapacityReservation(t.Context(), &ec2.CancelCapacityReservationInput{CapacityReservationId: &id})
		wantCode(t, err, want)
	}
}

// AWS ends a reservation up to an hour after its end date; what that costs is seen.
func TestReservationExpiresLate(t *testing.T) {
	seed := frozen(func(seed *world.Seed) { seed.Conditions.LateEnd = world.Duration(time.Hour) })
	s := sim.Start(t, seed)
	end := seed.Start.Add(30 * time.Minute)
	_, err := reserve(ec2.NewFromConfig(admin(s, "us-east-1")), "us-east-1d", 1, func(in *ec2.CreateCapacityReservationInput) {
		in.EndDate, in.EndDateType = &end, types.EndDateTypeLimited
	})
	noError(t, err)
	s.World.Clock.Advance(time.Hour)
	wantUSD(t, s, g6, g6)
	s.World.Clock.Advance(4 * time.Hour)
	wantUSD(t, s, 1.5*g6, 0)
}

func TestInstancesInReservation(t *testing.T) {
	s := sim.Start(t, frozen())
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	r, err := reserve(c, "us-east-1d", 4) // all of the quota: 192 vCPUs
	noError(t, err)
	inside := func(in *ec2.RunInstancesInput) {
		in.CapacityReservationSpecification = &types.CapacityReservationSpecification{
			CapacityReservationTarget: &types.CapacityReservationTarget{CapacityReservationId: r.CapacityReservationId},
		}
	}
	_, err = run(c, "us-east-1d", 1)
	wantCode(t, err, "VcpuLimitExceeded")
	_, err = run(c, "us-east-1d", 5, inside)
	wantCode(t, err, "ReservationCapacityExceeded")
	s.World.Clock.Advance(time.Minute)
	launched, err := run(c, "us-east-1d", 4, inside)
	noError(t, err)
	wantUSD(t, s, 2*4*g6/60, 4*g6) // the minute before, and a minute of the instances, which is the least

	_, err = c.CancelCapacityReservation(t.Context(), &ec2.CancelCapacityReservationInput{CapacityReservationId: r.CapacityReservationId})
	noError(t, err)
	s.World.Clock.Advance(time.Hour)
	wantUSD(t, s, 4*g6+4*g6/60, 4*g6) // they go on, and nothing is paid for twice
	ids := []string{}
	for _, i := range launched.Instances {
		ids = append(ids, *i.InstanceId)
	}
	_, err = c.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: ids})
	noError(t, err)
	s.World.Clock.Advance(time.Hour)
	wantUSD(t, s, 4*g6+4*g6/60, 0)
	if free := s.World.Free("use1-az4", "g6.12xlarge", s.World.Clock.Now()); free != 12 {
		t.Errorf("the zone has %d instances left, want all 12", free)
	}
}

func TestOpenReservationTakesInstances(t *testing.T) {
	s := sim.Start(t, frozen())
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	_, err := reserve(c, "us-east-1d", 2, func(in *ec2.CreateCapacityReservationInput) {
		in.InstanceMatchCriteria = types.InstanceMatchCriteriaOpen
	})
	noError(t, err)
	out, err := run(c, "us-east-1d", 2)
	noError(t, err)
	if out.Instances[0].CapacityReservationId == nil {
		t.Error("instances did not go into the open reservation that fits")
	}
}

// A new open reservation takes in what runs already: that it succeeds proves nothing.
func TestOpenReservationAbsorbsInstances(t *testing.T) {
	s := sim.Start(t, frozen(account(func(a *world.AccountSeed) {
		a.Instances = []world.InstanceSeed{{Zone: "us-east-1d", Type: "g6.12xlarge", Count: 4}} // all of the quota
	})))
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	_, err := reserve(c, "us-east-1d", 4)
	wantCode(t, err, "InstanceLimitExceeded")
	r, err := reserve(c, "us-east-1d", 4, func(in *ec2.CreateCapacityReservationInput) {
		in.InstanceMatchCriteria = types.InstanceMatchCriteriaOpen
	})
	noError(t, err)
	if *r.AvailableInstanceCount != 0 {
		t.Errorf("the reservation has %d places left, where four instances run", *r.AvailableInstanceCount)
	}
	wantUSD(t, s, 4*g6/60, 4*g6) // of the instances alone
}

func TestQuotaAndStockAreToldApart(t *testing.T) {
	s := sim.Start(t, frozen())
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	_, err := reserve(c, "us-east-1d", 5)
	wantCode(t, err, "InstanceLimitExceeded")
	_, err = reserve(c, "us-east-1b", 2)
	wantCode(t, err, "InsufficientInstanceCapacity")
	_, err = reserve(c, "us-east-1e", 1) // which does not offer it
	wantCode(t, err, "Unsupported")
	_, err = run(c, "us-east-1d", 5)
	wantCode(t, err, "VcpuLimitExceeded")
	_, err = run(c, "us-east-1b", 2)
	wantCode(t, err, "InsufficientInstanceCapacity")
	wantUSD(t, s, 0, 0)
}

func TestStockComesBack(t *testing.T) {
	s := sim.Start(t, frozen(func(seed *world.Seed) {
		seed.Stock = []world.Stock{
			{Type: "g6.*", Zone: "use1-az4", Count: 0},
			{Type: "g6.*", Zone: "use1-az4", Count: 2, After: world.Duration(time.Hour)},
		}
	}))
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	_, err := reserve(c, "us-east-1d", 2)
	wantCode(t, err, "InsufficientInstanceCapacity")
	s.World.Clock.Advance(time.Hour)
	_, err = reserve(c, "us-east-1d", 2)
	noError(t, err)
}

func TestAssessing(t *testing.T) {
	s := sim.Start(t, frozen(func(seed *world.Seed) { seed.Conditions.Assessing = world.Duration(time.Minute) }))
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	state := func(r *types.CapacityReservation) types.CapacityReservationState {
		out, err := c.DescribeCapacityReservations(t.Context(), &ec2.DescribeCapacityReservationsInput{CapacityReservationIds: []string{*r.CapacityReservationId}})
		noError(t, err)
		return out.CapacityReservations[0].State
	}
	fits, err := reserve(c, "us-east-1d", 2)
	noError(t, err)
	scarce, err := reserve(c, "us-east-1b", 2)
	noError(t, err)
	cancelled, err := reserve(c, "us-east-1d", 2)
	noError(t, err)
	_, err = c.CancelCapacityReservation(t.Context(), &ec2.CancelCapacityReservationInput{CapacityReservationId: cancelled.CapacityReservationId})
	noError(t, err)
	if got := state(fits); got != types.CapacityReservationStateAssessing {
		t.Errorf("at first it is %s", got)
	}
	s.World.Clock.Advance(time.Minute)
	for r, want := range map[*types.CapacityReservation]types.CapacityReservationState{fits: "active", scarce: "failed", cancelled: "cancelled"} {
		if got := state(r); got != want {
			t.Errorf("after a minute it is %s, want %s", got, want)
		}
	}
	wantUSD(t, s, 2*g6/60, 2*g6)
}

func TestPendingReservationCostsNothing(t *testing.T) {
	s := sim.Start(t, frozen(func(seed *world.Seed) { seed.Conditions.Pending = world.Duration(time.Minute) }))
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	r, err := reserve(c, "us-east-1d", 4)
	noError(t, err)
	if r.State != types.CapacityReservationStatePending {
		t.Errorf("at first it is %s", r.State)
	}
	_, err = reserve(c, "us-east-1d", 1)
	wantCode(t, err, "InstanceLimitExceeded") // but it counts
	wantUSD(t, s, 0, 0)
	s.World.Clock.Advance(time.Hour + time.Minute)
	wantUSD(t, s, 4*g6, 4*g6)
}

func TestModifyReservation(t *testing.T) {
	s := sim.Start(t, frozen())
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	r, err := reserve(c, "us-east-1d", 1)
	noError(t, err)
	modify := func(count int32) error {
		_, err := c.ModifyCapacityReservation(t.Context(), &ec2.ModifyCapacityReservationInput{CapacityReservationId: r.CapacityReservationId, InstanceCount: &count})
		return err
	}
	noError(t, modify(3))
	wantUSD(t, s, 3*g6/60, 3*g6)
	wantCode(t, modify(5), "InstanceLimitExceeded")
	noError(t, modify(1))
	s.World.Clock.Advance(time.Hour)
	wantUSD(t, s, g6, g6)
}

func TestCapacityBlock(t *testing.T) {
	s := sim.Start(t, frozen())
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	offer := func(count int32) (*ec2.DescribeCapacityBlockOfferingsOutput, error) {
		return c.DescribeCapacityBlockOfferings(t.Context(), &ec2.DescribeCapacityBlockOfferingsInput{
			InstanceType: aws.String("p5.48xlarge"), InstanceCount: &count, CapacityDurationHours: aws.Int32(24),
		})
	}
	for _, count := range []int32{64, 3, 128} { // more than there are, and what no block has
		none, err := offer(count)
		noError(t, err)
		if n := len(none.CapacityBlockOfferings); n != 0 {
			t.Errorf("%d instances have %d offerings, want an empty list and no error", count, n)
		}
	}
	_, err := offer(0)
	wantCode(t, err, "InvalidParameterValue")
	two, err := offer(2)
	noError(t, err)
	block := two.CapacityBlockOfferings[0]
	bought, err := c.PurchaseCapacityBlock(t.Context(), &ec2.PurchaseCapacityBlockInput{
		CapacityBlockOfferingId: block.CapacityBlockOfferingId, InstancePlatform: types.CapacityReservationInstancePlatformLinuxUnix,
	})
	noError(t, err)
	id := bought.CapacityReservation.CapacityReservationId
	_, err = c.CancelCapacityReservation(t.Context(), &ec2.CancelCapacityReservationInput{CapacityReservationId: id})
	wantCode(t, err, "OperationNotPermitted")
	paid, _ := total(s)
	launch := func() error {
		_, err := run(c, *block.AvailabilityZone, 2, func(in *ec2.RunInstancesInput) {
			in.InstanceType = "p5.48xlarge"
			in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeCapacityBlock}
			in.CapacityReservationSpecification = &types.CapacityReservationSpecification{CapacityReservationTarget: &types.CapacityReservationTarget{CapacityReservationId: id}}
		})
		return err
	}
	wantCode(t, launch(), "ReservationCapacityExceeded")
	s.World.Clock.Advance(block.StartDate.Sub(s.World.Clock.Now()))
	noError(t, launch())
	s.World.Clock.Advance(24*time.Hour - 20*time.Minute)
	out, err := c.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
	noError(t, err)
	if i := out.Reservations[0].Instances[0]; i.State.Name != types.InstanceStateNameTerminated {
		t.Errorf("ten minutes after AWS ends the block's instances they are %s", i.State.Name)
	}
	wantUSD(t, s, paid, 0) // paid for once, at once
}

func TestSpotInstancesHaveAQuotaOfTheirOwn(t *testing.T) {
	s := sim.Start(t, frozen(account(func(a *world.AccountSeed) { a.Quotas["L-3819A6DF"] = 48 })))
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	spot := func(in *ec2.RunInstancesInput) {
		in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot}
	}
	_, err := run(c, "us-east-1d", 2, spot)
	wantCode(t, err, "MaxSpotInstanceCountExceeded")
	out, err := run(c, "us-east-1d", 1, spot)
	noError(t, err)
	if out.Instances[0].InstanceLifecycle != types.InstanceLifecycleTypeSpot {
		t.Error("the instance is not a Spot instance")
	}
	_, err = reserve(c, "us-east-1d", 4)
	noError(t, err)
}

func TestSeededInstancesCount(t *testing.T) {
	s := sim.Start(t, frozen(account(func(a *world.AccountSeed) {
		a.Instances = []world.InstanceSeed{{Zone: "us-east-1d", Type: "g6.12xlarge", Count: 3}}
	})))
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	_, err := reserve(c, "us-east-1d", 2)
	wantCode(t, err, "InstanceLimitExceeded")
	out, err := c.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
	noError(t, err)
	if n := len(out.Reservations[0].Instances); n != 3 {
		t.Errorf("%d instances run", n)
	}
}
