package capacity

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trainyard/trainyard/test/awssim/world"
)

// TestReleaseTwice: what is gone already is fine.
func TestReleaseTwice(t *testing.T) {
	l := newLab(t, world.Default())
	p := l.prober(t)
	p.Keep = true
	id := probed(t, p, g6In("us-east-1d"))["us-east-1d"].Reservation
	for range 2 {
		if err := Release(t.Context(), l.session, "us-east-1", id); err != nil {
			t.Error(err)
		}
	}
	l.nothingHeld(t)
}

// TestSweepForgotten: AWS does not know any longer what it listed a moment ago.
func TestSweepForgotten(t *testing.T) {
	l := newLab(t, world.Default())
	if err := Sweep(t.Context(), l.session, Reservation{Region: "us-east-1", ID: "cr-00000000000000001"}); err != nil {
		t.Error(err)
	}
	if n := len(l.actions(cancelling)); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// TestInterruptedProbe: a Ctrl-C while AWS assesses cancels what was reserved.
func TestInterruptedProbe(t *testing.T) {
	l := newLab(t, one(func(_ *world.AccountSeed, s *world.Seed) { s.Conditions.Assessing = world.Duration(time.Hour) }))
	ctx, cancel := context.WithCancel(t.Context())
	p := l.prober(t)
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx, g6In("us-east-1d", "us-west-2a"), func(Row) {}) }()
	if err := l.World.Await(t.Context(), func([]world.Record) bool { return len(l.actions(describing)) > 0 }); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("an interrupt is no error")
	}
	l.nothingHeld(t)
	if n := len(l.actions("CreateCapacityReservation")); n != 1 {
		t.Errorf("%d zones were probed after the interrupt", n-1)
	}
}

// TestCannotCancel: the run ends with the zones that are probed at once, so that
// no more is left than was announced, and says what is.
func TestCannotCancel(t *testing.T) {
	l := faulty(t, world.Fault{Action: cancelling, Kind: world.Fail, Code: "UnauthorizedOperation", Status: 403})
	p := l.prober(t)
	p.All, p.AtOnce = true, 2
	rows := g6In("us-east-1d", "us-east-2a", "us-east-2b", "us-west-2a")
	bill := p.Bill(rows)
	var left []string
	err := p.Run(t.Context(), rows, func(r Row) { left = append(left, r.Stock.Left) })
	held := l.held()
	slices.Sort(held)
	slices.Sort(left)
	if len(left) != 2 || !slices.Equal(left, held) || strings.Count(fmt.Sprint(err), "cancelling capacity reservation") != 2 {
		t.Errorf("left %q, held %v: %v", left, held, err)
	}
	l.World.Clock.Advance(91 * time.Minute)
	l.nothingHeld(t)
	cost := 0.0
	for _, e := range l.paid() {
		cost += e.USD
	}
	if cost <= 0 || cost > bill.AtMost {
		t.Errorf("it cost $%.2f, announced as $%.2f at most", cost, bill.AtMost)
	}
}

// TestCancelledAtOnce: what is proven is cancelled while another zone is still
// waited for, and no cancellation waits for another.
func TestCancelledAtOnce(t *testing.T) {
	l := faulty(t, world.Fault{Action: creating, Region: "us-west-2", Kind: world.Late},
		world.Fault{Action: cancelling, Region: "us-east-1", Kind: world.Hang})
	ctx, soft := context.WithCancel(t.Context())
	p := l.prober(t)
	var hard context.CancelFunc
	p.Hard, hard = context.WithCancel(t.Context())
	defer hard()
	p.AtOnce = 3
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx, g6In("us-east-1d", "us-east-2a", "us-west-2a"), func(Row) {}) }()
	if err := l.World.Await(t.Context(), func([]world.Record) bool { return len(l.actions(cancelling)) == 2 && len(l.held()) == 2 }); err != nil {
		t.Fatal(err)
	}
	l.World.SetConditions(world.Conditions{})
	soft()
	hard()
	if err := <-done; err == nil {
		t.Error("an interrupt is no error")
	}
	if n := len(l.held()); n != 1 { // the one whose cancelling was cut
		t.Errorf("%d are held", n)
	}
}

// TestKeepOnlyBest: of zones that are probed at once the first in their order is
// kept, and the others do not wait for it to be cancelled.
func TestKeepOnlyBest(t *testing.T) {
	l := newLab(t, world.Default())
	p := l.prober(t)
	p.Keep, p.AtOnce = true, 3
	found := probed(t, p, g6In("us-east-1d", "us-east-2a", "us-west-2a"))
	if held := l.held(); len(held) != 1 || found["us-east-1d"].Reservation != held[0] {
		t.Errorf("held %v, found %+v", held, found)
	}
}
