package capacity

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/trainyard/trainyard/internal/spelling"
)

// missingCluster says that the cluster is in none of the regions that were
// asked, and which was probably meant; "" where it is, or may be, in one.
func (s Search) missingCluster(ctx context.Context, asked []Region) string {
	var without []string
	for _, r := range asked {
		for _, row := range r.Rows {
			switch {
			case row.Subnet != nil && !row.Subnet.NoCluster, row.Problems[Subnet] != "":
				return ""
			case row.Subnet != nil && !slices.Contains(without, r.Name):
				without = append(without, r.Name)
			}
		}
	}
	if len(without) == 0 {
		return ""
	}
	slices.Sort(without)
	text := fmt.Sprintf("no cluster %q in %s", s.Need.Cluster, strings.Join(without, ", "))
	if len(without) > 3 {
		text = fmt.Sprintf("no cluster %q in %d regions", s.Need.Cluster, len(without))
	}
	if near := spelling.Nearest(s.Need.Cluster, s.clusters(ctx, without)); near != "" {
		text += fmt.Sprintf(" (did you mean %s?)", near)
	}
	return text
}

// clusters are those of regions, as far as they may be listed.
func (s Search) clusters(ctx context.Context, regions []string) (names []string) {
	var waits []func() ([]string, error)
	for _, region := range regions {
		waits = append(waits, later(func() ([]string, error) {
			return within(ctx, s.Deadline, func(ctx context.Context) (names []string, err error) {
				pages := eks.NewListClustersPaginator(s.Session.EKS(region), &eks.ListClustersInput{})
				for pages.HasMorePages() {
					page, err := pages.NextPage(ctx)
					if err != nil {
						return names, fmt.Errorf("listing clusters: %w", err)
					}
					names = append(names, page.Clusters...)
				}
				return names, nil
			})
		}))
	}
	for _, wait := range waits {
		some, _ := wait() // it is for a better text only
		names = append(names, some...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
