package ec2

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/test/awssim/facts"
	"github.com/trainyard/trainyard/test/awssim/wire"
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

// plan is where a launch goes and what it takes.
type plan struct {
	facts       facts.Type
	zone        world.Zone
	subnet      *Subnet
	groups      []groupName
	reservation *Reservation // nil: from the zone's stock
	lifecycle   string
	count       int
}

func (s *Service) runInstances(c *world.Call, in runInstancesIn) (out launch, err error) {
	if err := mayRun(c, in); err != nil {
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
		return s.launch(c, in, p), nil
	})
}

// mayRun asks for all that a launch touches, as IAM does.
func mayRun(c *world.Call, in runInstancesIn) error {
	tags := tagsFor(in.TagSpecifications, "instance")
	context := world.Context{"ec2:InstanceType": {in.InstanceType}}
	if in.Placement.AvailabilityZone != "" {
		context["ec2:AvailabilityZone"] = []string{in.Placement.AvailabilityZone}
	}
	if err := mayCreate(c, "instance", tags, context); err != nil {
		return err
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
			return err
		}
	}
	return c.Authorize(c.Action(), fmt.Sprintf("arn:%s:ec2:%s::image/%s", c.Account.Partition, c.Region, in.ImageID), context)
}

func (s *Service) planLaunch(c *world.Call, in runInstancesIn) (p plan, err error) {
	p.facts = s.world.Facts.Types[in.InstanceType]
	switch {
	case p.facts.Describe == nil:
		return p, wire.Errorf("InvalidParameterValue", "Invalid value '%s' for InstanceType.", in.InstanceType)
	case !strings.HasPrefix(in.ImageID, "ami-"):
		return p, wire.Errorf("InvalidAMIID.Malformed", "Invalid id: \"%s\" (expecting \"ami-...\")", in.ImageID)
	case in.MinCount < 1 || in.MaxCount < in.MinCount:
		return p, wire.Errorf("InvalidParameterValue", "Value (%d) for parameter maxCount is invalid.", in.MaxCount)
	}
	if len(in.Interfaces) > 0 {
		in.SubnetID = in.Interfaces[0].SubnetID
		in.SecurityGroupIDs = in.Interfaces[0].Groups
		if err := checkInterfaces(p.facts, in.Interfaces); err != nil {
			return p, err
		}
	}
	if err := s.placeLaunch(c, in, &p); err != nil {
		return p, err
	}
	return p, s.sourceLaunch(c, in, &p)
}

// checkInterfaces holds a launch to what the type's network can do.
func checkInterfaces(t facts.Type, interfaces []interfaceIn) error {
	efa := 0
	for _, i := range interfaces {
		if i.InterfaceType == "efa" || i.InterfaceType == "efa-only" {
			efa++
		}
	}
	name, _ := t.Describe["InstanceType"].(string)
	switch {
	case efa > 0 && t.EFA() == 0:
		return wire.Errorf("InvalidParameterCombination", "EFA interfaces are not supported on '%s' instances", name)
	case efa > t.EFA():
		return wire.Errorf("AttachmentLimitExceeded", "EFA interface count %d exceeds the limit for %s", efa, name)
	default:
		return nil
	}
}

// placeLaunch finds subnet, groups and zone.
func (s *Service) placeLaunch(c *world.Call, in runInstancesIn, p *plan) (err error) {
	r := s.at(c)
	if in.SubnetID != "" {
		if p.subnet, err = find(c, subnetKind, r.Subnets, in.SubnetID); err != nil {
			return err
		}
		in.Placement.AvailabilityZone, in.Placement.AvailabilityZoneID = p.subnet.AvailabilityZone, ""
		if p.subnet.AvailableIPAddressCount < in.MinCount {
			return wire.Errorf("InsufficientFreeAddressesInSubnet", "There are not enough free addresses in subnet '%s' to satisfy the requested number of instances.", p.subnet.id)
		}
	}
	if p.subnet != nil && len(in.SecurityGroupIDs) == 0 {
		in.SecurityGroupIDs = []string{r.defaultGroup(p.subnet.VPCID)}
	}
	for _, id := range in.SecurityGroupIDs {
		g, err := find(c, securityGroupKind, r.SecurityGroups, id)
		if err != nil {
			return err
		}
		p.groups = append(p.groups, groupName{g.id, g.GroupName})
	}
	if name := in.Placement.GroupName; name != "" && r.placementGroup(name) == nil {
		return wire.Errorf(placementGroupKind.missing, "The Placement Group '%s' is unknown.", name)
	}
	if in.Placement.AvailabilityZone == "" && in.Placement.AvailabilityZoneID == "" {
		p.zone = s.bestZone(c, p.facts, in.InstanceType)
	} else if p.zone, err = zoneNamed(c, in.Placement.AvailabilityZone, in.Placement.AvailabilityZoneID); err != nil {
		return err
	}
	return offeredIn(c, p.facts, in.InstanceType, p.zone)
}

// bestZone is the zone with most of a type, which EC2 takes where the caller
// does not care.
func (s *Service) bestZone(c *world.Call, t facts.Type, name string) (best world.Zone) {
	most := -1
	for _, zone := range c.Account.Zones(c.RegionFacts()) {
		if free := s.world.Free(zone.ID, name, c.Now); slices.Contains(t.Zones, zone.ID) && free > most {
			best, most = zone, free
		}
	}
	return best
}

// offeredIn refuses a zone that does not offer the type.
func offeredIn(c *world.Call, t facts.Type, name string, zone world.Zone) error {
	if slices.Contains(t.Zones, zone.ID) {
		return nil
	}
	var others []string
	for _, z := range c.Account.Zones(c.RegionFacts()) {
		if slices.Contains(t.Zones, z.ID) {
			others = append(others, z.Name)
		}
	}
	if len(others) == 0 {
		return wire.Errorf("Unsupported", "The requested configuration is currently not supported. Please check the documentation for supported configurations.")
	}
	return wire.Errorf("Unsupported", "Your requested instance type (%s) is not supported in your requested Availability Zone (%s). "+
		"Please retry your request by not specifying an Availability Zone or choosing %s.", name, zone.Name, strings.Join(others, ", "))
}

// sourceLaunch finds what the instances are taken from: a reservation, or the
// zone's stock, which quotas limit.
func (s *Service) sourceLaunch(c *world.Call, in runInstancesIn, p *plan) error {
	switch in.InstanceMarketOptions.MarketType {
	case "spot", capacityBlock:
		p.lifecycle = in.InstanceMarketOptions.MarketType
	case "":
	default:
		return wire.Errorf("InvalidParameterValue", "Invalid value '%s' for MarketType.", in.InstanceMarketOptions.MarketType)
	}
	if id := in.CapacityReservation.Target.ID; id != "" {
		return s.fromReservation(c, in, p, id)
	}
	if p.lifecycle == capacityBlock {
		return wire.Errorf("InvalidParameterCombination", "A Capacity Block needs a Capacity Reservation target")
	}
	if !slices.Contains(p.facts.UsageClasses(), firstOf(p.lifecycle, "on-demand")) || p.facts.USD == 0 {
		return wire.Errorf("Unsupported", "The requested configuration is currently not supported. Please check the documentation for supported configurations.")
	}
	if p.lifecycle == "" && in.CapacityReservation.Preference != "none" {
		if v := s.at(c).openReservation(in.InstanceType, p.zone.ID, in.MinCount); v != nil {
			p.reservation, p.count = v, min(v.Available, in.MaxCount)
			return nil
		}
	}
	room, limit := s.room(c.Account, c.Region, in.InstanceType, p.lifecycle == "spot")
	p.count = min(in.MaxCount, room, s.world.Free(p.zone.ID, in.InstanceType, c.Now))
	switch {
	case room < in.MinCount && p.lifecycle == "spot":
		return wire.Errorf("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
	case room < in.MinCount:
		return wire.Errorf("VcpuLimitExceeded", "You have requested more vCPU capacity than your current vCPU limit of %.0f allows for the instance bucket that the "+
			"specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit.", limit)
	case p.count < in.MinCount:
		return insufficient(in.InstanceType, p.zone.Name)
	}
	return nil
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// insufficient is AWS's answer where a zone has no more of a type. Its status
// says that AWS is to blame, so that clients try again.
func insufficient(instanceType, zone string) error {
	return &wire.Error{
		Code: "InsufficientInstanceCapacity", Status: http.StatusInternalServerError,
		Message: fmt.Sprintf("We currently do not have sufficient %s capacity in the Availability Zone you requested (%s). "+
			"Our system will be working on provisioning additional capacity.", instanceType, zone),
	}
}

func (s *Service) fromReservation(c *world.Call, in runInstancesIn, p *plan, id string) error {
	v, err := find(c, reservationKind, s.at(c).Reservations, id)
	if err != nil {
		return err
	}
	switch {
	case v.State != active || v.Available < in.MinCount:
		return wire.Errorf("ReservationCapacityExceeded", "The requested reservation does not have sufficient compatible and available capacity for this request.")
	case v.InstanceType != in.InstanceType || v.AvailabilityZoneID != p.zone.ID || (v.Type == capacityBlock) != (p.lifecycle == capacityBlock):
		return wire.Errorf("InvalidCapacityReservationState", "The reservation %s is for %s in %s", v.id, v.InstanceType, v.AvailabilityZone)
	}
	p.reservation, p.count = v, min(v.Available, in.MaxCount)
	return nil
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
		meta: meta{id, c.Now, tagsFor(in.TagSpecifications, "instance")}, InstanceID: id, ImageID: in.ImageID, InstanceType: in.InstanceType,
		State: pending, Lifecycle: p.lifecycle, LaunchTime: c.Now, Groups: p.groups, ClientToken: in.ClientToken, zone: p.zone.ID,
		Placement:    placement{p.zone.Name, p.zone.ID, in.Placement.GroupName, firstOf(in.Placement.Tenancy, "default")},
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
			NetworkInterfaceID: s.world.NewID("eni"), InterfaceType: firstOf(want.InterfaceType, "interface"), SubnetID: i.SubnetID, VPCID: i.VPCID,
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

// Run makes instances that run since before the world began, by a seed.
func (s *Service) Run(a *world.Account, seed world.InstanceSeed) error {
	region, zone, ok := s.locate(a, seed.Zone)
	t, known := s.world.Facts.Types[seed.Type]
	if !ok || !known {
		return fmt.Errorf("there is no zone %q or no type %q", seed.Zone, seed.Type)
	}
	call := &world.Call{World: s.world, Account: a, Region: region, Now: s.world.Began}
	p := plan{facts: t, zone: zone, count: seed.Count}
	if seed.Spot {
		p.lifecycle = "spot"
	}
	s.launch(call, runInstancesIn{InstanceType: seed.Type, ImageID: "ami-00000000000000000"}, p)
	for _, i := range s.in(a.ID, region).Instances {
		i.made, i.LaunchTime = s.world.Before(), s.world.Before()
	}
	return nil
}

// locate finds the zone with an account's name.
func (s *Service) locate(a *world.Account, name string) (region string, zone world.Zone, ok bool) {
	for region, f := range s.world.Facts.Regions {
		for _, z := range a.Zones(f) {
			if z.Name == name {
				return region, z, true
			}
		}
	}
	return "", world.Zone{}, false
}
