package capacity

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"

	"github.com/trainyard/trainyard/internal/awsapi"
	"github.com/trainyard/trainyard/internal/instancetype"
)

// limit is a quota's value.
type limit struct {
	name     string
	vcpus    int
	standard bool // AWS's default: the account has none of its own
}

// ec2Service is the code of EC2 in Service Quotas.
const ec2Service = "ec2"

// limitOf is a quota's value for the account, which is AWS's default where the
// account was never given one.
func limitOf(ctx context.Context, api awsapi.Quotas, f Family, spot bool) (limit, error) {
	service, code := ec2Service, f.Code(spot)
	out, err := api.GetServiceQuota(ctx, &servicequotas.GetServiceQuotaInput{ServiceCode: &service, QuotaCode: &code})
	if awsapi.KindOf(err) == awsapi.NotFound {
		out, err := api.GetAWSDefaultServiceQuota(ctx, &servicequotas.GetAWSDefaultServiceQuotaInput{ServiceCode: &service, QuotaCode: &code})
		if err != nil {
			return limit{}, fmt.Errorf("reading the default of quota %s: %w", code, err)
		}
		return limit{aws.ToString(out.Quota.QuotaName), int(aws.ToFloat64(out.Quota.Value)), true}, nil
	}
	if err != nil {
		return limit{}, fmt.Errorf("reading quota %s: %w", code, err)
	}
	return limit{aws.ToString(out.Quota.QuotaName), int(aws.ToFloat64(out.Quota.Value)), false}, nil
}

// running is an instance that counts against a quota.
type running struct {
	instanceType string
	vcpus        int
	spot         bool
}

// runningIn lists the instances of the families that quotas count: those that
// run or are about to. Those in Capacity Blocks are counted by no quota of vCPUs.
func runningIn(ctx context.Context, api awsapi.EC2, families []Family) ([]running, error) {
	var patterns []string
	for _, f := range families {
		for _, prefix := range f.prefixes {
			patterns = append(patterns, prefix+"*")
		}
	}
	if len(patterns) == 0 {
		return nil, nil
	}
	var all []running
	pages := ec2.NewDescribeInstancesPaginator(api, &ec2.DescribeInstancesInput{
		Filters: []types.Filter{filter("instance-state-name", "pending", "running"), filter("instance-type", patterns...)},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing running instances: %w", err)
		}
		for _, r := range page.Reservations {
			for _, i := range r.Instances {
				if i.InstanceLifecycle != types.InstanceLifecycleTypeCapacityBlock {
					all = append(all, running{string(i.InstanceType), vcpusOfInstance(i), i.InstanceLifecycle == types.InstanceLifecycleTypeSpot})
				}
			}
		}
	}
	return all, nil
}

// vcpusOfInstance is what an instance counts for: what its type has by default.
// Its own CPU options say so too where nobody changed them.
func vcpusOfInstance(i types.Instance) int {
	if n := vcpusOf(string(i.InstanceType)); n > 0 || i.CpuOptions == nil {
		return n
	}
	return int(aws.ToInt32(i.CpuOptions.CoreCount) * aws.ToInt32(i.CpuOptions.ThreadsPerCore))
}

// vcpusOf is what a type has by the table or, as AWS names sizes, by its name:
// an xlarge has four. 0 stands for not known, such as of bare metal.
func vcpusOf(name string) int {
	if t, err := instancetype.Lookup(name); err == nil {
		return t.VCPUs
	}
	_, size, _ := strings.Cut(name, ".")
	switch size {
	case "medium":
		return 1
	case "large":
		return 2
	case "xlarge":
		return 4
	}
	if n, err := strconv.Atoi(strings.TrimSuffix(size, "xlarge")); err == nil {
		return 4 * n
	}
	return 0
}
