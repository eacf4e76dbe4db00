package capacity

import "time"

// Bill is what probing costs.
type Bill struct {
	AtMost float64 // USD, if this machine dies at once and nothing is cancelled
	Usual  float64 // USD, where all is cancelled at once: AWS bills a minute of each
	Zones  int     // that are probed at most
	Known  bool    // the prices of all are
}

// EndsWithin is how long after its end date a reservation may last. Source: the
// reference of CreateCapacityReservation, EndDate.
const EndsWithin = time.Hour

// minimumBilled is the least that AWS bills of a reservation. Source: EC2's
// pricing by the second.
const minimumBilled = time.Minute

// Bill says what probing the rows would cost at most.
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
	}
	b.AtMost = b.Usual + dearest*(p.Reserve+EndsWithin).Hours()*float64(min(max(p.AtOnce, 1), len(rows)))
	return b
}
