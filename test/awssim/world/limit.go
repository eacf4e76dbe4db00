package world

import (
	"math"
	"net/http"
	"time"

	"github.com/trainyard/trainyard/test/awssim/wire"
)

// Limit is a token bucket for each account, region and service, filled by the
// simulated clock. One that names an action, or a pattern of them, is a bucket
// for each action that fits, as EC2 has it; one that names none is a bucket that
// all actions share.
type Limit struct {
	Service string  `json:"service,omitempty"`
	Action  string  `json:"action,omitempty"`
	Region  string  `json:"region,omitempty"`
	Rate    float64 `json:"rate"`  // requests a second
	Burst   float64 `json:"burst"` // requests at once
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
		key := bucketKey{i, r.Account, r.Region, r.Service, ""}
		if l.Action != "" {
			key.action = r.Action
		}
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
