package evidence

import (
	"bytes"
	"encoding/json"
)

// recordPrefix begins every record of the built-in training (train/trainyard/
// records.py); the number is the version of that contract.
var recordPrefix = []byte(`{"trainyard": 1, "event": "`)

// Record is a line that the built-in training printed for trainyard. Fields
// that its event does not have, or that are null, are zero.
type Record struct {
	// Event is rank, start, resumed, step, evaluation, checkpoint, exported,
	// warning, error, evidence or done.
	Event string `json:"event"`

	// rank; error and evidence have some of them too
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
	BatchSize  int    `json:"batch_size"` // sequences a worker and forward pass
	Accumulate int    `json:"accumulate"` // forward passes a step
	SeqLen     int    `json:"seq_len"`    // tokens
	FirstStep  int    `json:"first_step"`
	Parallel   string `json:"parallel"` // ddp, fsdp or hsdp
	Reason     string `json:"reason"`

	// start: what a node sends to others in a step. evidence: what the rank's
	// share of that came to in all steps.
	BytesAcrossNodes uint64 `json:"bytes_across_nodes"`

	// step and done; others say their step
	Step            int      `json:"step"` // counted from 1
	Steps           int      `json:"steps"`
	Loss            *float64 `json:"loss"` // nil: not finite
	Perplexity      float64  `json:"perplexity"`
	TokensPerSecond float64  `json:"tokens_per_second"`
	MFU             float64  `json:"mfu"` // model FLOPs utilization, 0 to 1
	Seconds         float64  `json:"seconds"`
	Elapsed         float64  `json:"elapsed"`
	FirstLoss       float64  `json:"first_loss"`
	LastLoss        float64  `json:"last_loss"`

	// checkpoint and exported
	Path string `json:"path"`

	// warning and error
	Message   string  `json:"message"`
	Kind      string  `json:"kind"`      // of an error: config, memory, storage, numbers, peer or bug
	Traceback string  `json:"traceback"` // of a bug
	Time      float64 `json:"time"`      // of an error, in seconds since 1970

	// evidence
	Counters []PortRecord `json:"counters"`
}

// PortRecord is what a rank saw a port of an RDMA card count.
type PortRecord struct {
	Device         string `json:"device"`
	Port           int    `json:"port"`
	SentBefore     uint64 `json:"sent_before"`
	SentAfter      uint64 `json:"sent_after"`
	ReceivedBefore uint64 `json:"received_before"`
	ReceivedAfter  uint64 `json:"received_after"`
	Problem        string `json:"problem"`
}

// Consequence tells whether an error says no more than that another rank was
// gone.
func (r Record) Consequence() bool { return r.Kind == "peer" }

// ParseRecord reads a line as a record; ok is false where it is none.
func ParseRecord(line []byte) (record Record, ok bool) {
	if !bytes.HasPrefix(line, recordPrefix) {
		return Record{}, false
	}
	err := json.Unmarshal(line, &record)
	return record, err == nil
}
