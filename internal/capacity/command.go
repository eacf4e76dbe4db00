package capacity

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/trainyard/trainyard/internal/instancetype"
	"github.com/trainyard/trainyard/internal/shell"
)

// What is asked for unless flags say otherwise; commands to copy leave it out.
const (
	DefaultBlock   = 24 * time.Hour
	DefaultReserve = 30 * time.Minute
)

// of is the need of one of its types.
func (n Need) of(name string) Need {
	n.Types = []instancetype.Type{n.typeNamed(name)}
	return n
}

// Command is the line that looks for the need in regions, all where none is
// named, with flags besides: the same account, cluster and kind of capacity,
// whatever the run file says where it is typed.
func (n Need) Command(regions []string, flags ...string) string {
	words := []string{"trainyard", "capacity", "--type", strings.Join(n.typeNames(), ","), "--nodes", strconv.Itoa(n.Nodes)}
	if len(regions) > 0 {
		words = append(words, "--region", strings.Join(regions, ","))
	}
	if n.Spot {
		words = append(words, "--spot")
	}
	if n.Cluster != "" {
		words = append(words, "--cluster", n.Cluster)
	}
	if n.Block != DefaultBlock {
		words = append(words, "--block-for", short(n.Block))
	}
	if n.Profile != "" {
		words = append(words, "--profile", n.Profile)
	}
	return shell.Join(append(words, flags...))
}

// awsCommand is a line for the aws client, for the same account.
func awsCommand(profile, region, service, action string, flags ...string) string {
	words := append([]string{"aws", service, action, "--region", region}, flags...)
	if profile != "" {
		words = append(words, "--profile", profile)
	}
	return shell.Join(words)
}

// CancelCommand ends a reservation by hand.
func CancelCommand(profile, region, id string) string {
	return awsCommand(profile, region, "ec2", "cancel-capacity-reservation", "--capacity-reservation-id", id)
}

// short writes a time as flags take it, in hours or minutes where it has no
// seconds: 48h, 90m.
func short(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	default:
		return d.String()
	}
}
