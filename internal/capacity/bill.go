package capacity

import "time"

// Bill is what probing costs.
type Bill struct {
	AtMost float64 // USD, if everything is slow, and what is reserved last is not cancelled
	Usual  float64 // USD, where all is cancelled at once, and a minute of each is billed
	Zones  int     // that are probed at most
	Stay   int     // reservations that may last to their end
	Known  bool    // the prices of all are
}

// EndsWithin is how long after its end date a reservation may last. Source: the
// reference of CreateCapacityReservation, EndDate.
const EndsWithin = time.Hour

// minimumBilled is the least that AWS bills of a reservation. Source: EC2's
// pricing by the second.
const minimumBilled = time.Minute

// Bill says what probing the rows would cost at most. Each is held for as long
// as making, assessing and cancelling it may take. Once one could not be
// cancelled no more are made, so that as many may stay to their end as are made
// at once, and one that was kept before.
func (p Prober) Bill(rows []Row) Bill {
	b := Bill{Zones: len(rows), Known: true}
	dearest := 0.0
	for _, r := range rows {
		if r.USD == nil {
			b.Known = false
			continue
		}
		hourly := *r.USD * float64(p.Need.Nodes)
		dearest = max(dearest, hourly)
		b.Usual += hourly * minimumBilled.Hours()
		b.AtMost += hourly * (longestCreate + p.Hidden + p.Patience + cleanUp).Hours()
	}
	b.Stay = max(p.AtOnce, 1)
	if p.Keep && p.All {
		b.Stay++
	}
	b.Stay = min(b.Stay, len(rows))
	b.AtMost += dearest * (p.Reserve + EndsWithin).Hours() * float64(b.Stay)
	return b
}
