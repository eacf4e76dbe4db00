package ec2

import (
	"time"

	"github.com/trainyard/trainyard/test/awssim/world"
)

var instanceKind = kind{"instance", "instance ID", "InvalidInstanceID.NotFound", pages{5, 1000}, nil}

// How long an instance takes to run, to end, and is seen after that.
const (
	bootTakes     = 10 * time.Second
	shutdownTakes = 30 * time.Second
	terminatedFor = time.Hour
)

// Instance is one EC2 instance.
type Instance struct {
	meta
	InstanceID       string
	ImageID          string
	InstanceType     string
	State            instanceState `aws:"instanceState"`
	Lifecycle        string        `aws:"instanceLifecycle"` // "spot", "capacity-block", "" for On-Demand
	LaunchTime       time.Time
	Placement        placement
	SubnetID         string
	VPCID            string
	PrivateIPAddress string
	Groups           []groupName        `aws:"groupSet"`
	Interfaces       []networkInterface `aws:"networkInterfaceSet"`
	ReservationID    string             `aws:"capacityReservationId"`
	ClientToken      string
	Architecture     string
	Hypervisor       string
	Virtualization   string `aws:"virtualizationType"`
	LaunchIndex      int    `aws:"amiLaunchIndex"`
	PrivateDNSName   string
	EbsOptimized     bool
	SourceDestCheck  bool
	Monitoring       stateName
	StateReason      *reason

	batch string // the id of the launch
	ended time.Time
	zone  string // its id
}

type instanceState struct {
	Code int
	Name string
}

var (
	pending      = instanceState{0, "pending"}
	running      = instanceState{16, "running"}
	shuttingDown = instanceState{32, "shutting-down"}
	terminated   = instanceState{48, "terminated"}
)

type reason struct{ Code, Message string }

type placement struct {
	AvailabilityZone   string
	AvailabilityZoneID string
	GroupName          string
	Tenancy            string
}

type groupName struct {
	GroupID   string
	GroupName string
}

type networkInterface struct {
	NetworkInterfaceID string
	InterfaceType      string
	SubnetID           string
	VPCID              string
	OwnerID            string
	Status             string
	Description        string
	MacAddress         string
	SourceDestCheck    bool
	PrivateIPAddress   string
	Addresses          []interfaceAddress `aws:"privateIpAddressesSet"`
	Groups             []groupName        `aws:"groupSet"`
	Attachment         interfaceAttachment
}

type interfaceAddress struct {
	Primary          bool
	PrivateIPAddress string
}

type interfaceAttachment struct {
	AttachTime          time.Time
	AttachmentID        string
	DeviceIndex         int
	NetworkCardIndex    int
	DeleteOnTermination bool
	Status              string
}

// runs tells whether the instance takes a place, and counts against quotas.
func (i *Instance) runs() bool { return i.State == pending || i.State == running }

type launch struct {
	ReservationID string
	OwnerID       string
	Groups        []groupName `aws:"groupSet"`
	Instances     []*Instance `aws:"instancesSet"`
}

type describeInstancesIn struct {
	listing
	InstanceIDs []string `aws:"InstanceId"`
}

type describeInstancesOut struct {
	Reservations []launch `aws:"reservationSet"`
	NextToken    string
}

func (s *Service) describeInstances(c *world.Call, in describeInstancesIn) (out describeInstancesOut, err error) {
	page, next, err := describe(c, instanceKind, s.at(c).Instances, in.InstanceIDs, in.listing, keys[*Instance]{
		"instance-id":             one(func(i *Instance) string { return i.InstanceID }),
		"instance-type":           one(func(i *Instance) string { return i.InstanceType }),
		"instance-state-name":     one(func(i *Instance) string { return i.State.Name }),
		"instance-lifecycle":      one(func(i *Instance) string { return i.Lifecycle }),
		"availability-zone":       one(func(i *Instance) string { return i.Placement.AvailabilityZone }),
		"subnet-id":               one(func(i *Instance) string { return i.SubnetID }),
		"vpc-id":                  one(func(i *Instance) string { return i.VPCID }),
		"placement-group-name":    one(func(i *Instance) string { return i.Placement.GroupName }),
		"capacity-reservation-id": one(func(i *Instance) string { return i.ReservationID }),
		"client-token":            one(func(i *Instance) string { return i.ClientToken }),
		"reservation-id":          one(func(i *Instance) string { return i.batch }),
	})
	for _, i := range page {
		n := len(out.Reservations)
		if n == 0 || out.Reservations[n-1].ReservationID != i.batch {
			out.Reservations = append(out.Reservations, launch{ReservationID: i.batch, OwnerID: c.Account.ID})
			n++
		}
		out.Reservations[n-1].Instances = append(out.Reservations[n-1].Instances, i)
	}
	out.NextToken = next
	return out, err
}
