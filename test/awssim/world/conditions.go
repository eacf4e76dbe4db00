package world

import (
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
	LateEnd     Duration  `json:"lateEnd,omitempty"`     // for so long one goes on after its end date, and is billed: AWS takes up to an hour
	Skew        Duration  `json:"skew,omitempty"`        // by which AWS's clock, which signatures are held to, is ahead of the client's
}

// Latency is the time until an answer, in real time.
type Latency struct {
	Region string   `json:"region,omitempty"`
	Delay  Duration `json:"delay"`
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
