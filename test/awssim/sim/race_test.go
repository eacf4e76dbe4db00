package sim_test

import (
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"

	"github.com/trainyard/trainyard/test/awssim/sim"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// Many callers at once, while the world is changed and looked at, share what
// there is: never more is given than the quota, or the zone, has.
func TestManyCallers(t *testing.T) {
	s := sim.Start(t, frozen())
	var callers sync.WaitGroup
	var made sync.Map
	for n := range 12 {
		callers.Go(func() {
			c := ec2.NewFromConfig(admin(s, "us-east-1"))
			for range 5 {
				if r, err := reserve(c, "us-east-1d", 1); err == nil {
					made.Store(*r.CapacityReservationId, n)
				}
				_, _ = c.DescribeCapacityReservations(t.Context(), &ec2.DescribeCapacityReservationsInput{})
				_, _ = servicequotas.NewFromConfig(admin(s, "us-west-2")).ListServiceQuotas(t.Context(), &servicequotas.ListServiceQuotasInput{ServiceCode: aws.String("ec2")})
				s.World.SetConditions(world.Conditions{})
				s.World.Clock.Advance(time.Second)
				s.Ledger()
				s.State()
				s.Calls()
			}
		})
	}
	callers.Wait()
	count := 0
	made.Range(func(any, any) bool { count++; return true })
	if count != 4 {
		t.Errorf("%d reservations of one g6.12xlarge were made, where the quota has room for 4", count)
	}
	if _, perHour := total(s); perHour < 4*g6-1e-6 || perHour > 4*g6+1e-6 {
		t.Errorf("the ledger says $%g an hour for 4 reservations", perHour)
	}
}

// Answers are written down before anybody else may change what they tell of,
// which the race detector sees.
func TestAnswersAreOfOneMoment(t *testing.T) {
	s := sim.Start(t, frozen())
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for range 10 {
				if r, err := reserve(c, "us-east-1d", 1); err == nil {
					_, _ = c.CancelCapacityReservation(t.Context(), &ec2.CancelCapacityReservationInput{CapacityReservationId: r.CapacityReservationId})
				}
			}
		})
		callers.Go(func() {
			for range 20 {
				out, err := c.DescribeCapacityReservations(t.Context(), &ec2.DescribeCapacityReservationsInput{})
				if err != nil {
					t.Error(err)
					return
				}
				for _, r := range out.CapacityReservations {
					if (r.State == types.CapacityReservationStateCancelled) != (*r.AvailableInstanceCount == 0) {
						t.Errorf("a reservation is %s with %d instances", r.State, *r.AvailableInstanceCount)
					}
				}
			}
		})
	}
	callers.Wait()
}

// An answer that is repeated says what it said, whatever has changed since.
func TestRepeatedAnswerKeepsItsTags(t *testing.T) {
	s := sim.Start(t, frozen())
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	tag := func(key string) types.Tag { return types.Tag{Key: &key, Value: aws.String("x")} }
	ask := func() *types.CapacityReservation {
		r, err := reserve(c, "us-east-1d", 1, func(in *ec2.CreateCapacityReservationInput) {
			in.ClientToken = aws.String("once")
			in.TagSpecifications = []types.TagSpecification{{ResourceType: types.ResourceTypeCapacityReservation, Tags: []types.Tag{tag("a"), tag("b")}}}
		})
		noError(t, err)
		return r
	}
	r := ask()
	_, err := c.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{*r.CapacityReservationId}, Tags: []types.Tag{{Key: aws.String("a")}}})
	noError(t, err)
	if tags := ask().Tags; len(tags) != 2 || *tags[0].Key != "a" || *tags[1].Key != "b" {
		t.Errorf("the repeated answer has the tags %+v", tags)
	}
}
