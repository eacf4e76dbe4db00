package ec2

import (
	"net/netip"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

var addressKind = kind{"elastic-ip", "allocation ID", "InvalidAllocationID.NotFound", pages{5, 1000}, nil}

// addressUSD is the price of an address, an hour, from AWS's public price page.
const addressUSD = 0.005

// Address is a public address of one's own, billed as long as one has it.
type Address struct {
	meta
	AllocationID  string
	AssociationID string
	PublicIP      string
	Domain        string
}

type allocateAddressIn struct {
	Domain            string
	TagSpecifications []tagSpecification `aws:"TagSpecification"`
}

type allocateAddressOut struct {
	AllocationID string
	PublicIP     string
	Domain       string
}

func (s *Service) allocateAddress(c *world.Call, in allocateAddressIn) (out allocateAddressOut, err error) {
	tags, err := mayCreate(c, addressKind, in.TagSpecifications, nil)
	if err != nil {
		return out, err
	}
	if err := c.Proceed(); err != nil {
		return out, err
	}
	r := s.at(c)
	if limit, _ := c.Account.Limit(c.Region, world.AddressQuota()); len(r.Addresses) >= int(limit) {
		return out, wire.Errorf("AddressLimitExceeded", "The maximum number of addresses has been reached.")
	}
	id := s.world.NewID("eipalloc")
	a := &Address{meta: meta{id, c.Now, tags}, AllocationID: id, PublicIP: s.publicIP(), Domain: "vpc"}
	r.Addresses = append(r.Addresses, a)
	s.bill(c.Account.ID, c.Region, id, "address", "", 1, addressUSD, c.Now)
	return allocateAddressOut{id, a.PublicIP, a.Domain}, nil
}

// publicIP is an address that nobody had before, of those that are for tests of
// networks (RFC 2544).
func (s *Service) publicIP() string {
	s.addresses++
	return netip.AddrFrom4([4]byte{198, 18 + byte(s.addresses>>16), byte(s.addresses >> 8), byte(s.addresses)}).String()
}

type addressIn struct {
	AllocationID string
}

func (s *Service) releaseAddress(c *world.Call, in addressIn) (done, error) {
	r := s.at(c)
	a, err := change(c, addressKind, r.Addresses, in.AllocationID)
	if err != nil {
		return done{}, err
	}
	if a.AssociationID != "" {
		return done{}, wire.Errorf("InvalidIPAddress.InUse", "Address %s is in use.", a.PublicIP)
	}
	r.Addresses = remove(r.Addresses, a)
	s.bill(c.Account.ID, c.Region, a.id, "address", "", 0, addressUSD, c.Now)
	return done{true}, nil
}

type describeAddressesIn struct {
	Filters       []filter `aws:"Filter"`
	AllocationIDs []string `aws:"AllocationId"`
}

type describeAddressesOut struct {
	Addresses []*Address `aws:"addressesSet"`
}

func (s *Service) describeAddresses(c *world.Call, in describeAddressesIn) (out describeAddressesOut, err error) {
	out.Addresses, _, err = describe(c, addressKind, s.at(c).Addresses, in.AllocationIDs, listing{Filters: in.Filters}, keys[*Address]{
		"allocation-id": one(func(a *Address) string { return a.AllocationID }),
		"public-ip":     one(func(a *Address) string { return a.PublicIP }),
	})
	return out, err
}
