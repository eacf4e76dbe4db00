package capacity

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/trainyard/trainyard/internal/awsapi"
	"github.com/trainyard/trainyard/internal/instancetype"
)

// Describe asks AWS what types with these names, or patterns with *, are.
// Names that are none are left out.
func Describe(ctx context.Context, api awsapi.EC2, names ...string) ([]instancetype.Type, error) {
	var all []instancetype.Type
	pages := ec2.NewDescribeInstanceTypesPaginator(api, &ec2.DescribeInstanceTypesInput{
		Filters: []types.Filter{filter("instance-type", names...)}, IncludeUnsupportedInRegion: aws.Bool(true),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, awsapi.Explain(fmt.Errorf("asking AWS about instance types: %w", err))
		}
		for _, info := range page.InstanceTypes {
			all = append(all, describe(info))
		}
	}
	slices.SortFunc(all, func(a, b instancetype.Type) int {
		return cmp.Or(cmp.Compare(a.Family(), b.Family()), cmp.Compare(a.VCPUs, b.VCPUs), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// GPUTypes asks AWS for the types that have GPUs of NVIDIA's and x86-64, which
// the Ray Train container runs on.
func GPUTypes(ctx context.Context, api awsapi.EC2) ([]instancetype.Type, error) {
	all, err := Describe(ctx, api, "g*", "p*")
	return slices.DeleteFunc(all, func(t instancetype.Type) bool { return t.GPUs == 0 }), err
}

// describe is AWS's description as ours. What is not AWS's to say, whether
// GPUDirect is to be expected and how many huge pages are, comes from the table.
func describe(info types.InstanceTypeInfo) instancetype.Type {
	name := string(info.InstanceType)
	t, err := instancetype.Lookup(name)
	if err != nil {
		t = instancetype.Type{Name: name}
	}
	t.GPUs, t.EFA = 0, 0
	if info.VCpuInfo != nil {
		t.VCPUs = int(aws.ToInt32(info.VCpuInfo.DefaultVCpus))
	}
	if info.MemoryInfo != nil {
		t.MemoryMiB = int(aws.ToInt64(info.MemoryInfo.SizeInMiB))
	}
	if info.GpuInfo != nil && info.ProcessorInfo != nil && slices.Contains(info.ProcessorInfo.SupportedArchitectures, types.ArchitectureTypeX8664) {
		for _, gpu := range info.GpuInfo.Gpus {
			if aws.ToString(gpu.Manufacturer) != "NVIDIA" {
				continue
			}
			t.GPUs += int(aws.ToInt32(gpu.Count))
			t.GPU = aws.ToString(gpu.Name)
			if gpu.MemoryInfo != nil {
				t.GPUMemoryMiB = int(aws.ToInt32(gpu.MemoryInfo.SizeInMiB))
			}
		}
	}
	if n := info.NetworkInfo; n != nil {
		t.NetworkGbps = gbps(aws.ToString(n.NetworkPerformance))
		if n.EfaInfo != nil {
			t.EFA = int(aws.ToInt32(n.EfaInfo.MaximumEfaInterfaces))
		}
	}
	// The OFI NCCL plugin demands it of every p type later than those it lists.
	if err != nil && t.EFA > 0 && strings.HasPrefix(name, "p") {
		t.GPUDirect = true
	}
	return t
}

// performance is AWS's text for a network: "40 Gigabit", "Up to 10 Gigabit",
// "4x 100 Gigabit".
var performance = regexp.MustCompile(`(?:(\d+)x )?(\d+)(?:\.\d+)? Gigabit$`)

func gbps(text string) int {
	m := performance.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	cards, err := strconv.Atoi(m[1])
	if err != nil {
		cards = 1
	}
	each, _ := strconv.Atoi(m[2]) // digits
	return cards * each
}
