package capacity

import (
	"cmp"
	"slices"
	"time"

	"github.com/trainyard/trainyard/internal/awsapi"
)

// DeadProbes are the reservations that the same owner's dead commands left.
func (f Found) DeadProbes(me Me, now time.Time) []Reservation {
	return f.reservations(func(v Reservation) bool { return v.Dead(me, now) })
}

// Kept are the reservations that this owner keeps for launches, in whichever
// region. AWS may not yet have ended one whose time is up.
func (f Found) Kept(owner string, now time.Time) []Reservation {
	return f.reservations(func(v Reservation) bool { return v.KeptBy(owner) && (v.End.IsZero() || v.End.After(now)) })
}

// Asked tells whether a region is one that was searched, not only looked at for
// what is left there.
func (f Found) Asked(region string) bool {
	return slices.ContainsFunc(f.Regions, func(r Region) bool { return r.Name == region })
}

func (f Found) reservations(wanted func(Reservation) bool) []Reservation {
	var all []Reservation
	for _, r := range slices.Concat(f.Regions, f.Others) {
		for _, v := range r.Reservations {
			v.Region = r.Name
			if wanted(v) {
				all = append(all, v)
			}
		}
	}
	return all
}

// Unseen is where what dead commands left could not be looked for.
type Unseen struct {
	Region string `json:"region"` // "others": those that the account has besides
	Why    string `json:"why"`
}

// Unseen lists the regions whose reservations could not be listed.
func (f Found) Unseen() []Unseen {
	var all []Unseen
	for _, r := range slices.Concat(f.Regions, f.Others) {
		if r.Unseen != nil {
			all = append(all, Unseen{r.Name, awsapi.Brief(r.Unseen)})
		}
	}
	slices.SortFunc(all, func(a, b Unseen) int { return cmp.Compare(a.Region, b.Region) })
	if f.Guessed != "" {
		all = append(all, Unseen{"others", f.Guessed})
	}
	return all
}
