package machine

import (
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/trainyard/trainyard/test/cluster/spawn"
)

// A Network is a network namespace with one cable to this machine. Whatever its
// Spawner starts is in it. It lives as long as this program and what it has
// started, and takes the cable with it.
type Network struct {
	spawn.Spawner
	Host netip.Addr // of this machine's end of the cable
}

// prefixBits is the size of the subnet on the cable.
const prefixBits = 24

// NewNetwork makes a network in which the addresses of n nodes and of a DNS
// server are there to listen on.
func NewNetwork(n int) (*Network, error) {
	host, err := freeSubnet()
	if err != nil {
		return nil, err
	}
	network := &Network{Spawner: spawn.New(), Host: host}
	cable := fmt.Sprintf("yard%d", os.Getpid())
	inside := []netip.Addr{network.DNS()}
	for i := range n {
		inside = append(inside, network.Node(i))
	}
	err = network.Do(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		if err := up("lo"); err != nil {
			return err
		}
		// The first thread of this program has stayed in the machine's network.
		pair := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "eth0"}, PeerName: cable, PeerNamespace: netlink.NsPid(os.Getpid())}
		if err := netlink.LinkAdd(pair); err != nil {
			return err
		}
		return up("eth0", inside...)
	})
	if err == nil {
		err = up(cable, host)
	}
	if err != nil {
		return nil, fmt.Errorf("making a network: %w", err)
	}
	return network, nil
}

// Node is the address of node i.
func (n *Network) Node(i int) netip.Addr { return n.address(byte(10 + i)) }

// DNS is the address of the DNS server.
func (n *Network) DNS() netip.Addr { return n.address(2) }

func (n *Network) address(last byte) netip.Addr {
	a := n.Host.As4()
	a[3] = last
	return netip.AddrFrom4(a)
}

// up gives a network interface its addresses and switches it on.
func up(name string, addresses ...netip.Addr) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	for _, a := range addresses {
		subnet := &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(prefixBits, a.BitLen())}
		if err := netlink.AddrAdd(link, &netlink.Addr{IPNet: subnet}); err != nil {
			return fmt.Errorf("giving %s to %s: %w", a, name, err)
		}
	}
	return netlink.LinkSetUp(link)
}

// freeSubnet returns the first address of a subnet that this machine has no
// address in. All are of the range for benchmarks (RFC 2544), which no network
// that this machine can reach should use.
func freeSubnet() (netip.Addr, error) {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Addr{}, err
	}
	for i := range 256 {
		third := byte(os.Getpid() + i) // two programs at once begin at different ones
		subnet := netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, third, 0}), prefixBits)
		if !overlaps(own, subnet) {
			return subnet.Addr().Next(), nil
		}
	}
	return netip.Addr{}, fmt.Errorf("finding a free subnet: all of 198.18.0.0/16 is in use")
}

func overlaps(own []net.Addr, subnet netip.Prefix) bool {
	for _, a := range own {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Overlaps(subnet) {
			return true
		}
	}
	return false
}
