package quotas

import (
	"fmt"
	"slices"
	"time"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// Request asks for a higher limit.
type Request struct {
	ID           string
	ServiceCode  string
	ServiceName  string
	QuotaCode    string
	QuotaName    string
	QuotaARN     string
	DesiredValue float64
	Status       string // PENDING, then APPROVED where the account's seed says after how long
	Created      time.Time
	LastUpdated  time.Time
	Requester    string
	Unit         string
	Level        string `aws:"QuotaRequestedAtLevel"`
	GlobalQuota  bool

	account *world.Account
	region  string
}

// Settle approves requests that have waited for long enough.
func (s *Service) Settle(now time.Time) {
	for _, r := range s.requests {
		due := r.Created.Add(r.account.ApproveQuotas)
		if r.Status == "PENDING" && r.account.ApproveQuotas > 0 && !now.Before(due) {
			r.Status, r.LastUpdated = "APPROVED", due
			r.account.Quotas[r.region+"/"+r.QuotaCode] = r.DesiredValue
		}
	}
}

type requestIn struct {
	ServiceCode        string
	QuotaCode          string
	DesiredValue       float64
	SupportCaseAllowed bool
}

type requestOut struct {
	RequestedQuota Request
}

func (s *Service) request(c *world.Call, in requestIn) (out requestOut, err error) {
	if err := c.Authorize(c.Action(), c.Account.ARN("servicequotas", c.Region, in.ServiceCode+"/"+in.QuotaCode), nil); err != nil {
		return out, err
	}
	if err := c.Proceed(); err != nil {
		return out, err
	}
	q, err := lookup(quotaIn{in.ServiceCode, in.QuotaCode})
	if err != nil {
		return out, err
	}
	value, _ := c.Account.Limit(c.Region, q)
	waiting := slices.ContainsFunc(s.requests, func(r *Request) bool {
		return r.account == c.Account && r.region == c.Region && r.QuotaCode == q.Code && r.Status == "PENDING"
	})
	switch {
	case in.DesiredValue <= value:
		return out, wire.Errorf("IllegalArgumentException", "The desired value %g must be greater than the current value %g.", in.DesiredValue, value)
	case waiting:
		return out, wire.Errorf("ResourceAlreadyExistsException", "Only one open service quota increase request is allowed per quota.")
	}
	r := &Request{
		ID: fmt.Sprintf("%032x", len(s.requests)+1), ServiceCode: q.Service, ServiceName: names[q.Service], QuotaCode: q.Code, QuotaName: q.Name,
		QuotaARN: c.Account.ARN("servicequotas", c.Region, q.Service+"/"+q.Code), DesiredValue: in.DesiredValue, Status: "PENDING",
		Created: c.Now, LastUpdated: c.Now, Requester: fmt.Sprintf(`{"accountId":%q,"callerArn":%q}`, c.Account.ID, c.Principal.ARN),
		Unit: "None", Level: "ACCOUNT", account: c.Account, region: c.Region,
	}
	s.requests = append(s.requests, r)
	return requestOut{*r}, nil
}

type historyIn struct {
	world.Paging
	ServiceCode string
	QuotaCode   string
	Status      string
}

type historyOut struct {
	RequestedQuotas []*Request
	NextToken       string
}

func (s *Service) history(c *world.Call, in historyIn) (out historyOut, err error) {
	if _, err := lookup(quotaIn{in.ServiceCode, in.QuotaCode}); err != nil {
		return out, err
	}
	var all []*Request
	for _, r := range slices.Backward(s.requests) {
		mine := r.account == c.Account && r.region == c.Region && r.ServiceCode == in.ServiceCode && r.QuotaCode == in.QuotaCode
		if mine && (in.Status == "" || in.Status == r.Status) && c.Visible(r.Created) {
			all = append(all, r)
		}
	}
	out.RequestedQuotas, out.NextToken, err = world.Page(c, in.Paging, pageSize, all)
	return out, err
}
