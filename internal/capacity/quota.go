package capacity

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	quotatypes "github.com/aws/aws-sdk-go-v2/service/servicequotas/types"

	"github.com/trainyard/trainyard/internal/awsapi"
	"github.com/trainyard/trainyard/internal/instancetype"
)

// limit is a quota's value.
type limit struct {
	vcpus    int
	standard bool // AWS's default: the account has none of its own
}

// ec2Service is the code of EC2 in Service Quotas.
const ec2Service = "ec2"

// limitOf is a quota's value for the account, which is AWS's default where the
// account was never given one. A quota that AWS gives another name than our
// table is another quota, and says nothing.
func limitOf(ctx context.Context, api awsapi.Quotas, q vcpuQuota) (limit, error) {
	found, standard, err := readQuota(ctx, api, q.code)
	if err != nil {
		return limit{}, err
	}
	if name := aws.ToString(found.QuotaName); !strings.EqualFold(name, q.name) {
		return limit{}, fmt.Errorf("quota %s is %q to AWS, not %q", q.code, name, q.name)
	}
	return limit{int(aws.ToFloat64(found.Value)), standard}, nil
}

func readQuota(ctx context.Context, api awsapi.Quotas, code string) (q quotatypes.ServiceQuota, standard bool, err error) {
	service := ec2Service
	out, err := api.GetServiceQuota(ctx, &servicequotas.GetServiceQuotaInput{ServiceCode: &service, QuotaCode: &code})
	switch {
	case err == nil:
		return *out.Quota, false, nil
	case awsapi.KindOf(err) != awsapi.NotFound:
		return q, false, fmt.Errorf("reading quota %s: %w", code, err)
	}
	byDefault, err := api.GetAWSDefaultServiceQuota(ctx, &servicequotas.GetAWSDefaultServiceQuotaInput{ServiceCode: &service, QuotaCode: &code})
	if err != nil {
		return q, false, fmt.Errorf("reading the default of quota %s: %w", code, err)
	}
	return *byDefault.Quota, true, nil
}

// running is an instance that counts against a quota.
type running struct {
	instanceType string
	vcpus        int // 0: not known
	spot         bool
}

// runningIn lists the instances that may count against quotas: those that run
// or are about to. Those in Capacity Blocks are counted by no quota of vCPUs.
func runningIn(ctx context.Context, api awsapi.EC2, quotas []vcpuQuota) ([]running, error) {
	var patterns []string
	for _, q := range quotas {
		for _, family := range q.families {
			patterns = append(patterns, family+"*")
		}
	}
	if len(patterns) == 0 {
		return nil, nil
	}
	slices.Sort(patterns)
	var all []running
	pages := ec2.NewDescribeInstancesPaginator(api, &ec2.DescribeInstancesInput{
		Filters: []types.Filter{filter("instance-state-name", "pending", "running"), filter("instance-type", slices.Compact(patterns)...)},
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
// Its own CPU options say so too where nobody changed them, also of types that
// the table does not have. 0: not known.
func vcpusOfInstance(i types.Instance) int {
	if t, err := instancetype.Lookup(string(i.InstanceType)); err == nil {
		return t.VCPUs
	}
	if i.CpuOptions != nil {
		return int(aws.ToInt32(i.CpuOptions.CoreCount) * aws.ToInt32(i.CpuOptions.ThreadsPerCore))
	}
	return vcpusByName(string(i.InstanceType))
}

// vcpusOf is what a type has by what is looked for, by the table or by its name.
// 0: not known.
func (n Need) vcpusOf(name string) int {
	if t := n.typeNamed(name); t.VCPUs > 0 {
		return t.VCPUs
	}
	if t, err := instancetype.Lookup(name); err == nil {
		return t.VCPUs
	}
	return vcpusByName(name)
}

// vcpusByName is what the name of a size says, such as that an xlarge has four.
// 0: it says nothing, such as that of bare metal, or of HPC's, which have fewer.
// Source: the specifications of instance types.
func vcpusByName(name string) int {
	family, size, _ := strings.Cut(name, ".")
	burstable := strings.HasPrefix(family, "t")
	switch {
	case strings.HasPrefix(family, "hpc"):
		return 0
	case name == "c4.8xlarge" || name == "d2.8xlarge":
		return 36
	case size == "nano" || size == "micro" || size == "small":
		if burstable && family != "t1" && family != "t2" {
			return 2
		}
		return 1
	case size == "medium" && !burstable:
		return 1
	case size == "medium" || size == "large":
		return 2
	case size == "xlarge":
		return 4
	}
	times, _ := strings.CutSuffix(size, "xlarge")
	n, _ := strconv.Atoi(times) // of no number nothing is known
	return 4 * n
}
