package world

import (
	"time"
)

// Entry is something that is, or was, paid for.
type Entry struct {
	Account    string    `json:"account"`
	Region     string    `json:"region"`
	Resource   string    `json:"resource"` // its id
	Kind       string    `json:"kind"`     // "instance", "reservation", "capacity block", "nat gateway", …
	What       string    `json:"what"`     // the instance type, where it has one
	Count      int       `json:"count"`
	USDPerHour float64   `json:"usdPerHour"` // of one
	Upfront    float64   `json:"upfront,omitempty"`
	From       time.Time `json:"from"`
	To         time.Time `json:"to,omitzero"` // zero: it is still being paid for
	USD        float64   `json:"usd"`         // until To, or until now
}

// Ledger is all that was ever paid for.
type Ledger struct {
	entries []Entry
}

// minimum is the least that is billed of a resource.
const minimum = time.Minute

// Bill sets how many of a resource are paid for from now on; 0 ends it.
func (l *Ledger) Bill(e Entry, now time.Time) {
	for i := range l.entries {
		old := &l.entries[i]
		if old.Resource != e.Resource || old.Kind != e.Kind || !old.To.IsZero() {
			continue
		}
		switch {
		case old.Count == e.Count:
			return
		case e.Count > 0 && old.From.Equal(now): // it never was so many
			old.Count = e.Count
			return
		}
		old.To = now
	}
	if e.Count > 0 {
		e.From = now
		l.entries = append(l.entries, e)
	}
}

// Charge writes down what was paid at once.
func (l *Ledger) Charge(e Entry, now time.Time) {
	e.From, e.To = now, now
	l.entries = append(l.entries, e)
}

// Entries lists all, with what they cost until now.
func (l *Ledger) Entries(now time.Time) []Entry {
	entries := make([]Entry, len(l.entries))
	seen := map[string]bool{}
	for i, e := range l.entries {
		until := e.To
		if until.IsZero() {
			until = now
		}
		e.USD = e.Upfront
		billed := until.Sub(e.From)
		if !seen[e.Resource] {
			billed = max(billed, minimum)
		}
		seen[e.Resource] = true
		e.USD += billed.Hours() * e.USDPerHour * float64(e.Count)
		entries[i] = e
	}
	return entries
}
