// Package capacity finds out where AWS has room for a job: which zones offer
// an instance type, how much quota is left, how likely Spot is, what it costs,
// and, by a reservation that is cancelled at once, whether there are instances.
// All regions are asked at once. What could not be learned is said to be
// unknown, with the reason; it never counts as good.
package capacity

import (
	"time"

	"github.com/trainyard/trainyard/internal/instancetype"
)

// Need is what is looked for: so many instances of one of the types, in one
// zone.
type Need struct {
	Types   []instancetype.Type
	Nodes   int
	Spot    bool          // rank by Spot's quota, score and price
	Cluster string        // an EKS cluster that has subnets; "": none
	Block   time.Duration // how long a Capacity Block is to last; whole days
	Profile string        // of AWS's configuration; "": what the environment says
}

// typeNames are the names of the need's types.
func (n Need) typeNames() []string {
	names := make([]string, len(n.Types))
	for i, t := range n.Types {
		names[i] = t.Name
	}
	return names
}

// typeNamed is one of the need's types.
func (n Need) typeNamed(name string) instancetype.Type {
	for _, t := range n.Types {
		if t.Name == name {
			return t
		}
	}
	return instancetype.Type{Name: name}
}

// Part is one thing to know of a zone.
type Part string

// The parts of a row.
const (
	Zone      Part = "zone"
	Offered   Part = "offered"
	Quota     Part = "quota"
	SpotQuota Part = "spotQuota"
	SpotScore Part = "spotScore"
	Subnet    Part = "subnet"
	Price     Part = "price"
	SpotPrice Part = "spotPrice"
	Blocks    Part = "blocks"
	Stock     Part = "stock"
)

// Row is what is known of one instance type in one zone. A field that is nil
// is not known or was not asked for; Problems has the reason where it was asked
// for.
type Row struct {
	Type   string `json:"type"`
	Region string `json:"region"`
	Zone   string `json:"zone,omitempty"`   // "us-east-1a", a name that is this account's own; "": all the region
	ZoneID string `json:"zoneId,omitempty"` // "use1-az4", the same place for all accounts

	// Skipped is why the region was not asked at all, such as "not opted in".
	Skipped string `json:"skipped,omitempty"`

	Offered   *bool           `json:"offered,omitempty"`
	Quota     *Headroom       `json:"quota,omitempty"` // On-Demand
	SpotQuota *Headroom       `json:"spotQuota,omitempty"`
	SpotScore *Score          `json:"spotScore,omitempty"`
	Subnet    *PrivateSubnet  `json:"subnet,omitempty"` // of the cluster
	USD       *float64        `json:"usdPerHour,omitempty"`
	SpotUSD   *float64        `json:"spotUSDPerHour,omitempty"`
	Blocks    []Block         `json:"capacityBlocks,omitempty"`
	Stock     *Finding        `json:"probe,omitempty"`
	Problems  map[Part]string `json:"problems,omitempty"`

	// Latency is how long the region took to list its zones, in milliseconds, with
	// the first connection to it.
	Latency int `json:"latencyMS,omitempty"`
}

// quota is what is left of the quota that counts what is needed, and its part.
func (r Row) quota(need Need) (*Headroom, Part) {
	if need.Spot {
		return r.SpotQuota, SpotQuota
	}
	return r.Quota, Quota
}

// hourly is the price of one instance as it is needed, On-Demand or Spot, in
// USD; ok is false where it is not known.
func (r Row) hourly(need Need) (usd float64, ok bool) {
	price := r.USD
	if need.Spot {
		price = r.SpotUSD
	}
	if price == nil {
		return 0, false
	}
	return *price, true
}

// lacks notes why a part is not known.
func (r *Row) lacks(part Part, why string) {
	if r.Problems == nil {
		r.Problems = map[Part]string{}
	}
	r.Problems[part] = why
}

// Headroom is what a quota leaves.
type Headroom struct {
	Code      string `json:"code"`
	Name      string `json:"name"`
	Limit     int    `json:"limitVCPUs"`
	Used      int    `json:"usedVCPUs"`     // by running instances, and by unused reservations
	Instances int    `json:"instancesLeft"` // of the row's type
	Default   bool   `json:"default,omitempty"`
}

// Left is the vCPUs that may still run.
func (h Headroom) Left() int { return max(h.Limit-h.Used, 0) }

// Score is a Spot placement score for one type. AWS says that one for fewer than
// three types is low whatever there is, so it is good for comparing zones only.
type Score struct {
	Value int       `json:"value"` // 1 to 10; 0: the zone is none of the ten best of its region
	Asked time.Time `json:"asked"`
	// Capped says that the Spot quota is too small for the request, which lowers
	// the score whatever there is.
	Capped bool `json:"capped,omitempty"`
	// Stale is why an old score had to do; "": it is new enough.
	Stale string `json:"stale,omitempty"`
}

// PrivateSubnet says whether the cluster has a private subnet in the zone.
type PrivateSubnet struct {
	ID        string `json:"id,omitempty"`        // "": it has none there
	NoCluster bool   `json:"noCluster,omitempty"` // the region does not even have the cluster
}

// Block is a Capacity Block that can be bought.
type Block struct {
	ID            string    `json:"offering"`
	Instances     int       `json:"instances"`
	Start         time.Time `json:"start"`
	Hours         int       `json:"hours"`
	USD           float64   `json:"usd"` // for all of it, paid at once
	USDPerGPUHour float64   `json:"usdPerGPUHour,omitempty"`
}

// Outcome is what a probe found.
type Outcome string

// What a probe can find.
const (
	Proven    Outcome = "proven"     // the reservation was made
	NoStock   Outcome = "no stock"   // AWS has not got so many at the moment
	NoQuota   Outcome = "no quota"   // the account's quota does not allow it
	Unproven  Outcome = "unproven"   // neither: the probe failed for another reason
	Assessing Outcome = "assessing"  // AWS had not decided in time
	NotHere   Outcome = "not for it" // the type cannot be reserved here
)

// Finding is what a probe found in a zone.
type Finding struct {
	Outcome     Outcome   `json:"outcome"`
	At          time.Time `json:"at"`
	Why         string    `json:"why,omitempty"`         // AWS's reason
	Reservation string    `json:"reservation,omitempty"` // kept
	Until       time.Time `json:"until,omitzero"`        // its end date; AWS may take an hour more to end it
	// Left is a reservation that should be cancelled and could not be.
	Left string `json:"left,omitempty"`
	// Cancelled tells that AWS had made a reservation, which is cancelled.
	Cancelled bool `json:"cancelled,omitempty"`
}
