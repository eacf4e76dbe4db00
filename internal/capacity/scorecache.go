package capacity

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2"
)

const (
	// freshScore is how long a score is as good as a new one.
	freshScore = 15 * time.Minute
	// keptScore is how long it is better than none.
	keptScore = 24 * time.Hour
)

// scoreQuestion is what AWS counts as one configuration.
type scoreQuestion struct {
	Account, Region, Type string
	Nodes                 int
}

func (q scoreQuestion) String() string {
	return strings.Join([]string{q.Account, q.Region, q.Type, fmt.Sprint(q.Nodes)}, " ")
}

// ScoreCache remembers Spot placement scores from one command to the next. It
// may be deleted at any time.
type ScoreCache struct {
	path    string
	mu      sync.Mutex
	entries map[string]scoreEntry // by question
	changed bool
}

type scoreEntry struct {
	Asked time.Time      `json:"asked"`
	Zones map[string]int `json:"zones"`
}

// OpenScores reads the cache in a folder. One that cannot be read is empty.
func OpenScores(dir string) *ScoreCache {
	c := &ScoreCache{path: filepath.Join(dir, "spot-scores.json"), entries: map[string]scoreEntry{}}
	data, err := os.ReadFile(c.path)
	if err == nil {
		err = json.Unmarshal(data, &c.entries)
	}
	if err != nil || c.entries == nil {
		c.entries = map[string]scoreEntry{}
	}
	return c
}

// get is an answer that is not too old to be of use. One that was given in the
// future, by another clock, is of none.
func (c *ScoreCache) get(q scoreQuestion, now time.Time) (s scored, age time.Duration, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[q.String()]
	age = now.Sub(e.Asked)
	return scored{zones: e.Zones, asked: e.Asked}, age, ok && q.Account != "" && 0 <= age && age <= keptScore
}

func (c *ScoreCache) put(q scoreQuestion, s scored) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries[q.String()], c.changed = scoreEntry{s.asked, s.zones}, true
}

// Save writes what was learned, without what is too old to be of use. What
// another command learned at the same time may be lost, and is asked again.
func (c *ScoreCache) Save(now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.changed {
		return nil
	}
	for question, e := range c.entries {
		if age := now.Sub(e.Asked); age < 0 || age > keptScore {
			delete(c.entries, question)
		}
	}
	data, err := json.Marshal(c.entries)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(c.path), 0o700)
	}
	if err == nil {
		err = renameio.WriteFile(c.path, data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("remembering Spot placement scores: %w", err)
	}
	return nil
}
