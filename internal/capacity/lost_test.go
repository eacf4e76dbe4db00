package capacity

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// faulty is a lab where this goes wrong.
func faulty(t *testing.T, faults ...world.Fault) lab {
	t.Helper()
	t.Setenv("AWS_MAX_ATTEMPTS", "3")
	return newLab(t, one(func(_ *world.AccountSeed, s *world.Seed) { s.Conditions.Faults = faults }))
}

const (
	creating   = "CreateCapacityReservation"
	cancelling = "CancelCapacityReservation"
	describing = "DescribeCapacityReservations"
)

// TestLostAnswer: the reservation is made, and there is no answer. The SDK asks
// again with the same token; whatever it hears then, we find what was made, and
// that proves the stock.
func TestLostAnswer(t *testing.T) {
	lost := world.Fault{Action: creating, Kind: world.Lose, Times: 1}
	for name, faults := range map[string][]world.Fault{
		"once":                {lost},
		"always":              {{Action: creating, Kind: world.Lose}},
		"then AWS's failure":  {lost, {Action: creating, Kind: world.Fail}},
		"then throttled":      {lost, {Action: creating, Kind: world.Fail, Code: "RequestLimitExceeded", Status: 503}},
		"then expired":        {lost, {Action: creating, Kind: world.Fail, Code: "RequestExpired", Status: 400}},
		"then no permission":  {lost, {Action: creating, Kind: world.Fail, Code: "UnauthorizedOperation", Status: 403}},
		"then no stock":       {lost, {Action: creating, Kind: world.Fail, Code: "InsufficientInstanceCapacity", Status: 500}},
		"and hidden at first": {lost, {Action: creating, Kind: world.Fail}, {Action: describing, Kind: world.Fail, Code: "RequestExpired", Status: 400, Times: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			l := faulty(t, faults...)
			if found := probed(t, l.prober(t), g6In("us-east-1d")); found["us-east-1d"].Outcome != Proven {
				t.Errorf("found %+v", found)
			}
			if n := len(l.paid()); n != 1 {
				t.Errorf("%d reservations were paid for, want 1", n)
			}
			l.nothingHeld(t)
		})
	}
}

// TestLateAnswer: the reservation is made, and the answer takes longer than we
// wait; AWS shows it only after a while.
func TestLateAnswer(t *testing.T) {
	l := newLab(t, one(func(_ *world.AccountSeed, s *world.Seed) {
		s.Conditions.Faults = []world.Fault{{Action: creating, Kind: world.Late}}
		s.Conditions.Consistency = world.Duration(20 * time.Second)
		s.TickPerCall = world.Duration(6 * time.Second)
	}))
	p := l.prober(t)
	p.createLimit = 300 * time.Millisecond
	if found := probed(t, p, g6In("us-east-1d")); found["us-east-1d"].Outcome != Proven {
		t.Errorf("found %+v", found)
	}
	l.nothingHeld(t)
}

// TestSecondInterrupt: two Ctrl-C while AWS does not say that it has made the
// reservation.
func TestSecondInterrupt(t *testing.T) {
	l := faulty(t, world.Fault{Action: creating, Kind: world.Late})
	ctx, soft := context.WithCancel(t.Context())
	p := l.prober(t)
	var hard context.CancelFunc
	p.Hard, hard = context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx, g6In("us-east-1d", "us-west-2a"), func(Row) {}) }()
	if err := l.World.Await(t.Context(), func([]world.Record) bool { return len(l.held()) == 1 }); err != nil {
		t.Fatal(err)
	}
	soft()
	hard()
	if err := <-done; err == nil {
		t.Error("an interrupt is no error")
	}
	l.nothingHeld(t)
}

// TestMayBeLeft: nobody can tell whether AWS has made the reservation. The run
// stops there, and says all that the user needs to look again.
func TestMayBeLeft(t *testing.T) {
	l := faulty(t, world.Fault{Action: creating, Kind: world.Lose}, world.Fault{Action: describing, Kind: world.Fail, Code: "UnauthorizedOperation", Status: 403})
	p := l.prober(t)
	p.All, p.Hidden = true, 10*time.Millisecond
	var rows []Row
	err := p.Run(t.Context(), g6In("us-east-1d", "us-west-2a"), func(r Row) { rows = append(rows, r) })
	if len(rows) != 1 || rows[0].Stock.Outcome != Unproven || !strings.Contains(rows[0].Stock.Why, "may have made the reservation") {
		t.Errorf("%d zones were probed: %+v", len(rows), rows[0].Stock)
	}
	end := l.World.Clock.Now().Add(30 * time.Minute).Format("2006-01-02T15:0") // the minute may have passed
	for _, want := range []string{"reserving 2 g6.12xlarge in us-east-1d: no connection", "looking for it failed: not permitted: ec2:DescribeCapacityReservations", end[:14]} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if hints := strings.Join(fault.HintsOf(err), "\n"); hints != "trainyard capacity --type g6.12xlarge --nodes 2 --region us-east-1 looks again, and cancels what it finds" {
		t.Errorf("hints %q", hints)
	}
	if len(l.held()) != 1 {
		t.Error("nothing was left: the test shows nothing")
	}
}

// TestSeenLast: AWS shows only at the end of the run what it has made.
func TestSeenLast(t *testing.T) {
	l := faulty(t, world.Fault{Action: creating, Kind: world.Lose},
		world.Fault{Action: describing, Kind: world.Fail, Code: "UnauthorizedOperation", Status: 403, Times: 1})
	p := l.prober(t)
	p.Hidden = 10 * time.Millisecond
	if found := probed(t, p, g6In("us-east-1d", "us-west-2a")); len(found) != 1 || found["us-east-1d"].Outcome != Unproven {
		t.Errorf("found %+v", found)
	}
	l.nothingHeld(t)
}

// TestRefusedOnce: AWS has refused the only attempt, or each of them, so that
// nothing can be left, and the next zone is probed.
func TestRefusedOnce(t *testing.T) {
	for _, f := range []world.Fault{
		{Code: "UnauthorizedOperation", Status: 403},
		{Code: "InvalidParameterValue", Status: 400},
		{Code: "InsufficientInstanceCapacity", Status: 500},
		{Code: "RequestLimitExceeded", Status: 503},
	} {
		f.Action, f.Kind, f.Region = creating, world.Fail, "us-east-1"
		l := faulty(t, f)
		found := probed(t, l.prober(t), g6In("us-east-1d", "us-west-2a"))
		if found["us-east-1d"].Outcome == Proven || found["us-west-2a"].Outcome != Proven || len(l.actions(describing)) > 0 {
			t.Errorf("%s: found %+v, looked %d times", f.Code, found, len(l.actions(describing)))
		}
		l.nothingHeld(t)
	}
}

// TestFoundTwice: all that carries the run's tag goes, should there be more than
// there can be.
func TestFoundTwice(t *testing.T) {
	l := faulty(t, world.Fault{Action: creating, Skip: 1, Kind: world.Lose})
	p := l.prober(t)
	if _, err := p.create(&trial{row: rowWith("us-east-1d", nil), until: p.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	probed(t, p, g6In("us-east-1d"))
	if n := len(l.paid()); n != 2 {
		t.Errorf("%d were paid for: the test shows nothing", n)
	}
	l.nothingHeld(t)
}

// TestProbeSkew: a clock that is wrong proves nothing, and leaves nothing open.
func TestProbeSkew(t *testing.T) {
	l := newLab(t, one(func(_ *world.AccountSeed, s *world.Seed) { s.Conditions.Skew = world.Duration(time.Hour) }))
	if got := probed(t, l.prober(t), g6In("us-east-1d"))["us-east-1d"]; got.Outcome != Unproven || got.Why != "clock skew" {
		t.Errorf("found %+v", got)
	}
	l.nothingHeld(t)
}

// TestIsRefusal: an answer that broke off is none.
func TestIsRefusal(t *testing.T) {
	cut := &smithy.DeserializationError{Err: fmt.Errorf("unexpected EOF")}
	for err, want := range map[error]bool{
		cut: false, context.DeadlineExceeded: false, context.Canceled: false,
		&smithy.GenericAPIError{Code: "RequestTimeout"}: false, &smithy.GenericAPIError{Code: "VcpuLimitExceeded"}: true,
	} {
		if got := isRefusal(err); got != want {
			t.Errorf("%v: %t", err, got)
		}
	}
}
