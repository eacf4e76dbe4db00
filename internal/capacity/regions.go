package capacity

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/trainyard/trainyard/internal/awsapi"
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

// guessedRegions are those that every account has, and those that are asked for.
func guessedRegions(home string, named []string) knownRegions {
	known := knownRegions{}
	for _, name := range append(awsapi.DefaultRegions(home), named...) {
		if awsapi.PartitionOf(name) == awsapi.PartitionOf(home) {
			known[name] = ""
		}
	}
	return known
}

// check adds the regions of other partitions than the home's, which these
// credentials are not good for, and refuses names that are none.
func (known knownRegions) check(home string, named []string) error {
	names, partition := slices.Sorted(maps.Keys(known)), awsapi.PartitionOf(home)
	var wrong []string
	for _, name := range named {
		if _, ok := known[name]; ok {
			continue
		}
		if other := awsapi.PartitionOf(name); other != partition {
			known[name] = fmt.Sprintf("of partition %s; these credentials are for %s", other, partition)
			continue
		}
		wrong = append(wrong, name)
	}
	return awsapi.UnknownRegions(wrong, names)
}
