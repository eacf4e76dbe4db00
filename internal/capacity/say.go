package capacity

import "fmt"

func sayQuota(h Headroom, nodes int) string {
	if h.Instances < nodes {
		return fmt.Sprintf("quota: %d of %d vCPUs left, room for %d of %d", h.Left(), h.Limit, h.Instances, nodes)
	}
	return fmt.Sprintf("quota: room for %d", h.Instances)
}

func sayStock(r Row) string {
	switch {
	case r.Stock == nil:
		return "stock not probed"
	case r.Stock.Outcome == Proven:
		return "stock proven"
	default:
		return string(r.Stock.Outcome) + ": " + r.Stock.Why
	}
}

func saySubnet(r Row) string {
	switch {
	case r.Subnet == nil:
		return "no subnet known"
	case r.Subnet.NoCluster:
		return "no such cluster in the region"
	case r.Subnet.ID == "":
		return "no private subnet"
	default:
		return "subnet " + r.Subnet.ID
	}
}

func sayScore(r Row) string {
	switch {
	case r.SpotScore == nil:
		return "no score"
	case r.SpotQuota == nil:
		return "a score that the Spot quota, which is not known, may lower"
	case r.SpotScore.Capped:
		return "a score that the Spot quota lowers"
	default:
		return fmt.Sprintf("score %d", r.SpotScore.Value)
	}
}

func sayPrice(r Row, need Need) string {
	usd, ok := r.hourly(need)
	if !ok {
		return "no price known"
	}
	return fmt.Sprintf("$%.2f an hour", usd*float64(need.Nodes))
}
