// Package world is what all simulated services share: the clock, accounts and
// who may do what, what zones have in stock, the ledger of what things cost,
// and how calls fare: latency, throttling, faults.
package world

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/trainyard/trainyard/test/awssim/facts"
	"github.com/trainyard/trainyard/test/awssim/wire"
)

// World is the state that services share. Operations run one at a time, with
// the world locked; what is below the lock needs it.
type World struct {
	Clock *Clock
	Facts facts.Facts
	Began time.Time

	// Settle does what time alone brings about; Do calls it first.
	Settle func(now time.Time)

	mu         sync.Mutex
	Accounts   []*Account
	Stock      []Stock
	Conditions Conditions
	Ledger     Ledger
	tick       time.Duration
	used       map[string]int // zone/type
	buckets    map[bucketKey]*bucket
	records    []*Record
	changed    chan struct{} // closed, and made again, when records change
	serial     int
}

// Record is one call, as it was seen.
type Record struct {
	Number    int       `json:"number"` // from 1
	Time      time.Time `json:"time"`   // simulated
	Service   string    `json:"service"`
	Action    string    `json:"action"`
	Region    string    `json:"region"`
	AccessKey string    `json:"accessKey"`
	Account   string    `json:"account,omitempty"`
	DryRun    bool      `json:"dryRun,omitempty"`
	Params    any       `json:"params,omitempty"`
	Outcome   string    `json:"outcome"` // "ok", an error's code, what a fault did to it; "" while it goes on
	Checks    []Check   `json:"checks,omitempty"`
}

// New makes the world that the seed describes.
func New(seed Seed) (*World, error) {
	start := seed.Start
	if start.IsZero() {
		start = time.Now()
	}
	speed := 1.0
	if seed.Speed != nil {
		speed = *seed.Speed
	}
	w := &World{
		Clock: NewClock(start, speed), Facts: facts.Load(), Began: start,
		Stock: seed.Stock, tick: time.Duration(seed.TickPerCall), used: map[string]int{}, changed: make(chan struct{}),
	}
	w.SetConditions(seed.Conditions)
	for _, a := range seed.Accounts {
		account, err := newAccount(a)
		if err != nil {
			return nil, err
		}
		w.Accounts = append(w.Accounts, account)
	}
	return w, nil
}

// Before is when things of the seed were made: long enough ago to be seen. They
// are billed from when the world began.
func (w *World) Before() time.Time { return w.Began.Add(-time.Hour) }

// Locked runs do while nobody else changes the world.
func (w *World) Locked(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
}

// Begin writes down a call, and says what the world does to it: an error of
// throttling, or a fault.
func (w *World) Begin(r Record, protocol wire.Protocol) (*Record, *Fault, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Clock.Advance(w.tick)
	r.Number, r.Time = len(w.records)+1, w.Clock.Now()
	w.records = append(w.records, &r)
	w.tell()
	if fault := w.Conditions.fault(&r); fault != nil {
		return &r, fault, nil
	}
	return &r, nil, w.wait(&r, protocol, r.Time)
}

// Do runs what a caller asks for. The world's objects are only what they are
// while it runs: what is told of them must be written down in it.
func (w *World) Do(c *Call, r *Record, do func(*Call) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.World, c.Now, c.record = w, w.Clock.Now(), r
	w.Settle(c.Now)
	r.Params = c.Request.Params
	if c.Request.Service.Protocol == wire.EC2 {
		c.dryRun = c.Request.Params["DryRun"] == "true"
		r.DryRun = c.dryRun
		delete(c.Request.Params, "DryRun")
	}
	return do(c)
}

// End writes down how a call ended.
func (w *World) End(r *Record, outcome string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r.Outcome = outcome
	w.tell()
}

// tell wakes those who await something of calls.
func (w *World) tell() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// Await returns once the calls so far are what is waited for, or the context
// ends, with its error.
func (w *World) Await(ctx context.Context, enough func([]Record) bool) error {
	for {
		w.mu.Lock()
		changed := w.changed
		w.mu.Unlock()
		if enough(w.Calls()) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Calls lists all calls so far.
func (w *World) Calls() []Record {
	w.mu.Lock()
	defer w.mu.Unlock()
	records := make([]Record, len(w.records))
	for i, r := range w.records {
		records[i] = *r
		records[i].Checks = slices.Clone(r.Checks)
	}
	return records
}

// SetConditions replaces how calls are treated. What limits and faults have
// counted is forgotten.
func (w *World) SetConditions(c Conditions) {
	w.Locked(func() {
		c.Faults = slices.Clone(c.Faults)
		w.Conditions = c
		w.buckets = map[bucketKey]*bucket{}
	})
}

// NewID is an id that no other object of the world has: "vpc-09e3779b97f4a7c15".
func (w *World) NewID(prefix string) string {
	w.serial++
	return fmt.Sprintf("%s-0%016x", prefix, uint64(w.serial)*0x9e3779b97f4a7c15)
}
