// Package sim is a server that behaves like AWS towards real clients, on
// loopback: it signs in, authorizes, throttles, bills and runs out of
// instances. The services are packages beside it; what they share is package
// world.
package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/trainyard/trainyard/test/awssim/ec2"
	"github.com/trainyard/trainyard/test/awssim/eks"
	"github.com/trainyard/trainyard/test/awssim/pricing"
	"github.com/trainyard/trainyard/test/awssim/quotas"
	"github.com/trainyard/trainyard/test/awssim/sts"
	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// Service is one of AWS's services.
type Service interface {
	// Wire says how it is spoken to.
	Wire() wire.Service
	// Operations are what it can do, by the names of actions.
	Operations() map[string]world.Operation
	// Settle does what time alone brings about; the world is locked.
	Settle(now time.Time)
	// State is all that it holds, to be printed; the world is locked.
	State() any
}

// Server is a running simulator.
type Server struct {
	URL   string // of all services, "http://127.0.0.1:40001"
	World *world.World

	first      world.Key // of the first account
	compute    *ec2.Service
	services   map[string]Service
	operations map[string]map[string]world.Operation
	http       *http.Server
	closed     chan struct{}
	served     chan struct{}
}

// New makes the world of the seed and serves it on the loopback address, such
// as 127.0.0.1:0.
func New(ctx context.Context, address string, seed world.Seed) (*Server, error) {
	if len(seed.Accounts) == 0 {
		seed.Accounts = world.Default().Accounts
	}
	w, err := world.New(seed)
	if err != nil {
		return nil, err
	}
	s := &Server{
		World: w, first: seed.Accounts[0].Keys[0], services: map[string]Service{}, operations: map[string]map[string]world.Operation{},
		closed: make(chan struct{}), served: make(chan struct{}),
	}
	if err := s.furnish(seed); err != nil {
		return nil, err
	}
	if host, _, err := net.SplitHostPort(address); err != nil || !net.ParseIP(host).IsLoopback() {
		return nil, fmt.Errorf("listening: %q is not a loopback address with a port", address)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	s.URL = "http://" + listener.Addr().String()
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(listener) // ends when Close closes it
	}()
	return s, nil
}

// furnish adds the services, and what the seed says that they hold.
func (s *Server) furnish(seed world.Seed) error {
	s.compute = ec2.New(s.World)
	clusters := eks.New(s.World, s.compute)
	for _, service := range []Service{sts.New(), s.compute, quotas.New(s.World), pricing.New(), clusters} {
		name := service.Wire().Name
		s.services[name], s.operations[name] = service, service.Operations()
	}
	s.World.Settle = func(now time.Time) {
		for _, service := range s.services {
			service.Settle(now)
		}
	}
	for i, account := range seed.Accounts {
		for _, cluster := range account.Clusters {
			if err := clusters.Add(s.World.Accounts[i], cluster); err != nil {
				return fmt.Errorf("account %s: %w", account.ID, err)
			}
		}
		for _, instances := range account.Instances {
			if err := s.compute.Run(s.World.Accounts[i], instances); err != nil {
				return fmt.Errorf("instances of account %s: %w", account.ID, err)
			}
		}
	}
	return nil
}

// Start is New for a test, at whose end the server ends.
func Start(t testing.TB, seed world.Seed) *Server {
	t.Helper()
	s, err := New(t.Context(), "127.0.0.1:0", seed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Close ends the server and every call that hangs.
func (s *Server) Close() {
	close(s.closed)
	_ = s.http.Close() // connections that are open are lost, as they should
	<-s.served
}

// Env is the environment by which clients find the simulator, and sign as the
// first key of the first account.
func (s *Server) Env() []string {
	key := s.first
	env := []string{
		"AWS_ENDPOINT_URL=" + s.URL,
		"AWS_ACCESS_KEY_ID=" + key.AccessKey,
		"AWS_SECRET_ACCESS_KEY=" + key.Secret,
		"AWS_REGION=us-east-1",
		"AWS_DEFAULT_REGION=us-east-1",
		"AWS_EC2_METADATA_DISABLED=true",
	}
	if key.SessionToken != "" {
		env = append(env, "AWS_SESSION_TOKEN="+key.SessionToken)
	}
	return env
}

// Calls lists every call so far.
func (s *Server) Calls() []world.Record { return s.World.Calls() }

// Ledger is all that was paid for, with what it cost until now.
func (s *Server) Ledger() []world.Entry {
	var entries []world.Entry
	s.settled(func(now time.Time) { entries = s.World.Ledger.Entries(now) })
	return entries
}

// Reservations are the capacity reservations that have not ended, of all
// accounts and regions, from the oldest: what costs money, or will.
func (s *Server) Reservations() []ec2.Reservation {
	var open []ec2.Reservation
	s.settled(func(time.Time) { open = s.compute.Open() })
	return open
}

// State is what each service holds, as JSON.
func (s *Server) State() map[string]json.RawMessage {
	state := map[string]json.RawMessage{}
	s.settled(func(time.Time) {
		for name, service := range s.services {
			text, err := json.Marshal(service.State())
			if err != nil {
				panic(fmt.Sprintf("awssim: the state of %s: %v", name, err)) // every test would see it
			}
			state[name] = text
		}
	})
	return state
}

// settled runs do in a world in which all has happened that should have by now.
func (s *Server) settled(do func(now time.Time)) {
	s.World.Locked(func() {
		now := s.World.Clock.Now()
		s.World.Settle(now)
		do(now)
	})
}
