package capacity

import "strconv"

// QuotaRequest is an increase of a quota by which the job would fit.
type QuotaRequest struct {
	Region  string `json:"region"`
	Code    string `json:"code"`
	Name    string `json:"name"`
	Limit   int    `json:"limitVCPUs"`
	Wanted  int    `json:"wantedVCPUs"`
	FiledBy string `json:"command"` // the line of ours that files it
	Profile string `json:"-"`       // whose quota it is
}

// Command files the request by hand.
func (q QuotaRequest) Command() string {
	return awsCommand(q.Profile, q.Region, "service-quotas", "request-service-quota-increase",
		"--service-code", ec2Service, "--quota-code", q.Code, "--desired-value", strconv.Itoa(q.Wanted))
}

// shortQuota is the smallest request by which the best of those rows would fit
// that only a quota stands in the way of. Where AWS refuses what the quota seems
// to have room for, something counts that we do not see; as much as the job
// needs above the limit has room beside all of it.
func shortQuota(ranked []Ranked, need Need) *QuotaRequest {
	for _, r := range ranked {
		h, _ := r.quota(need)
		refused := r.Stock != nil && r.Stock.Outcome == NoQuota && !need.Spot
		if h == nil || !refused && h.Instances >= need.Nodes || r.Offered == nil || !*r.Offered || gradeStock(r.Row, need) < 0 {
			continue
		}
		used, flags := h.Used, []string{"--request-quota"}
		if refused && h.Instances >= need.Nodes {
			used, flags = h.Limit, append(flags, "--probe") // which is refused again
		}
		return &QuotaRequest{
			Region: r.Region, Code: h.Code, Name: h.Name, Limit: h.Limit, Wanted: used + need.Nodes*need.typeNamed(r.Type).VCPUs,
			FiledBy: need.Command([]string{r.Region}, flags...), Profile: need.Profile,
		}
	}
	return nil
}
