package sim_test

import (
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
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
