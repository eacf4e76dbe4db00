package fabric

import (
	"fmt"
	"slices"
	"strings"
)

// Expectation is the network that must be proven.
type Expectation string

// The expectations.
const (
	// EFA: AWS's Elastic Fabric Adapter, through the OFI plugin.
	EFA Expectation = "efa"
	// RDMA: EFA, InfiniBand or RoCE, or NVLink between machines, which is as far
	// from TCP.
	RDMA Expectation = "rdma"
	// IB: InfiniBand or RoCE.
	IB Expectation = "ib"
	// Socket: NCCL's own TCP sockets, as the slow arm of a comparison wants.
	Socket Expectation = "socket"
	// Any demands nothing: the verdict says what was seen.
	Any Expectation = "any"
)

// Expectations lists all of them.
func Expectations() []Expectation { return []Expectation{EFA, RDMA, IB, Socket, Any} }

// ParseExpectation reads an expectation; case does not matter.
func ParseExpectation(s string) (Expectation, error) {
	e := Expectation(strings.ToLower(strings.TrimSpace(s)))
	if slices.Contains(Expectations(), e) {
		return e, nil
	}
	names := make([]string, 0, len(Expectations()))
	for _, known := range Expectations() {
		names = append(names, string(known))
	}
	return "", fmt.Errorf("parsing expected network %q: must be one of %s", s, strings.Join(names, ", "))
}

// Demands tells whether a verdict against the expectation should fail a
// command. An expectation of Any never does.
func (e Expectation) Demands() bool { return e != Any && e != "" }

// Accepts tells whether the transport satisfies the expectation.
func (e Expectation) Accepts(t Transport) bool {
	switch e {
	case EFA:
		return t == TransportEFA
	case IB:
		return t == TransportIB
	case RDMA:
		return t == TransportEFA || t == TransportIB || t == TransportMNNVL || t == libfabric("verbs")
	case Socket:
		return t == TransportSocket
	}
	return true
}

// words names the expectation in a sentence.
func (e Expectation) words() string {
	switch e {
	case EFA:
		return "EFA"
	case IB:
		return "InfiniBand or RoCE"
	case RDMA:
		return "EFA, InfiniBand or RoCE"
	case Socket:
		return "TCP sockets"
	}
	return "any network"
}
