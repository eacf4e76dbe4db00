// Package quotas simulates AWS's Service Quotas: the limits of an account in a
// region, and requests for more.
package quotas

import (
	"fmt"
	"slices"
	"time"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// Service is the simulated Service Quotas.
type Service struct {
	world    *world.World
	requests []*Request
}

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

// New makes it.
func New(w *world.World) *Service { return &Service{world: w} }

// Wire says how Service Quotas is spoken to.
func (*Service) Wire() wire.Service { return wire.Service{Name: "servicequotas", Protocol: wire.JSON} }

// Operations are what this Service Quotas can do.
func (s *Service) Operations() map[string]world.Operation {
	return map[string]world.Operation{
		"GetServiceQuota":                               world.Read(s.get),
		"GetAWSDefaultServiceQuota":                     world.Read(s.getDefault),
		"ListServiceQuotas":                             world.Read(s.list),
		"RequestServiceQuotaIncrease":                   world.Write(s.request),
		"ListRequestedServiceQuotaChangeHistoryByQuota": world.Read(s.history),
	}
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

// State is all requests.
func (s *Service) State() any { return s.requests }

type quota struct {
	ServiceCode string
	ServiceName string
	QuotaARN    string
	QuotaCode   string
	QuotaName   string
	Value       float64
	Unit        string
	Adjustable  bool
	GlobalQuota bool
	Level       string `aws:"QuotaAppliedAtLevel"`
}

// names are what AWS calls the services.
var names = map[string]string{
	"ec2": "Amazon Elastic Compute Cloud (Amazon EC2)", "vpc": "Amazon Virtual Private Cloud (Amazon VPC)",
	"eks": "Amazon Elastic Kubernetes Service (Amazon EKS)",
}

func describe(c *world.Call, q world.Quota, value float64) quota {
	return quota{
		ServiceCode: q.Service, ServiceName: names[q.Service], QuotaARN: c.Account.ARN("servicequotas", c.Region, q.Service+"/"+q.Code),
		QuotaCode: q.Code, QuotaName: q.Name, Value: value, Unit: "None", Adjustable: !q.Fixed, Level: "ACCOUNT",
	}
}

type quotaIn struct {
	ServiceCode string
	QuotaCode   string
}

type quotaOut struct {
	Quota quota
}

func lookup(in quotaIn) (world.Quota, error) {
	for _, q := range world.Quotas() {
		if q.Service == in.ServiceCode && q.Code == in.QuotaCode {
			return q, nil
		}
	}
	return world.Quota{}, missing()
}

func missing() error {
	return wire.Errorf("NoSuchResourceException", "The request failed because the specified service quota does not exist.")
}

// get answers the limit that is applied to the account; where none was, AWS
// knows no such resource, and only the default can be asked for.
func (s *Service) get(c *world.Call, in quotaIn) (out quotaOut, err error) {
	q, err := lookup(in)
	if err != nil {
		return out, err
	}
	value, applied := c.Account.Limit(c.Region, q)
	if !applied {
		return out, missing()
	}
	return quotaOut{describe(c, q, value)}, nil
}

func (s *Service) getDefault(c *world.Call, in quotaIn) (out quotaOut, err error) {
	q, err := lookup(in)
	return quotaOut{describe(c, q, q.Default)}, err
}

type listIn struct {
	world.Paging
	ServiceCode string
	QuotaCode   string
}

type listOut struct {
	Quotas    []quota
	NextToken string
}

// pageSize is the most that Service Quotas answers at once.
const pageSize = 100

func (s *Service) list(c *world.Call, in listIn) (out listOut, err error) {
	if names[in.ServiceCode] == "" {
		return out, missing()
	}
	var all []quota
	for _, q := range world.Quotas() {
		value, applied := c.Account.Limit(c.Region, q)
		if q.Service == in.ServiceCode && applied && (in.QuotaCode == "" || in.QuotaCode == q.Code) {
			all = append(all, describe(c, q, value))
		}
	}
	out.Quotas, out.NextToken, err = world.Page(c, in.Paging, pageSize, all)
	return out, err
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
