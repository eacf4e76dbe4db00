package capacity

import (
	"context"
	"fmt"
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
	var found []Finding
	go func() {
		done <- p.Run(ctx, g6In("us-east-1d", "us-west-2a"), func(r Row) { found = append(found, *r.Stock) })
	}()
	if err := l.World.Await(t.Context(), func([]world.Record) bool { return len(l.actions(describing)) > 0 }); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("an interrupt is no error")
	}
	l.nothingHeld(t)
	if len(found) != 1 || !found[0].Cancelled || found[0].Outcome == Proven {
		t.Errorf("found %+v, want one whose reservation is cancelled", found)
	}
	if n := len(l.actions("CreateCapacityReservation")); n != 1 {
		t.Errorf("%d zones were probed after the interrupt", n-1)
	}
}

// TestReleaseOutlasts: AWS fails, throttles and drops connections for longer than a
// call is made again.
func TestReleaseOutlasts(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	l := newLab(t, one(func(_ *world.AccountSeed, s *world.Seed) {
		s.Conditions.Faults = []world.Fault{
			{Action: cancelling, Kind: world.Fail, Code: "Unavailable", Status: 503, Times: 1},
			{Action: cancelling, Kind: world.Fail, Code: "RequestLimitExceeded", Status: 503, Times: 1},
			{Action: cancelling, Kind: world.Drop, Times: 1},
		}
	}))
	probed(t, l.prober(t), g6In("us-east-1d"))
	l.nothingHeld(t)
	if n := len(l.actions(cancelling)); n != 4 {
		t.Errorf("cancelled %d times, want 3 that failed and one", n)
	}
}

// TestCannotCancel: the run ends with the zones that are probed at once, so that
// no more is left than was announced, and says what is.
func TestCannotCancel(t *testing.T) {
	for name, test := range map[string]struct {
		change     func(*Prober)
		kept, left int
	}{
		"one after the other":   {func(*Prober) {}, 0, 1},
		"two at once":           {func(p *Prober) { p.AtOnce = 2 }, 0, 2},
		"one kept":              {func(p *Prober) { p.Keep = true }, 1, 1},
		"one kept, two at once": {func(p *Prober) { p.Keep, p.AtOnce = true, 2 }, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := faulty(t, world.Fault{Action: cancelling, Kind: world.Fail, Code: "UnauthorizedOperation", Status: 403})
			p := l.prober(t)
			p.All = true
			test.change(&p)
			rows := g6In("us-east-1d", "us-east-2a", "us-east-2b", "us-west-2a")
			var left []string
			err := p.Run(t.Context(), rows, func(r Row) {
				if r.Stock.Left != "" {
					left = append(left, r.Stock.Left)
				}
			})
			held := l.held()
			if len(left) != test.left || len(held) != test.left+test.kept || strings.Count(fmt.Sprint(err), "cancelling capacity reservation") != test.left {
				t.Errorf("left %q, held %v: %v", left, held, err)
			}
			l.World.Clock.Advance(91 * time.Minute)
			l.nothingHeld(t)
			cost := 0.0
			for _, e := range l.paid() {
				cost += e.USD
			}
			if bill := p.Bill(rows); cost <= 0 || cost > bill.AtMost || len(held) > bill.Stay {
				t.Errorf("it cost $%.2f for %d, announced as $%.2f for %d at most", cost, len(held), bill.AtMost, bill.Stay)
			}
		})
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
	soon, cancel := context.WithTimeout(t.Context(), longestCreate/3) // before the slow zone is given up
	defer cancel()
	if err := l.World.Await(soon, func([]world.Record) bool { return len(l.actions(cancelling)) == 2 && len(l.held()) == 2 }); err != nil {
		t.Errorf("%d of 2 reservations were given back while a zone was waited for: %v", len(l.actions(cancelling)), err)
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
