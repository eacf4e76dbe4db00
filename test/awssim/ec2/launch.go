package ec2

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"github.com/trainyard/trainyard/test/awssim/world"
)

type runInstancesIn struct {
	ImageID               string
	InstanceType          string
	MinCount, MaxCount    int
	SubnetID              string
	SecurityGroupIDs      []string `aws:"SecurityGroupId"`
	Placement             placement
	Interfaces            []interfaceIn `aws:"NetworkInterface"`
	InstanceMarketOptions struct {
		MarketType  string
		SpotOptions map[string]any
	}
	CapacityReservation reservationChoice  `aws:"CapacityReservationSpecification"`
	TagSpecifications   []tagSpecification `aws:"TagSpecification"`
	ClientToken         string

	// What changes nothing here.
	BlockDeviceMappings []map[string]any `aws:"BlockDeviceMapping"`
	InstanceProfile     map[string]any   `aws:"IamInstanceProfile"`
	MetadataOptions     map[string]any
	Monitoring          map[string]any
	UserData            string
	KeyName             string
	EbsOptimized        bool
	ShutdownBehavior    string `aws:"InstanceInitiatedShutdownBehavior"`
	DisableTermination  bool   `aws:"DisableApiTermination"`
}

type interfaceIn struct {
	DeviceIndex         int
	NetworkCardIndex    int
	InterfaceType       string
	SubnetID            string
	Groups              []string `aws:"SecurityGroupId"`
	Description         string
	DeleteOnTermination bool
	AssociatePublicIP   bool `aws:"AssociatePublicIpAddress"`
}

type reservationChoice struct {
	Preference string `aws:"CapacityReservationPreference"`
	Target     struct {
		ID string `aws:"CapacityReservationId"`
	} `aws:"CapacityReservationTarget"`
}

func (s *Service) runInstances(c *world.Call, in runInstancesIn) (out launch, err error) {
	if len(in.Interfaces) > 0 { // the first says where the instance is
		in.SubnetID, in.SecurityGroupIDs = in.Interfaces[0].SubnetID, in.Interfaces[0].Groups
	}
	tags, err := mayRun(c, in)
	if err != nil {
		return out, err
	}
	if err := c.Proceed(); err != nil {
		return out, err
	}
	return world.Once(c, in.ClientToken, func() (launch, error) {
		p, err := s.planLaunch(c, in)
		if err != nil {
			return launch{}, err
		}
		p.tags = tags
		return s.launch(c, in, p), nil
	})
}

// mayRun asks for all that a launch touches, as IAM does, and returns the tags
// of the instances.
func mayRun(c *world.Call, in runInstancesIn) ([]Tag, error) {
	context := world.Context{"ec2:InstanceType": {in.InstanceType}}
	if in.Placement.AvailabilityZone != "" {
		context["ec2:AvailabilityZone"] = []string{in.Placement.AvailabilityZone}
	}
	tags, err := mayCreate(c, instanceKind, in.TagSpecifications, context)
	if err != nil {
		return nil, err
	}
	touched := []string{"network-interface/*", "volume/*"}
	for _, group := range in.SecurityGroupIDs {
		touched = append(touched, "security-group/"+group)
	}
	if in.SubnetID != "" {
		touched = append(touched, "subnet/"+in.SubnetID)
	}
	if id := in.CapacityReservation.Target.ID; id != "" {
		touched = append(touched, "capacity-reservation/"+id)
	}
	if in.Placement.GroupName != "" {
		touched = append(touched, "placement-group/"+in.Placement.GroupName)
	}
	for _, resource := range touched {
		if err := c.Authorize(c.Action(), c.ARN(resource), context); err != nil {
			return nil, err
		}
	}
	return tags, c.Authorize(c.Action(), fmt.Sprintf("arn:%s:ec2:%s::image/%s", c.Account.Partition, c.Region, in.ImageID), context)
}

// launch takes what the plan says and makes the instances.
func (s *Service) launch(c *world.Call, in runInstancesIn, p plan) launch {
	r := s.at(c)
	out := launch{ReservationID: s.world.NewID("r"), OwnerID: c.Account.ID, Groups: p.groups}
	if p.reservation == nil {
		s.world.Take(p.zone.ID, in.InstanceType, p.count)
	}
	for n := range p.count {
		i := s.newInstance(c, in, p)
		i.batch, i.LaunchIndex = out.ReservationID, n
		if p.reservation != nil {
			i.ReservationID = p.reservation.id
			s.use(c.Account.ID, c.Region, p.reservation, 1, c.Now)
		}
		s.billInstance(c.Account.ID, c.Region, i, 1, c.Now)
		r.Instances = append(r.Instances, i)
		answered := *i // as it is now; an answer that is repeated stays so
		out.Instances = append(out.Instances, &answered)
	}
	return out
}

func (s *Service) newInstance(c *world.Call, in runInstancesIn, p plan) *Instance {
	id := s.world.NewID("i")
	i := &Instance{
		meta: meta{id, c.Now, p.tags}, InstanceID: id, ImageID: in.ImageID, InstanceType: in.InstanceType,
		State: pending, Lifecycle: p.lifecycle, LaunchTime: c.Now, Groups: p.groups, ClientToken: in.ClientToken, zone: p.zone.ID,
		Placement:    placement{p.zone.Name, p.zone.ID, in.Placement.GroupName, cmp.Or(in.Placement.Tenancy, "default")},
		Architecture: "x86_64", Hypervisor: "xen", Virtualization: "hvm", EbsOptimized: in.EbsOptimized, SourceDestCheck: true,
		Monitoring: stateName{"disabled"},
	}
	if p.subnet != nil {
		i.SubnetID, i.VPCID = p.subnet.id, p.subnet.VPCID
		i.PrivateIPAddress = p.subnet.nextAddress()
		i.PrivateDNSName = "ip-" + strings.ReplaceAll(i.PrivateIPAddress, ".", "-") + ".ec2.internal"
		i.Interfaces = s.newInterfaces(c, in, p, i)
	}
	return i
}

// newInterfaces makes the network interfaces of an instance in a subnet.
func (s *Service) newInterfaces(c *world.Call, in runInstancesIn, p plan, i *Instance) (all []networkInterface) {
	interfaces := in.Interfaces
	if len(interfaces) == 0 {
		interfaces = []interfaceIn{{DeleteOnTermination: true}}
	}
	for n, want := range interfaces {
		made := networkInterface{
			NetworkInterfaceID: s.world.NewID("eni"), InterfaceType: cmp.Or(want.InterfaceType, "interface"), SubnetID: i.SubnetID, VPCID: i.VPCID,
			OwnerID: c.Account.ID, Status: "in-use", Description: want.Description, SourceDestCheck: true, Groups: p.groups,
			MacAddress: fmt.Sprintf("0a:ff:%02x:%02x:%02x:%02x", dice(i.id)>>16&255, dice(i.id)>>8&255, dice(i.id)&255, n),
			Attachment: interfaceAttachment{c.Now, s.world.NewID("eni-attach"), want.DeviceIndex, want.NetworkCardIndex, want.DeleteOnTermination, "attached"},
		}
		if n == 0 {
			made.PrivateIPAddress = i.PrivateIPAddress
			made.Addresses = []interfaceAddress{{true, i.PrivateIPAddress}}
		}
		all = append(all, made)
	}
	return all
}

// nextAddress takes an address of the subnet.
func (n *Subnet) nextAddress() string {
	block := netip.MustParsePrefix(n.CidrBlock)
	taken := 1<<(32-block.Bits()) - n.AvailableIPAddressCount
	n.AvailableIPAddressCount--
	address := block.Addr()
	for range taken {
		address = address.Next()
	}
	return address.String()
}
