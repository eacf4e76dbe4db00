// Package eks simulates Amazon EKS: which clusters there are. They come from the
// seed; nothing here can make one yet.
package eks

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/trainyard/trainyard/test/awssim/ec2"
	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// Service is the simulated EKS.
type Service struct {
	world    *world.World
	compute  *ec2.Service
	clusters []*Cluster
}

// New makes it; the networks of its clusters are in the EC2 that it is given.
func New(w *world.World, compute *ec2.Service) *Service { return &Service{world: w, compute: compute} }

// Wire says how EKS is spoken to.
func (*Service) Wire() wire.Service {
	return wire.Service{Name: "eks", Protocol: wire.REST, Routes: []wire.Route{
		{Method: "GET", Path: "/clusters", Action: "ListClusters"},
		{Method: "GET", Path: "/clusters/{name}", Action: "DescribeCluster"},
	}}
}

// Operations are what this EKS can do.
func (s *Service) Operations() map[string]world.Operation {
	return map[string]world.Operation{
		"ListClusters":    world.Read(s.list),
		"DescribeCluster": world.Write(s.describe),
	}
}

// Settle does nothing: clusters stay as they are.
func (*Service) Settle(time.Time) {}

// State is all clusters.
func (s *Service) State() any { return s.clusters }

// controlPlaneUSD is the price of a control plane, an hour, in all regions, in
// standard support.
const controlPlaneUSD = 0.10

// Cluster is an EKS cluster.
type Cluster struct {
	Name                 string
	ARN                  string
	CreatedAt            time.Time
	Version              string
	Endpoint             string
	RoleARN              string
	VPCConfig            vpcConfig     `aws:"resourcesVpcConfig"`
	NetworkConfig        networkConfig `aws:"kubernetesNetworkConfig"`
	Identity             identity
	Status               string
	CertificateAuthority certificate
	PlatformVersion      string
	Tags                 map[string]string
	AccessConfig         accessConfig
	UpgradePolicy        upgradePolicy

	account, region string
}

type vpcConfig struct {
	SubnetIDs              []string
	SecurityGroupIDs       []string
	ClusterSecurityGroupID string
	VPCID                  string
	EndpointPublicAccess   bool
	EndpointPrivateAccess  bool
	PublicAccessCidrs      []string
}

type networkConfig struct {
	ServiceIpv4Cidr string
	IPFamily        string
}

type identity struct {
	OIDC struct{ Issuer string } `aws:"oidc"`
}

type certificate struct {
	Data string
}

type accessConfig struct {
	AuthenticationMode string
}

type upgradePolicy struct {
	SupportType string
}

// Add makes a cluster that exists since the world began, by a seed.
func (s *Service) Add(a *world.Account, seed world.ClusterSeed) error {
	region, ok := s.world.Facts.Regions[seed.Region]
	if !ok {
		return fmt.Errorf("the cluster %q is in the region %q, which AWS does not have", seed.Name, seed.Region)
	}
	zones := a.Zones(region)
	for _, name := range seed.Zones {
		if !slices.ContainsFunc(zones, func(z world.Zone) bool { return z.Name == name }) {
			return fmt.Errorf("the cluster %q is in the zone %q, which %s does not have", seed.Name, name, seed.Region)
		}
	}
	n := s.compute.AddNetwork(a, seed.Region, seed.Name, seed.Zones)
	id := strings.ToUpper(fmt.Sprintf("%032x", len(s.clusters)+1))
	c := &Cluster{
		Name: seed.Name, ARN: a.ARN("eks", seed.Region, "cluster/"+seed.Name), CreatedAt: s.world.Began, Version: seed.Version,
		Endpoint: fmt.Sprintf("https://%s.gr7.%s.eks.amazonaws.com", id, seed.Region), RoleARN: a.ARN("iam", "", "role/"+seed.Name),
		VPCConfig: vpcConfig{
			SubnetIDs: n.Subnets, ClusterSecurityGroupID: n.SecurityGroup, VPCID: n.VPC, EndpointPublicAccess: true, PublicAccessCidrs: []string{"0.0.0.0/0"},
		},
		NetworkConfig: networkConfig{"10.100.0.0/16", "ipv4"}, Status: "ACTIVE", PlatformVersion: "eks.1", Tags: seed.Tags,
		CertificateAuthority: certificate{base64.StdEncoding.EncodeToString([]byte("no certificate: nothing listens there\n"))},
		AccessConfig:         accessConfig{"API_AND_CONFIG_MAP"}, UpgradePolicy: upgradePolicy{"STANDARD"},
		account: a.ID, region: seed.Region,
	}
	c.Identity.OIDC.Issuer = fmt.Sprintf("https://oidc.eks.%s.amazonaws.com/id/%s", seed.Region, id)
	s.clusters = append(s.clusters, c)
	s.world.Ledger.Bill(world.Entry{
		Account: a.ID, Region: seed.Region, Resource: c.ARN, Kind: "cluster", Count: 1, USDPerHour: controlPlaneUSD,
	}, s.world.Began)
	return nil
}

type listIn struct {
	world.Paging
	Include []string
}

type listOut struct {
	Clusters  []string
	NextToken string
}

func (s *Service) list(c *world.Call, in listIn) (out listOut, err error) {
	var all []string
	for _, cluster := range s.clusters {
		if cluster.account == c.Account.ID && cluster.region == c.Region {
			all = append(all, cluster.Name)
		}
	}
	slices.Sort(all)
	out.Clusters, out.NextToken, err = world.Page(c, in.Paging, 100, all)
	return out, err
}

type describeIn struct {
	Name string
}

type describeOut struct {
	Cluster *Cluster
}

func (s *Service) describe(c *world.Call, in describeIn) (out describeOut, err error) {
	if err := c.Authorize(c.Action(), c.ARN("cluster/"+in.Name), nil); err != nil {
		return out, err
	}
	if err := c.Proceed(); err != nil {
		return out, err
	}
	for _, cluster := range s.clusters {
		if cluster.account == c.Account.ID && cluster.region == c.Region && cluster.Name == in.Name {
			return describeOut{cluster}, nil
		}
	}
	return out, &wire.Error{Code: "ResourceNotFoundException", Message: fmt.Sprintf("No cluster found for name: %s.", in.Name), Status: http.StatusNotFound}
}
