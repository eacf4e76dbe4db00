package capacity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/process"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// TestKeep leaves one reservation, whose tags say all that a launch needs to know.
func TestKeep(t *testing.T) {
	l := newLab(t, world.Default())
	p := l.prober(t)
	p.Keep, p.All, p.AtOnce = true, true, 2
	found := probed(t, p, g6In("us-east-1d", "us-west-2a"))
	if held := l.held(); len(held) != 1 || found["us-east-1d"].Reservation != held[0] || found["us-west-2a"].Reservation != "" {
		t.Fatalf("held %v, found %+v", held, found)
	}
	kept := l.found(t, p.Need, "us-east-1").Kept("ada", time.Now())
	if len(kept) != 1 || kept[0].Zone != "us-east-1d" || kept[0].Unused != 2 || kept[0].End.IsZero() {
		t.Errorf("kept %+v", kept)
	}
	if others := l.found(t, p.Need, "us-east-1").Kept("bob", time.Now()); len(others) != 0 {
		t.Errorf("bob has ada's: %+v", others)
	}
	if late := l.found(t, p.Need, "us-east-1").Kept("ada", kept[0].End); len(late) != 0 {
		t.Errorf("kept when its time is up, though AWS may end it later: %+v", late)
	}
	l.World.Clock.Advance(31 * time.Minute)
	l.nothingHeld(t) // it ends by itself
}

// TestKeepHidden: AWS does not know for two seconds what it has made, and cannot
// tag it.
func TestKeepHidden(t *testing.T) {
	l := newLab(t, one(func(_ *world.AccountSeed, s *world.Seed) {
		s.Conditions.Consistency = world.Duration(2 * time.Second)
		s.TickPerCall = world.Duration(500 * time.Millisecond)
	}))
	p := l.prober(t)
	p.Keep = true
	id := probed(t, p, g6In("us-east-1d"))["us-east-1d"].Reservation
	if held := l.held(); len(held) != 1 || held[0] != id {
		t.Errorf("kept %q, AWS has %v", id, held)
	}
}

const tagging = "CreateTags"

// TestKeepAnswerLost: the tag is there, though AWS's answer is not.
func TestKeepAnswerLost(t *testing.T) {
	l := faulty(t, world.Fault{Action: tagging, Kind: world.Lose},
		world.Fault{Action: cancelling, Kind: world.Fail, Code: "UnauthorizedOperation", Status: 403})
	p := l.prober(t)
	p.Keep = true
	id := probed(t, p, g6In("us-east-1d"))["us-east-1d"].Reservation
	if kept := l.found(t, p.Need, "us-east-1").Kept("ada", time.Now()); len(kept) != 1 || kept[0].ID != id {
		t.Errorf("kept %q, AWS has %+v", id, kept)
	}
}

// TestNotKept: what could not be kept is cancelled, or can be swept, and is an
// error.
func TestNotKept(t *testing.T) {
	unseen := world.Fault{Action: describing, Kind: world.Fail, Code: "UnauthorizedOperation", Status: 403}
	uncancelled := world.Fault{Action: cancelling, Kind: world.Fail, Code: "UnauthorizedOperation", Status: 403}
	for name, test := range map[string]struct {
		faults []world.Fault
		left   int
	}{
		"not tagged":                              {[]world.Fault{{Action: tagging, Kind: world.Fail, Code: "UnauthorizedOperation", Status: 403}}, 0},
		"AWS's failure":                           {[]world.Fault{{Action: tagging, Kind: world.Fail}}, 0},
		"tagged, which nobody knows":              {[]world.Fault{{Action: tagging, Kind: world.Lose}, unseen}, 0},
		"and not cancelled":                       {[]world.Fault{{Action: tagging, Kind: world.Lose}, unseen, uncancelled}, 1},
		"nor cancelled, and tagged the last time": {[]world.Fault{{Action: tagging, Kind: world.Lose, Times: 3}, unseen, uncancelled}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := faulty(t, test.faults...)
			p := l.prober(t)
			p.Keep = true
			p.Me.Process = process.ID{PID: process.Self().PID, Started: 1} // dead, to the next command
			var found Finding
			err := p.Run(t.Context(), g6In("us-east-1d", "us-west-2a"), func(r Row) { found = *r.Stock })
			if err == nil || found.Reservation != "" || found.Outcome != Proven {
				t.Errorf("found %+v: %v", found, err)
			}
			l.World.SetConditions(world.Conditions{})
			next := testMe
			next.Run = "run-2"
			if n := len(l.found(t, p.Need, "us-east-1").DeadProbes(next, l.World.Clock.Now())); n != test.left || n != len(l.held()) {
				t.Errorf("the next command finds %d of %d, want %d", n, len(l.held()), test.left)
			}
		})
	}
}

// TestKeepDenied says what permission it lacks.
func TestKeepDenied(t *testing.T) {
	l := faulty(t, world.Fault{Action: tagging, Kind: world.Fail, Code: "UnauthorizedOperation", Status: 403})
	p := l.prober(t)
	p.Keep = true
	var why string
	err := p.Run(t.Context(), g6In("us-east-1d"), func(r Row) { why = r.Stock.Why })
	if why != "not kept: not permitted: ec2:CreateTags" || !strings.Contains(fmt.Sprint(fault.HintsOf(err)), "ec2:CreateTags") {
		t.Errorf("%q, error %v, hints %q", why, err, fault.HintsOf(err))
	}
}

// TestKeepInterrupted: a Ctrl-C before a success is kept takes it away; a
// terminal that hangs up does not.
func TestKeepInterrupted(t *testing.T) {
	for cause, want := range map[error]int{context.Canceled: 0, ErrHungUp: 1} {
		l := faulty(t, world.Fault{Action: creating, Kind: world.Late, Delay: world.Duration(100 * time.Millisecond)})
		ctx, end := context.WithCancelCause(t.Context())
		p := l.prober(t)
		p.Keep, p.All = true, true
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx, g6In("us-east-1d", "us-west-2a"), func(Row) {}) }()
		if err := l.World.Await(t.Context(), func([]world.Record) bool { return len(l.held()) == 1 }); err != nil {
			t.Fatal(err)
		}
		end(cause)
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%v: ended with %v", cause, err)
		}
		if n := len(l.held()); n != want || len(l.actions(creating)) != 1 {
			t.Errorf("%v: %d are held after %d calls, want %d after 1", cause, n, len(l.actions(creating)), want)
		}
	}
}
