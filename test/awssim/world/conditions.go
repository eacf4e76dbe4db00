package world

import (
	"math"
	"net/http"
	"time"

	"github.com/trainyard/trainyard/test/awssim/wire"
)

// Conditions are how the world treats its callers. They may be changed while it
// runs. Patterns take * and ?; an empty one fits everything.
type Conditions struct {
	Latency     []Latency `json:"latency,omitempty"`     // the last that fits counts
	Limits      []Limit   `json:"limits,omitempty"`      // all that fit count
	Faults      []Fault   `json:"faults,omitempty"`      // the first that fits and is due counts
	Consistency Duration  `json:"consistency,omitempty"` // for so long a new object is not seen
	Assessing   Duration  `json:"assessing,omitempty"`   // for so long a new capacity reservation is not active yet
	Pending     Duration  `json:"pending,omitempty"`     // for so long one has its capacity, but is not active, and not billed
	Skew        Duration  `json:"skew,omitempty"`        // by which AWS's clock, which signatures are held to, is ahead of the client's
}

// Latency is the time until an answer, in real time.
type Latency struct {
	Region string   `json:"region,omitempty"`
	Delay  Duration `json:"delay"`
}

// Limit is a token bucket for each account, region and action. It is filled by
// the simulated clock.
type Limit struct {
	Service string  `json:"service,omitempty"`
	Action  string  `json:"action,omitempty"`
	Region  string  `json:"region,omitempty"`
	Rate    float64 `json:"rate"`  // requests a second
	Burst   float64 `json:"burst"` // requests at once
}

// Fault is something that goes wrong with calls.
type Fault struct {
	Service   string `json:"service,omitempty"`
	Action    string `json:"action,omitempty"`
	Region    string `json:"region,omitempty"`
	AccessKey string `json:"accessKey,omitempty"`
	Skip      int    `json:"skip,omitempty"`  // so many calls that fit pass first
	Times     int    `json:"times,omitempty"` // it happens so often; 0: for ever

	Kind    FaultKind `json:"kind"`
	Delay   Duration  `json:"delay,omitempty"`   // of an answer that is late, in real time; 0: until the caller gives up
	Code    string    `json:"code,omitempty"`    // of an error
	Message string    `json:"message,omitempty"` // of an error
	Status  int       `json:"status,omitempty"`  // of an error; 0: 500

	seen int
}

// FaultKind says what happens.
type FaultKind string

// What can happen to a call.
const (
	Fail FaultKind = "fail" // an error, and nothing was done
	Hang FaultKind = "hang" // no answer, and nothing was done
	Drop FaultKind = "drop" // the connection ends, and nothing was done
	Lose FaultKind = "lose" // it was done, but the connection ends before the answer
	Late FaultKind = "late" // it was done, but the answer takes its time
)

// fault is what happens to this call, or nil.
func (c *Conditions) fault(r *Record) *Fault {
	for i := range c.Faults {
		f := &c.Faults[i]
		if !fits(f.Service, r.Service) || !fits(f.Action, r.Action) || !fits(f.Region, r.Region) || !fits(f.AccessKey, r.AccessKey) {
			continue
		}
		f.seen++
		if f.seen > f.Skip && (f.Times == 0 || f.seen <= f.Skip+f.Times) {
			copied := *f
			return &copied
		}
	}
	return nil
}

// Err is the error of a fault that fails calls.
func (f *Fault) Err() error {
	e := &wire.Error{Code: f.Code, Message: f.Message, Status: f.Status}
	if e.Code == "" {
		e.Code = "InternalError"
	}
	if e.Message == "" {
		e.Message = "An internal error has occurred"
	}
	if e.Status == 0 {
		e.Status = http.StatusInternalServerError
	}
	return e
}

// Delay is how long an answer from the region takes.
func (c *Conditions) Delay(region string) time.Duration {
	var delay Duration
	for _, l := range c.Latency {
		if fits(l.Region, region) {
			delay = l.Delay
		}
	}
	return time.Duration(delay)
}

type bucket struct {
	tokens float64
	filled time.Time
}

// wait takes a token of each bucket of the call; it returns an error that says
// how long the caller should have waited, or nil if there were tokens.
func (w *World) wait(r *Record, protocol wire.Protocol, now time.Time) error {
	var wait float64
	for i, l := range w.Conditions.Limits {
		if !fits(l.Service, r.Service) || !fits(l.Action, r.Action) || !fits(l.Region, r.Region) || l.Rate <= 0 {
			continue
		}
		key := bucketKey{i, r.Account, r.Region, r.Service, r.Action}
		b, ok := w.buckets[key]
		if !ok {
			b = &bucket{tokens: l.Burst, filled: now}
			w.buckets[key] = b
		}
		b.tokens = min(max(l.Burst, 1), b.tokens+now.Sub(b.filled).Seconds()*l.Rate)
		b.filled = now
		if b.tokens < 1 {
			wait = max(wait, (1-b.tokens)/l.Rate)
			continue
		}
		b.tokens--
	}
	if wait == 0 {
		return nil
	}
	return throttled(protocol, time.Duration(math.Ceil(wait*1000))*time.Millisecond)
}

type bucketKey struct {
	limit                            int
	account, region, service, action string
}

func throttled(protocol wire.Protocol, wait time.Duration) error {
	e := &wire.Error{Code: "ThrottlingException", Message: "Rate exceeded", Status: http.StatusBadRequest, RetryAfter: wait}
	switch protocol {
	case wire.EC2:
		e.Code, e.Message, e.Status = "RequestLimitExceeded", "Request limit exceeded.", http.StatusServiceUnavailable
	case wire.Query:
		e.Code = "Throttling"
	case wire.REST:
		e.Code, e.Message, e.Status = "TooManyRequestsException", "Too Many Requests", http.StatusTooManyRequests
	case wire.JSON:
	}
	return e
}
