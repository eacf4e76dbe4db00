package capacity

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/trainyard/trainyard/internal/instancetype"
	"github.com/trainyard/trainyard/internal/process"
)

// The tags of a reservation say whose it is and whether anybody still looks
// after it. No file does: they are there whichever machine asks.
const (
	TagManagedBy = "trainyard.dev/managed-by" // always "trainyard"
	TagOwner     = "trainyard.dev/owner"      // the user
	TagRun       = "trainyard.dev/run"        // the command that made it
	TagProcess   = "trainyard.dev/process"    // "PID START MACHINE"
	TagHeartbeat = "trainyard.dev/heartbeat"  // when that process was last known to live
	TagExpiry    = "trainyard.dev/expiry"     // when it ends by itself
	TagKept      = "trainyard.dev/kept"       // "true": for a launch, no longer the command's own

	manager   = "trainyard"
	probeName = "trainyard probe" // the tag Name, until one is kept
)

const (
	// beatEvery is how often a command that holds a reservation says that it lives.
	beatEvery = 30 * time.Second
	// deadAfter is how old a heartbeat from another machine is when its command
	// counts as dead. Clocks of two machines may differ by minutes.
	deadAfter = 10 * time.Minute
)

// Reservation is a capacity reservation.
type Reservation struct {
	ID, Region, Zone string
	Type             string // of its instances
	Total, Unused    int    // instances
	State            types.CapacityReservationState
	End              time.Time // zero: never
	Block            bool      // a Capacity Block
	account          string    // that pays for it

	Ours      bool // trainyard's, by its tag
	Owner     string
	Run       string
	Kept      bool
	Heartbeat time.Time
	machine   string
	process   process.ID
}

// tags are those of a reservation that is about to be made.
func (m Me) tags(now, expiry time.Time) []types.Tag {
	return []types.Tag{
		tag("Name", probeName),
		tag(TagManagedBy, manager),
		tag(TagOwner, m.Owner),
		tag(TagRun, m.Run),
		tag(TagProcess, fmt.Sprintf("%d %d %s", m.Process.PID, m.Process.Started, m.Machine)),
		tag(TagHeartbeat, now.UTC().Format(time.RFC3339)),
		tag(TagExpiry, expiry.UTC().Format(time.RFC3339)),
	}
}

func tag(key, value string) types.Tag { return types.Tag{Key: &key, Value: &value} }

// live tells whether the reservation has, or may yet have, capacity.
func (v Reservation) live() bool {
	return v.State == types.CapacityReservationStateActive || v.undecided()
}

// undecided tells whether AWS may yet give the reservation its capacity.
func (v Reservation) undecided() bool { return slices.Contains(undecidedStates(), v.State) }

func undecidedStates() []types.CapacityReservationState {
	return []types.CapacityReservationState{
		types.CapacityReservationStatePending, types.CapacityReservationStateAssessing, types.CapacityReservationStateScheduled, types.CapacityReservationStateDelayed,
	}
}

// counts tells whether what is unused of it counts against the On-Demand quota
// of an account.
func (v Reservation) counts(account string) bool {
	return v.live() && !v.Block && (v.account == account || account == "")
}

// Dead tells whether it is a probe of the same owner's whose command has ended
// without cancelling it. On the same machine the process itself tells;
// elsewhere its heartbeat must do.
func (v Reservation) Dead(me Me, now time.Time) bool {
	switch {
	case !v.Ours || !v.live() || v.Kept || v.Owner != me.Owner || v.Run == me.Run:
		return false
	case v.machine == me.Machine:
		return !v.process.Alive()
	default:
		return now.Sub(v.Heartbeat) > deadAfter
	}
}

// KeptBy tells whether it was kept for a launch of this owner's.
func (v Reservation) KeptBy(owner string) bool {
	return v.Ours && v.Kept && v.Owner == owner && v.State == types.CapacityReservationStateActive
}

// Holds tells whether all nodes of a job can be launched into it.
func (v Reservation) Holds(need Need) bool {
	return v.Unused >= need.Nodes && slices.ContainsFunc(need.Types, func(t instancetype.Type) bool { return t.Name == v.Type })
}

// reservationsIn lists a region's reservations that have, or will have,
// capacity.
func reservationsIn(ctx context.Context, api ec2.DescribeCapacityReservationsAPIClient, more ...types.Filter) ([]Reservation, error) {
	var all []Reservation
	pages := ec2.NewDescribeCapacityReservationsPaginator(api, &ec2.DescribeCapacityReservationsInput{
		Filters: append([]types.Filter{filter("state", "active", "pending", "assessing")}, more...),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing capacity reservations: %w", err)
		}
		for _, v := range page.CapacityReservations {
			all = append(all, readReservation(v))
		}
	}
	return all, nil
}

func readReservation(v types.CapacityReservation) Reservation {
	r := Reservation{
		ID: aws.ToString(v.CapacityReservationId), Zone: aws.ToString(v.AvailabilityZone), Type: aws.ToString(v.InstanceType),
		Total: int(aws.ToInt32(v.TotalInstanceCount)), Unused: int(aws.ToInt32(v.AvailableInstanceCount)),
		State: v.State, End: aws.ToTime(v.EndDate), account: aws.ToString(v.OwnerId),
		Block: v.ReservationType == types.CapacityReservationTypeCapacityBlock,
	}
	if arn := strings.Split(aws.ToString(v.CapacityReservationArn), ":"); len(arn) > 3 {
		r.Region = arn[3]
	}
	for _, t := range v.Tags {
		value := aws.ToString(t.Value)
		switch aws.ToString(t.Key) {
		case TagManagedBy:
			r.Ours = value == manager
		case TagOwner:
			r.Owner = value
		case TagRun:
			r.Run = value
		case TagKept:
			r.Kept = value == "true"
		case TagHeartbeat:
			r.Heartbeat, _ = time.Parse(time.RFC3339, value) // what cannot be read is old
		case TagProcess:
			r.process, r.machine = readProcess(value)
		}
	}
	return r
}

func readProcess(text string) (id process.ID, machine string) {
	parts := strings.SplitN(text, " ", 3)
	if len(parts) < 3 {
		return id, ""
	}
	id.PID, _ = strconv.Atoi(parts[0]) // 0 is no process
	id.Started, _ = strconv.ParseInt(parts[1], 10, 64)
	return id, parts[2]
}
