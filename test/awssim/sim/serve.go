package sim

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/trainyard/trainyard/test/awssim/sigv4"
	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// ServeHTTP takes one call from the signature to the answer.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if path, ok := strings.CutPrefix(r.URL.Path, controlPath); ok {
		s.control(w, r, path)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, wire.MaxBody))
	if err != nil {
		http.Error(w, "the request is too large, or ended early", http.StatusBadRequest)
		return
	}
	w.Header().Set("Date", s.wallClock().UTC().Format(http.TimeFormat))
	signature, err := sigv4.Parse(r)
	if err != nil {
		wire.Service{Name: "awssim", Protocol: wire.Query}.Fail(reply(w, r, requestID(&world.Record{})), unsigned(err))
		return
	}
	service, ok := s.services[signature.Service]
	if !ok || !s.resolves(signature) {
		panic(http.ErrAbortHandler) // the name of such an endpoint does not resolve: no server would answer
	}
	s.call(w, r, body, signature, service.Wire())
}

// call is a call to a service that exists.
func (s *Server) call(w http.ResponseWriter, r *http.Request, body []byte, signature sigv4.Signature, service wire.Service) {
	request, malformed := wire.Parse(service, r, body)
	account, principal := s.World.Principal(signature.AccessKey)
	seen := world.Record{Service: service.Name, Region: signature.Region, AccessKey: signature.AccessKey}
	if request != nil {
		seen.Action = request.Action
	}
	if account != nil {
		seen.Account = account.ID
	}
	record, fault, throttled := s.World.Begin(seen, service.Protocol)
	s.delay(r, signature.Region)
	if fault != nil && (fault.Kind == world.Hang || fault.Kind == world.Drop) {
		s.withhold(r, record, fault)
	}

	var answer []byte
	err := func() error {
		switch err := s.authenticate(r, body, service, credentials{signature, account, principal}); {
		case err != nil:
			return err
		case malformed != nil:
			return malformed
		case throttled != nil:
			return throttled
		case fault != nil && fault.Kind == world.Fail:
			return fault.Err()
		}
		operation, ok := s.operations[service.Name][request.Action]
		if !ok {
			return unknownAction(service, request.Action)
		}
		call := &world.Call{Account: account, Principal: principal, Region: signature.Region, Request: request}
		return s.World.Do(call, record, func(c *world.Call) error {
			found, err := operation(c)
			if err == nil {
				answer = service.Encode(requestID(record), request.Action, found)
			}
			return err
		})
	}()
	outcome := "ok"
	if err != nil {
		outcome = wire.AsError(err).Code
	}
	switch {
	case fault != nil && fault.Kind == world.Lose:
		s.World.End(record, outcome+", answer lost")
		panic(http.ErrAbortHandler)
	case fault != nil && fault.Kind == world.Late:
		s.World.End(record, outcome+", answer late")
		s.hold(r, time.Duration(fault.Delay))
	default:
		s.World.End(record, outcome) // before the caller can know
	}
	if err != nil {
		service.Fail(reply(w, r, requestID(record)), err)
		return
	}
	service.Respond(reply(w, r, requestID(record)), answer)
}

// withhold ends a call that gets no answer.
func (s *Server) withhold(r *http.Request, record *world.Record, fault *world.Fault) {
	outcome := "dropped"
	if fault.Kind == world.Hang {
		s.World.End(record, "hangs")
		s.hold(r, 0)
		outcome = "hung"
	}
	s.World.End(record, outcome)
	panic(http.ErrAbortHandler)
}

func (s *Server) delay(r *http.Request, region string) {
	var delay time.Duration
	s.World.Locked(func() { delay = s.World.Conditions.Delay(region) })
	if delay > 0 {
		s.hold(r, delay)
	}
}

// hold waits for so long, or for ever where that is 0, but not for a caller who
// has gone.
func (s *Server) hold(r *http.Request, long time.Duration) {
	var over <-chan time.Time
	if long > 0 {
		over = time.After(long)
	}
	select {
	case <-over:
	case <-r.Context().Done():
	case <-s.closed:
	}
}

// resolves tells whether AWS has an endpoint of the service in the region.
func (s *Server) resolves(signature sigv4.Signature) bool {
	_, ok := s.World.Facts.Regions[signature.Region]
	if regions, few := fewRegions[signature.Service]; few {
		ok = ok && strings.Contains(regions, signature.Region)
	}
	return ok
}

// fewRegions lists services that are not in all regions.
var fewRegions = map[string]string{"pricing": "us-east-1 eu-central-1 ap-south-1"}

func unknownAction(service wire.Service, action string) error {
	code := map[wire.Protocol]string{wire.EC2: "InvalidAction", wire.Query: "InvalidAction", wire.JSON: "UnknownOperationException", wire.REST: "UnknownOperationException"}
	return wire.Errorf(code[service.Protocol], "awssim does not know the action %s of %s", action, service.Name)
}

// requestID has the number of the call in it.
func requestID(r *world.Record) string { return fmt.Sprintf("a35501ab-0000-4000-8000-%012d", r.Number) }

// reply is where the answer to a call goes.
func reply(w http.ResponseWriter, r *http.Request, id string) wire.Reply {
	return wire.Reply{ResponseWriter: w, RequestID: id, Gzip: strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")}
}
