package capacity

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/trainyard/trainyard/internal/awsapi"
)

// Region is what is known of one region.
type Region struct {
	Name string
	Rows []Row
	// Reservations are those in the region that trainyard made.
	Reservations []Reservation
	// Unseen is why they could not be listed.
	Unseen error
}

// answered tells whether anything is known of the region.
func (r Region) answered() bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Zone != "" || row.Offered != nil || row.Quota != nil })
}

// Skipped tells whether the region was not asked at all.
func (r Region) Skipped() bool { return len(r.Rows) > 0 && r.Rows[0].Skipped != "" }

// asking is one region that is asked.
type asking struct {
	clients  *awsapi.Session
	need     Need
	region   string
	account  string // whose; "": not known
	me       Me
	prices   func() (Prices, error)
	scores   *ScoreCache
	now      func() time.Time
	deadline time.Duration
}

// ask asks a region all there is to know. Each call begins when the answers
// that it needs are there, and none is made twice.
func (a asking) ask(ctx context.Context) Region {
	ctx, cancel := context.WithTimeout(ctx, a.deadline)
	defer cancel()
	api, quotas := a.clients.EC2(a.region), a.clients.Quotas(a.region)
	began := time.Now()
	latency := 0
	zones := later(func() ([]zone, error) {
		all, err := zonesOf(ctx, api)
		latency = int(time.Since(began).Milliseconds())
		return all, err
	})
	offered := later(func() (offers, error) { return offersOf(ctx, api, a.need) })
	instances := later(func() ([]running, error) { return runningIn(ctx, api, a.need.quotas()) })
	reserved := later(func() ([]Reservation, error) { return reservationsIn(ctx, api) })
	spot := later(func() (map[place]float64, error) { return spotPrices(ctx, api, a.need, a.now()) })
	subnets := later(func() (map[string]string, error) {
		return privateSubnets(ctx, a.clients.EKS(a.region), api, a.need.Cluster)
	})
	limits := map[string]func() (limit, error){}
	for _, q := range a.need.quotas() {
		limits[q.code] = later(func() (limit, error) { return limitOf(ctx, quotas, q) })
	}
	// Scores are only for types that are offered, since AWS limits how many
	// questions it answers; of others there are no Capacity Blocks either.
	scores, blocks := map[string]func() (scored, error){}, map[string]func() (map[string][]Block, error){}
	for _, t := range a.need.Types {
		scores[t.Name] = later(func() (scored, error) {
			if o, err := offered(); err == nil && !o.region(t.Name) {
				return scored{}, nil
			}
			return a.score(ctx, api, t.Name)
		})
		blocks[t.Name] = later(func() (map[string][]Block, error) {
			if !HasBlocks(t.Name) {
				return nil, nil
			}
			if o, err := offered(); err != nil || !o.region(t.Name) {
				return nil, err
			}
			return blocksOf(ctx, api, t, a.need)
		})
	}
	got := answers{
		asking: a, zones: await(zones), offered: await(offered), running: await(instances), reserved: await(reserved),
		limits: awaitAll(limits), spot: await(spot), subnets: await(subnets), scores: awaitAll(scores), blocks: awaitAll(blocks),
		prices: await(a.prices),
	}
	got.latency = latency // which the answer about zones has set
	return Region{Name: a.region, Rows: got.rows(), Reservations: got.reserved.value, Unseen: got.reserved.err}
}

func awaitAll[T any](waits map[string]func() (T, error)) map[string]answer[T] {
	all := map[string]answer[T]{}
	for name, wait := range waits {
		all[name] = await(wait)
	}
	return all
}

// quotas are those that count the types that are looked for, as far as they
// are known.
func (n Need) quotas() []vcpuQuota {
	byCode := map[string]vcpuQuota{}
	for _, t := range n.Types {
		for _, spot := range []bool{false, true} {
			if q, err := quotaOf(t.Name, spot); err == nil {
				byCode[q.code] = q
			}
		}
	}
	return slices.Collect(maps.Values(byCode))
}
