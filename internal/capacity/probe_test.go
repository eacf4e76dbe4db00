package capacity

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trainyard/trainyard/internal/process"
	"github.com/trainyard/trainyard/test/awssim/world"
)

func (l lab) prober(t *testing.T) Prober {
	t.Helper()
	return Prober{
		Session: l.session, Me: testMe, Need: needOf(t, "g6.12xlarge", 2), Reserve: 30 * time.Minute, AtOnce: 1,
		Patience: 10 * time.Second, Hidden: 10 * time.Second, Now: l.World.Clock.Now, Hard: t.Context(),
	}
}

// g6In are rows of zones to probe.
func g6In(zones ...string) []Row {
	rows := make([]Row, len(zones))
	for i, zone := range zones {
		rows[i] = rowWith(zone, nil)
	}
	return rows
}

// probed runs a probe and returns what was found, by zone.
func probed(t *testing.T, p Prober, rows []Row) map[string]Finding {
	t.Helper()
	found := map[string]Finding{}
	if err := p.Run(t.Context(), rows, func(r Row) { found[r.Zone] = *r.Stock }); err != nil {
		t.Fatal(err)
	}
	return found
}

// held are the reservations that AWS still has for us.
func (l lab) held() (ids []string) {
	var state map[string]map[string]struct {
		Reservations []struct{ ReservationID, State string }
	}
	if err := json.Unmarshal(l.State()["ec2"], &state); err != nil {
		panic(err)
	}
	for _, account := range state {
		for _, region := range account {
			for _, v := range region.Reservations {
				if v.State == "active" || v.State == "assessing" || v.State == "pending" {
					ids = append(ids, v.ReservationID)
				}
			}
		}
	}
	return ids
}

// paid is what was paid for reservations.
func (l lab) paid() []world.Entry {
	return slices.DeleteFunc(l.Ledger(), func(e world.Entry) bool { return e.Kind != "reservation" })
}

func (l lab) nothingHeld(t *testing.T) {
	t.Helper()
	if ids := l.held(); len(ids) > 0 {
		t.Errorf("left: %v", ids)
	}
}

// TestProbe: zones in their order until one has stock; that of the first has
// run out.
func TestProbe(t *testing.T) {
	l := newLab(t, world.Default())
	found := probed(t, l.prober(t), g6In("us-east-1a", "us-east-1d", "us-west-2a"))
	if len(found) != 2 || found["us-east-1a"].Outcome != NoStock || found["us-east-1d"].Outcome != Proven {
		t.Errorf("found %+v", found)
	}
	l.nothingHeld(t)
	create := l.actions("CreateCapacityReservation")[1].Params.(map[string]any)
	if create["InstanceMatchCriteria"] != "targeted" || create["EndDateType"] != "limited" || create["ClientToken"] == "" || create["InstanceCount"] != "2" {
		t.Errorf("reserved with %v", create)
	}
	cost := 0.0
	for _, e := range l.paid() {
		cost += e.USD
	}
	if bill := l.prober(t).Bill(g6In("us-east-1d")); cost <= 0 || cost > bill.Usual*1.01 {
		t.Errorf("it cost $%f, announced as $%f", cost, bill.Usual)
	}
}

// TestProbeAll goes on after the first success.
func TestProbeAll(t *testing.T) {
	l := newLab(t, world.Default())
	p := l.prober(t)
	p.All, p.AtOnce = true, 3
	found := probed(t, p, g6In("us-east-1d", "us-east-2a", "us-east-2b", "us-west-2a"))
	for zone, f := range found {
		if f.Outcome != Proven || f.Reservation != "" {
			t.Errorf("%s: %+v", zone, f)
		}
	}
	if len(found) != 4 {
		t.Errorf("probed %d zones of 4", len(found))
	}
	l.nothingHeld(t)
}

// TestRefusals tells a refusal for quota from one for stock.
func TestRefusals(t *testing.T) {
	l := newLab(t, one(func(a *world.AccountSeed, _ *world.Seed) { a.Quotas["us-east-1/L-DB2E81BA"] = 48 }))
	p := l.prober(t)
	p.All = true
	found := probed(t, p, g6In("us-east-1d", "us-west-2b"))
	if found["us-east-1d"].Outcome != NoQuota || found["us-west-2b"].Outcome != NoStock {
		t.Errorf("found %+v", found)
	}
}

// TestAssessing waits for AWS to decide, and gives up in time.
func TestAssessing(t *testing.T) {
	l := newLab(t, one(func(_ *world.AccountSeed, s *world.Seed) {
		s.Conditions.Assessing = world.Duration(time.Minute)
		s.TickPerCall = world.Duration(20 * time.Second)
	}))
	p := l.prober(t)
	if found := probed(t, p, g6In("us-east-1d")); found["us-east-1d"].Outcome != Proven {
		t.Errorf("found %+v", found)
	}
	if got := probed(t, p, g6In("us-east-1a"))["us-east-1a"]; got.Outcome != Unproven || !strings.Contains(got.Why, "failed") {
		t.Errorf("AWS gave it up after it was assessed, and not why: %+v", got)
	}
	if len(l.actions("CreateTags")) == 0 {
		t.Error("no heartbeat in a minute")
	}
	l.World.Locked(func() { l.World.Conditions.Assessing = world.Duration(24 * time.Hour) })
	p.Patience = 700 * time.Millisecond
	if found := probed(t, p, g6In("us-east-1d")); found["us-east-1d"].Outcome != Assessing {
		t.Errorf("found %+v", found)
	}
	l.nothingHeld(t)
}

// TestEventualConsistency: AWS does not know for a moment what it has made.
func TestEventualConsistency(t *testing.T) {
	l := newLab(t, one(func(_ *world.AccountSeed, s *world.Seed) {
		s.Conditions.Consistency = world.Duration(10 * time.Second)
		s.TickPerCall = world.Duration(3 * time.Second)
	}))
	probed(t, l.prober(t), g6In("us-east-1d"))
	l.nothingHeld(t)
}

// TestDead decides by tags alone whose probe is dead.
func TestDead(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	gone := process.ID{PID: process.Self().PID, Started: 1}
	mine := Reservation{State: "active", Ours: true, Owner: "ada", Run: "run-0", machine: "here", process: gone, Heartbeat: now}
	for name, test := range map[string]struct {
		change func(*Reservation)
		dead   bool
	}{
		"killed a moment ago, here":     {func(*Reservation) {}, true},
		"it runs, here":                 {func(v *Reservation) { v.process = process.Self() }, false},
		"this very command's":           {func(v *Reservation) { v.Run = testMe.Run }, false},
		"a colleague's":                 {func(v *Reservation) { v.Owner = "bob" }, false},
		"a colleague's, long dead":      {func(v *Reservation) { v.Owner, v.Heartbeat = "bob", now.AddDate(0, 0, -1) }, false},
		"kept for a launch":             {func(v *Reservation) { v.Kept = true }, false},
		"somebody made it by hand":      {func(v *Reservation) { v.Ours = false }, false},
		"elsewhere, lives":              {func(v *Reservation) { v.machine = "there" }, false},
		"elsewhere, silent for an hour": {func(v *Reservation) { v.machine, v.Heartbeat = "there", now.Add(-time.Hour) }, true},
		"elsewhere, no heartbeat":       {func(v *Reservation) { v.machine, v.Heartbeat = "there", time.Time{} }, true},
		"cancelled":                     {func(v *Reservation) { v.State = "cancelled" }, false},
	} {
		v := mine
		test.change(&v)
		if dead := v.Dead(testMe, now); dead != test.dead {
			t.Errorf("%s: dead is %t", name, dead)
		}
	}
}

// TestSweepLeavesOthers: of the reservations that AWS has, those of this user's
// dead commands are found in every region, and no others.
func TestSweepLeavesOthers(t *testing.T) {
	l := newLab(t, world.Default())
	gone := process.ID{PID: process.Self().PID, Started: 1}
	for _, made := range []struct {
		me   Me
		zone string
	}{
		{Me{Owner: "ada", Run: "dead", Machine: "here", Process: gone}, "us-east-1d"},
		{Me{Owner: "ada", Run: "dead-2", Machine: "here", Process: gone}, "us-west-2a"},
		{Me{Owner: "ada", Run: "lives", Machine: "here", Process: process.Self()}, "us-east-1d"},
		{Me{Owner: "ada", Run: "elsewhere", Machine: "there", Process: gone}, "us-east-1d"},
		{Me{Owner: "bob", Run: "bob's", Machine: "here", Process: gone}, "us-east-1d"},
	} {
		p := l.prober(t)
		p.Me, p.Need.Nodes = made.me, 1
		if _, err := p.create(&trial{row: rowWith(made.zone, nil), until: p.Now().Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
	found := l.found(t, needOf(t, "g6.12xlarge", 1), "us-east-1")
	var runs []string
	for _, v := range found.DeadProbes(testMe, l.World.Clock.Now()) {
		runs = append(runs, v.Run+" in "+v.Region)
	}
	slices.Sort(runs)
	if want := []string{"dead in us-east-1", "dead-2 in us-west-2"}; !slices.Equal(runs, want) {
		t.Errorf("dead are %v, want %v", runs, want)
	}
	// What will be cancelled is no loss of quota; the others are.
	if q := rowIn(t, found.Rows(), "us-east-1d").Quota; q.Used != 3*48 {
		t.Errorf("%d vCPUs are used, want %d", q.Used, 3*48)
	}
}
