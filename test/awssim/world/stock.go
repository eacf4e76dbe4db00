package world

import (
	"time"

	"github.com/trainyard/trainyard/test/awssim/policy"
)

// Stock says how many instances of a type a zone has. Of the rules that fit,
// the last one counts; where none fits there is more than anybody needs.
type Stock struct {
	Zone  string   `json:"zone,omitempty"` // id, with * and ?; "": every zone
	Type  string   `json:"type,omitempty"` // with * and ?; "": every type
	Count int      `json:"count"`
	After Duration `json:"after,omitempty"` // from the beginning of the world: stock that runs out, or comes back
}

// plenty is the stock that no rule speaks of.
const plenty = 1000

// Free is how many instances of the type the zone, by its id, can still give.
func (w *World) Free(zone, instanceType string, now time.Time) int {
	count := plenty
	for _, rule := range w.Stock {
		if fits(rule.Zone, zone) && fits(rule.Type, instanceType) && !now.Before(w.Began.Add(time.Duration(rule.After))) {
			count = rule.Count
		}
	}
	return max(count-w.used[zone+"/"+instanceType], 0)
}

// Take takes instances out of a zone's stock; a negative count gives them back.
func (w *World) Take(zone, instanceType string, count int) {
	w.used[zone+"/"+instanceType] += count
}

// fits tells whether a name fits a pattern; "" fits all.
func fits(pattern, name string) bool {
	return pattern == "" || policy.Match(pattern, name)
}

// blocksOf is how many instances a zone that offers a type sells as Capacity
// Blocks, beside what it has in stock.
const blocksOf = 16

// Blocks is how many instances of Capacity Blocks the zone can still sell.
func (w *World) Blocks(zone, instanceType string) int {
	return max(blocksOf-w.used["block/"+zone+"/"+instanceType], 0)
}

// TakeBlocks takes instances out of those; a negative count gives them back.
func (w *World) TakeBlocks(zone, instanceType string, count int) {
	w.used["block/"+zone+"/"+instanceType] += count
}
