package capacity

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/trainyard/trainyard/internal/awsapi"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/spelling"
)

// knownRegions are regions by name, with why one is not to be asked, or "".
type knownRegions map[string]string

func listRegions(ctx context.Context, api awsapi.Regions) (knownRegions, error) {
	out, err := api.DescribeRegions(ctx, &ec2.DescribeRegionsInput{AllRegions: aws.Bool(true)})
	if err != nil {
		return nil, fmt.Errorf("listing regions: %w", err)
	}
	known := knownRegions{}
	for _, r := range out.Regions {
		status := ""
		if aws.ToString(r.OptInStatus) == "not-opted-in" {
			status = "not opted in"
		}
		known[aws.ToString(r.RegionName)] = status
	}
	return known, nil
}

// guessedRegions are those that are asked for, or that every account has.
func guessedRegions(named []string) knownRegions {
	if len(named) == 0 {
		named = awsapi.DefaultRegions()
	}
	known := knownRegions{}
	for _, name := range named {
		known[name] = ""
	}
	return known
}

// check adds the regions of other partitions, which these credentials are not
// good for, and refuses names that are none.
func (known knownRegions) check(named []string) error {
	var names []string
	partition := ""
	for name := range known {
		names = append(names, name)
		partition = awsapi.PartitionOf(name)
	}
	slices.Sort(names)
	for _, name := range named {
		if _, ok := known[name]; ok {
			continue
		}
		if other := awsapi.PartitionOf(name); other != partition {
			known[name] = fmt.Sprintf("of partition %s; these credentials are for %s", other, partition)
			continue
		}
		text := fmt.Sprintf("unknown region %q", name)
		if near := spelling.Nearest(name, names); near != "" {
			text += fmt.Sprintf(" (did you mean %s?)", near)
		}
		return fault.WithCode(fault.Usage, fault.WithHint("aws ec2 describe-regions lists the regions of your account", fmt.Errorf("%s", text)))
	}
	return nil
}
