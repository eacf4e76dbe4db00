package world

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// Clock is the simulated time. It runs beside the real one, at a speed, and can
// be moved ahead, so that no test sleeps.
type Clock struct {
	mu     sync.Mutex
	anchor time.Time // real
	base   time.Time // simulated, at the anchor
	speed  float64
}

// NewClock starts at a time and runs so many times as fast as the real one.
func NewClock(start time.Time, speed float64) *Clock {
	return &Clock{anchor: time.Now(), base: start, speed: speed}
}

// Now is the simulated time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

func (c *Clock) now() time.Time {
	return c.base.Add(time.Duration(float64(time.Since(c.anchor)) * c.speed)).UTC()
}

// Advance moves the clock ahead.
func (c *Clock) Advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.base = c.base.Add(max(by, 0))
}

// SetSpeed makes the clock run at so many simulated seconds a second; 0 stops it.
func (c *Clock) SetSpeed(speed float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.base, c.anchor, c.speed = c.now(), time.Now(), speed
}

// Duration is written as "30m" in JSON.
type Duration time.Duration

// MarshalJSON writes "30m0s".
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(d).String())
}

// UnmarshalJSON reads "30m".
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("reading a duration such as \"30m\": %w", err)
	}
	parsed, err := time.ParseDuration(text)
	*d = Duration(parsed)
	return err
}
