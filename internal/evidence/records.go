package evidence

import (
	"bytes"
	"encoding/json"
)

// recordPrefix begins every record of the built-in training (train/trainyard/
// metrics.py); the number is the version of that contract.
var recordPrefix = []byte(`{"trainyard": 1, "event": "`)

// Record is a line that the built-in training printed for trainyard. Fields
// that its event does not have are zero.
type Record struct {
	Event string `json:"event"` // rank, start, step, checkpoint, done

	// rank
	Rank      int    `json:"rank"`
	LocalRank int    `json:"local_rank"`
	NodeRank  int    `json:"node_rank"`
	Node      string `json:"node"`
	PID       int    `json:"pid"`
	Device    string `json:"device"`
	Backend   string `json:"backend"`
	WorldSize int    `json:"world_size"`

	// start
	Model      string `json:"model"`
	Parameters int64  `json:"parameters"`
	Data       string `json:"data"`
	DataBytes  int64  `json:"data_bytes"`

	// step and done
	Step            int     `json:"step"` // counted from 1
	Steps           int     `json:"steps"`
	Loss            float64 `json:"loss"`
	TokensPerSecond float64 `json:"tokens_per_second"`
	Seconds         float64 `json:"seconds"`
	Elapsed         float64 `json:"elapsed"`
	FirstLoss       float64 `json:"first_loss"`
	LastLoss        float64 `json:"last_loss"`

	// checkpoint
	Path string `json:"path"`
}

// ParseRecord reads a line as a record; ok is false where it is none.
func ParseRecord(line []byte) (record Record, ok bool) {
	if !bytes.HasPrefix(line, recordPrefix) {
		return Record{}, false
	}
	err := json.Unmarshal(line, &record)
	return record, err == nil
}
