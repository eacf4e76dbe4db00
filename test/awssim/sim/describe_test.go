package sim_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	pricingtypes "github.com/aws/aws-sdk-go-v2/service/pricing/types"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/trainyard/trainyard/internal/instancetype"
	"github.com/trainyard/trainyard/test/awssim/facts"
	"github.com/trainyard/trainyard/test/awssim/sim"
	"github.com/trainyard/trainyard/test/awssim/world"
)

func TestRegions(t *testing.T) {
	s := sim.Start(t, frozen(account(func(a *world.AccountSeed) { a.OptedIn = []string{"eu-south-2"} })))
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	open, err := c.DescribeRegions(t.Context(), &ec2.DescribeRegionsInput{})
	noError(t, err)
	all, err := c.DescribeRegions(t.Context(), &ec2.DescribeRegionsInput{AllRegions: aws.Bool(true)})
	noError(t, err)
	if len(open.Regions) != 18 || len(all.Regions) < 30 {
		t.Errorf("%d regions are open and %d there are, want 17 and one that was enabled, of more than 30", len(open.Regions), len(all.Regions))
	}
	_, err = c.DescribeRegions(t.Context(), &ec2.DescribeRegionsInput{RegionNames: []string{"us-esat-1"}})
	wantCode(t, err, "InvalidParameterValue")
	_, err = ec2.NewFromConfig(admin(s, "eu-south-2")).DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
	noError(t, err)
}

// Zones have other names in other accounts, and the same ids.
func TestZonesOfTwoAccounts(t *testing.T) {
	s := sim.Start(t, frozen(func(seed *world.Seed) {
		seed.Accounts = append(seed.Accounts, world.AccountSeed{ID: "444455556666", Keys: []world.Key{{AccessKey: "AKIAOTHER", Secret: "s", User: "other"}}})
	}))
	zones := func(cfg aws.Config) (names, ids []string) {
		out, err := ec2.NewFromConfig(cfg).DescribeAvailabilityZones(t.Context(), &ec2.DescribeAvailabilityZonesInput{})
		noError(t, err)
		for _, z := range out.AvailabilityZones {
			names, ids = append(names, *z.ZoneName), append(ids, *z.ZoneId)
		}
		return names, ids
	}
	names, ids := zones(admin(s, "us-east-1"))
	otherNames, otherIDs := zones(config(s, "us-east-1", "AKIAOTHER", "s", ""))
	if !slices.Equal(names, otherNames) || slices.Equal(ids, otherIDs) {
		t.Errorf("one account has %q as %q, the other %q as %q", names, ids, otherNames, otherIDs)
	}
	slices.Sort(ids)
	slices.Sort(otherIDs)
	if !slices.Equal(ids, otherIDs) {
		t.Errorf("the accounts have the zones %q and %q", ids, otherIDs)
	}
}

// The facts are those of trainyard's own table of types with GPUs.
func TestFactsAgreeWithInstanceTypes(t *testing.T) {
	known := facts.Load().Types
	for _, want := range instancetype.All() {
		got, ok := known[want.Name]
		gpus, model := got.GPUs()
		if !ok || gpus != want.GPUs || model != want.GPU || got.EFA() != want.EFA || got.VCPUs() != want.VCPUs || got.MemoryMiB() != want.MemoryMiB {
			t.Errorf("%s has %d %s, %d EFA, %d vCPUs and %d MiB here; %+v there", want.Name, gpus, model, got.EFA(), got.VCPUs(), got.MemoryMiB(), want)
		}
	}
}

func TestInstanceTypes(t *testing.T) {
	s := sim.Start(t, frozen())
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	out, err := c.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"p6-b300.48xlarge"}})
	noError(t, err)
	p6 := out.InstanceTypes[0]
	if n := *p6.NetworkInfo.EfaInfo.MaximumEfaInterfaces; n != 16 || len(p6.NetworkInfo.NetworkCards) != 17 || *p6.GpuInfo.Gpus[0].Name != "B300" {
		t.Errorf("p6-b300.48xlarge has %d EFA interfaces on %d cards and %s", n, len(p6.NetworkInfo.NetworkCards), *p6.GpuInfo.Gpus[0].Name)
	}
	if cards := p6.NetworkInfo.NetworkCards[1].InterfaceTypes; !slices.Contains(cards, "efa-only") {
		t.Errorf("a card takes interfaces of the types %q", cards)
	}
	_, err = c.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"g6.13xlarge"}})
	wantCode(t, err, "InvalidInstanceType")

	filter := func(name, value string) (found []string) {
		pages := ec2.NewDescribeInstanceTypesPaginator(c, &ec2.DescribeInstanceTypesInput{Filters: []types.Filter{{Name: &name, Values: []string{value}}}})
		for pages.HasMorePages() {
			page, err := pages.NextPage(t.Context())
			noError(t, err)
			for _, kind := range page.InstanceTypes {
				found = append(found, string(kind.InstanceType))
			}
		}
		return found
	}
	if efa := filter("network-info.efa-supported", "true"); !slices.Contains(efa, "g6.12xlarge") || slices.Contains(efa, "g6.xlarge") {
		t.Errorf("types with EFA are %q", efa)
	}
	if g6 := filter("instance-type", "g6.*"); len(g6) != 8 {
		t.Errorf("types of g6 are %q", g6)
	}
	if blocks := filter("supported-usage-class", "capacity-block"); !slices.Contains(blocks, "p5.48xlarge") {
		t.Errorf("types of Capacity Blocks are %q", blocks)
	}
}

func TestOfferingsAreByZone(t *testing.T) {
	s := sim.Start(t, frozen())
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	where := func(kind types.LocationType) (found []string) {
		out, err := c.DescribeInstanceTypeOfferings(t.Context(), &ec2.DescribeInstanceTypeOfferingsInput{
			LocationType: kind, Filters: []types.Filter{{Name: aws.String("instance-type"), Values: []string{"p5e.48xlarge", "g6.12xlarge"}}},
		})
		noError(t, err)
		for _, o := range out.InstanceTypeOfferings {
			found = append(found, string(o.InstanceType)+" "+*o.Location)
		}
		return found
	}
	if got := where(types.LocationTypeAvailabilityZone); slices.Contains(got, "g6.12xlarge us-east-1e") || !slices.Contains(got, "g6.12xlarge us-east-1d") {
		t.Errorf("the offerings are %q", got)
	}
	if got := where(types.LocationTypeRegion); !slices.Contains(got, "g6.12xlarge us-east-1") {
		t.Errorf("the offerings are %q", got)
	}
}

func TestSpotScores(t *testing.T) {
	s := sim.Start(t, frozen(account(func(a *world.AccountSeed) { a.NewSpotScoreLimit = 3 })))
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	scores := func(region string, target int32, names ...string) (map[string]int32, error) {
		out, err := c.GetSpotPlacementScores(t.Context(), &ec2.GetSpotPlacementScoresInput{
			InstanceTypes: names, TargetCapacity: &target, SingleAvailabilityZone: aws.Bool(true), RegionNames: []string{region},
		})
		if err != nil {
			return nil, err
		}
		found := map[string]int32{}
		for _, score := range out.SpotPlacementScores {
			found[*score.AvailabilityZoneId] = *score.Score
		}
		return found, nil
	}
	three := []string{"g6.12xlarge", "g6.24xlarge", "g5.12xlarge"}
	good, err := scores("us-east-1", 2, three...)
	noError(t, err)
	low, err := scores("us-east-1", 2, "g6.12xlarge")
	noError(t, err)
	capped, err := scores("us-east-1", 40, three...)
	noError(t, err)
	if good["use1-az4"] < 8 || low["use1-az4"] > 3 || capped["use1-az4"] != 1 {
		t.Errorf("scores: three types %v, one type %v, more than the quota %v", good, low, capped)
	}
	_, err = scores("us-west-2", 2, three...)
	wantCode(t, err, "MaxConfigLimitExceeded")
	_, err = scores("us-east-1", 2, three...)
	noError(t, err) // which was asked before
	_, err = scores("eu-south-1", 2, three...)
	wantCode(t, err, "InvalidParameterValue") // which is not enabled
}

func TestSpotPrices(t *testing.T) {
	s := sim.Start(t, frozen())
	now := s.World.Clock.Now()
	out, err := ec2.NewFromConfig(admin(s, "us-east-1")).DescribeSpotPriceHistory(t.Context(), &ec2.DescribeSpotPriceHistoryInput{
		InstanceTypes: []types.InstanceType{"g6.12xlarge"}, StartTime: &now, ProductDescriptions: []string{"Linux/UNIX"},
	})
	noError(t, err)
	if len(out.SpotPriceHistory) != 5 {
		t.Errorf("there are %d prices, want the newest of each of the 5 zones that offer the type", len(out.SpotPriceHistory))
	}
}

func TestPrices(t *testing.T) {
	s := sim.Start(t, frozen())
	ask := func(region string) (*pricing.GetProductsOutput, error) {
		equal := func(field, value string) pricingtypes.Filter {
			return pricingtypes.Filter{Type: pricingtypes.FilterTypeTermMatch, Field: &field, Value: &value}
		}
		return pricing.NewFromConfig(admin(s, region)).GetProducts(t.Context(), &pricing.GetProductsInput{
			ServiceCode: aws.String("AmazonEC2"), Filters: []pricingtypes.Filter{
				equal("instanceType", "g6.12xlarge"), equal("regionCode", "us-east-1"), equal("operatingSystem", "Linux"), equal("tenancy", "Shared"),
				equal("capacitystatus", "Used"), equal("preInstalledSw", "NA"),
			},
		})
	}
	out, err := ask("us-east-1")
	noError(t, err)
	if len(out.PriceList) != 1 || !strings.Contains(out.PriceList[0], `"USD":"4.6016000000"`) || !json.Valid([]byte(out.PriceList[0])) {
		t.Errorf("the price list is %q", out.PriceList)
	}
	_, err = ask("us-west-2")
	wantCode(t, err, "no answer") // where AWS has no such endpoint
}

func TestQuotas(t *testing.T) {
	s := sim.Start(t, frozen(account(func(a *world.AccountSeed) {
		a.Quotas["L-417A185B"] = -1
		a.Quotas["us-west-2/L-DB2E81BA"] = 8
		a.ApproveQuotasAfter = world.Duration(3600e9)
	})))
	c := servicequotas.NewFromConfig(admin(s, "us-west-2"))
	get := func(quota string) (float64, error) {
		out, err := c.GetServiceQuota(t.Context(), &servicequotas.GetServiceQuotaInput{ServiceCode: aws.String("ec2"), QuotaCode: &quota})
		if err != nil {
			return 0, err
		}
		return *out.Quota.Value, nil
	}
	_, err := get("L-417A185B")
	wantCode(t, err, "NoSuchResourceException")
	standard, err := c.GetAWSDefaultServiceQuota(t.Context(), &servicequotas.GetAWSDefaultServiceQuotaInput{ServiceCode: aws.String("ec2"), QuotaCode: aws.String("L-417A185B")})
	noError(t, err)
	if *standard.Quota.Value != 0 {
		t.Errorf("a new account has %g vCPUs of P instances", *standard.Quota.Value)
	}
	more := &servicequotas.RequestServiceQuotaIncreaseInput{ServiceCode: aws.String("ec2"), QuotaCode: aws.String("L-DB2E81BA"), DesiredValue: aws.Float64(96)}
	_, err = c.RequestServiceQuotaIncrease(t.Context(), more)
	noError(t, err)
	_, err = c.RequestServiceQuotaIncrease(t.Context(), more)
	wantCode(t, err, "ResourceAlreadyExistsException")
	before, err := get("L-DB2E81BA")
	noError(t, err)
	s.World.Clock.Advance(3600e9)
	after, err := get("L-DB2E81BA")
	noError(t, err)
	if before != 8 || after != 96 {
		t.Errorf("the limit was %g and is %g, want 8 and 96", before, after)
	}
	history, err := c.ListRequestedServiceQuotaChangeHistoryByQuota(t.Context(), &servicequotas.ListRequestedServiceQuotaChangeHistoryByQuotaInput{
		ServiceCode: aws.String("ec2"), QuotaCode: aws.String("L-DB2E81BA"),
	})
	noError(t, err)
	if len(history.RequestedQuotas) != 1 || history.RequestedQuotas[0].Status != "APPROVED" {
		t.Errorf("the history is %+v", history.RequestedQuotas)
	}
}

func TestClusterHasPrivateSubnets(t *testing.T) {
	s := sim.Start(t, frozen())
	out, err := eks.NewFromConfig(admin(s, "us-east-1")).DescribeCluster(t.Context(), &eks.DescribeClusterInput{Name: aws.String("ray-train")})
	noError(t, err)
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	tables, err := c.DescribeRouteTables(t.Context(), &ec2.DescribeRouteTablesInput{Filters: []types.Filter{
		{Name: aws.String("vpc-id"), Values: []string{*out.Cluster.ResourcesVpcConfig.VpcId}}, {Name: aws.String("route.gateway-id"), Values: []string{"igw-*"}},
	}})
	noError(t, err)
	public := map[string]bool{}
	for _, a := range tables.RouteTables[0].Associations {
		public[*a.SubnetId] = true
	}
	if len(out.Cluster.ResourcesVpcConfig.SubnetIds) != 4 || len(public) != 2 {
		t.Errorf("of %d subnets %d are public, want 2 of 4", len(out.Cluster.ResourcesVpcConfig.SubnetIds), len(public))
	}
	_, err = eks.NewFromConfig(admin(s, "us-east-1")).DescribeCluster(t.Context(), &eks.DescribeClusterInput{Name: aws.String("none")})
	wantCode(t, err, "ResourceNotFoundException")
}

func TestEverythingCanBePrinted(t *testing.T) {
	s := sim.Start(t, frozen())
	_, err := sts.NewFromConfig(admin(s, "us-east-1")).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	noError(t, err)
	state := s.State()
	if !strings.Contains(string(state["ec2"]), `"VPCID":"vpc-`) || !strings.Contains(string(state["eks"]), "ray-train") {
		t.Errorf("the state is %s", state)
	}
}
