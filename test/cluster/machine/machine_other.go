//go:build !linux

package machine

import (
	"context"
	"errors"
	"net/netip"

	"github.com/trainyard/trainyard/test/cluster/spawn"
)

// A Network is a network namespace.
type Network struct {
	spawn.Spawner
	Host netip.Addr
}

// NewNetwork needs Linux.
func NewNetwork(int) (*Network, error) { return nil, errors.ErrUnsupported }

// Node is the address of node i.
func (*Network) Node(int) netip.Addr { return netip.Addr{} }

// DNS is the address of the DNS server.
func (*Network) DNS() netip.Addr { return netip.Addr{} }

// A Cgroup is a control group.
type Cgroup struct{}

// NewCgroup needs Linux.
func NewCgroup(context.Context, int) (Cgroup, error) { return Cgroup{}, errors.ErrUnsupported }

// Node is the path of a node's group.
func (Cgroup) Node(int) string { return "" }

// Remove has nothing to remove.
func (Cgroup) Remove(context.Context) error { return nil }

func checkCgroups() error { return errors.ErrUnsupported }
