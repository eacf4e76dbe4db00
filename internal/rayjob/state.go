package rayjob

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"
)

// stateLimit is the most rows that Ray's state API returns
// (RAY_MAX_LIMIT_FROM_API_SERVER); its own default is 100.
const stateLimit = "10000"

// Node is a Ray node. Dead ones stay listed, and a node that replaces a dead
// one may have its address: nodes are told apart by ID alone.
type Node struct {
	ID           string    `json:"node_id"`
	Name         string    `json:"node_name"`
	IP           string    `json:"node_ip"`
	IsHead       bool      `json:"is_head_node"`
	State        string    `json:"state"` // ALIVE or DEAD
	StateMessage string    `json:"state_message"`
	Resources    Resources `json:"resources_total"` // CPU, GPU, memory in bytes, …
	EndMillis    int64     `json:"end_time_ms"`     // 0 while alive
}

// Alive says whether the node is part of the cluster now.
func (n Node) Alive() bool { return n.State == "ALIVE" }

// Nodes returns all nodes that the cluster has or had.
func (c *Client) Nodes(ctx context.Context) ([]Node, error) {
	return list[Node](ctx, c, "nodes", nil)
}

// Worker is a process of Ray's: one that runs tasks and actors, or a driver.
// Ray does not tell which job it belongs to; its log file's name does.
type Worker struct {
	ID         string `json:"worker_id"`
	Type       string `json:"worker_type"` // WORKER, DRIVER, SPILL_WORKER, RESTORE_WORKER
	NodeID     string `json:"node_id"`
	IP         string `json:"ip"`
	PID        int    `json:"pid"`
	Alive      bool   `json:"is_alive"`
	ExitType   string `json:"exit_type"`
	ExitDetail string `json:"exit_detail"`
}

// Process is the worker's.
func (w Worker) Process() Process { return Process{w.IP, w.PID} }

// Workers returns the worker processes of all jobs. It is the one call that
// knows the node of every kind of process. Ray forgets the oldest dead ones.
func (c *Client) Workers(ctx context.Context) ([]Worker, error) {
	return list[Worker](ctx, c, "workers", nil)
}

// Actor is an actor of a job.
type Actor struct {
	ID         string     `json:"actor_id"`
	Class      string     `json:"class_name"`
	Name       string     `json:"name"`
	State      string     `json:"state"` // ALIVE, DEAD, PENDING_CREATION, …
	JobID      string     `json:"job_id"`
	NodeID     string     `json:"node_id"`
	PID        int        `json:"pid"`         // 0 until it has a process
	Detached   bool       `json:"is_detached"` // lives on after its job
	DeathCause DeathCause `json:"death_cause"`
	// Resources are its own; those of a placement group's actors are the group's.
	Resources        Resources `json:"required_resources"`
	PlacementGroupID string    `json:"placement_group_id"`
}

// Actors returns the actors of the job with the internal id jobID.
func (c *Client) Actors(ctx context.Context, jobID string) ([]Actor, error) {
	return list[Actor](ctx, c, "actors", ofJob("job_id", jobID))
}

// DeathCause is Ray's sentence on why an actor died; empty while it lives.
type DeathCause string

// UnmarshalJSON takes the message out of whichever context Ray wraps it in.
func (d *DeathCause) UnmarshalJSON(data []byte) error {
	var contexts map[string]json.RawMessage
	if err := json.Unmarshal(data, &contexts); err != nil {
		return err
	}
	for _, raw := range contexts {
		var cause struct {
			Message   string `json:"error_message"`
			Formatted string `json:"formatted_exception_string"`
		}
		if json.Unmarshal(raw, &cause) == nil && *d == "" {
			*d = DeathCause(cause.Message + cause.Formatted)
		}
	}
	return nil
}

// list calls Ray's state API, which wraps its rows twice.
func list[T any](ctx context.Context, c *Client, resource string, query url.Values) ([]T, error) {
	if query == nil {
		query = url.Values{}
	}
	query.Set("limit", stateLimit)
	query.Set("detail", "true")
	var reply struct {
		Data struct {
			Result struct {
				Result []T `json:"result"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := c.get(ctx, "/api/v0/"+resource, query, &reply); err != nil {
		return nil, fmt.Errorf("listing %s: %w", resource, err)
	}
	return reply.Data.Result.Result, nil
}

// diedSince says whether the node was lost after t.
func (n Node) diedSince(t time.Time) bool {
	return !n.Alive() && time.UnixMilli(n.EndMillis).After(t)
}
