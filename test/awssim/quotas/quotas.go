// Package quotas simulates AWS's Service Quotas: the limits of an account in a
// region, and requests for more.
package quotas

import (
	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// Service is the simulated Service Quotas.
type Service struct {
	world    *world.World
	requests []*Request
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
