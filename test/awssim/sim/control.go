package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/trainyard/trainyard/test/awssim/world"
)

// controlPath is where the simulator itself is spoken to, without signatures.
const controlPath = "/_awssim/"

// clockCommand is what may be sent to the control path clock.
type clockCommand struct {
	Advance world.Duration `json:"advance"`
	Speed   *float64       `json:"speed"`
}

// control answers GET state, ledger, calls, operations, clock, conditions and
// stock; and PUT clock, conditions and stock.
func (s *Server) control(w http.ResponseWriter, r *http.Request, path string) {
	var answer any
	var err error
	switch r.Method + " " + path {
	case "GET state":
		answer = s.State()
	case "GET ledger":
		answer = s.Ledger()
	case "GET calls":
		answer = s.Calls()
	case "GET operations":
		answer = s.Operations()
	case "GET clock":
		answer = map[string]time.Time{"now": s.World.Clock.Now()}
	case "GET conditions":
		s.World.Locked(func() { answer = s.World.Conditions })
	case "GET stock":
		s.World.Locked(func() { answer = s.World.Stock })
	case "PUT clock":
		err = receive(r, func(c clockCommand) { s.move(c) })
	case "PUT conditions":
		err = receive(r, s.World.SetConditions)
	case "PUT stock":
		err = receive(r, s.SetStock)
	default:
		http.NotFound(w, r)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(answer) // the client may be gone
}

// Operations lists what each service can do.
func (s *Server) Operations() map[string][]string {
	all := map[string][]string{}
	for service, operations := range s.operations {
		all[service] = slices.Sorted(maps.Keys(operations))
	}
	return all
}

func receive[T any](r *http.Request, take func(T)) error {
	var value T
	decoder := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 1<<20))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&value); err != nil {
		return fmt.Errorf("reading the body: %w", err)
	}
	take(value)
	return nil
}

func (s *Server) move(c clockCommand) {
	s.World.Clock.Advance(time.Duration(c.Advance))
	if c.Speed != nil {
		s.World.Clock.SetSpeed(*c.Speed)
	}
}

// SetStock replaces the rules of what zones have. What was taken stays taken.
func (s *Server) SetStock(rules []world.Stock) {
	s.World.Locked(func() { s.World.Stock = rules })
}
