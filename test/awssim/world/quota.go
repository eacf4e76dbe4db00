package world

import "github.com/trainyard/trainyard/test/awssim/facts"

// Quota is one of AWS's limits on an account in a region.
type Quota struct {
	Service string // "ec2"
	Code    string // "L-DB2E81BA"
	Name    string
	Default float64
	Family  string // of instance types, for quotas of vCPUs
	Spot    bool   // of vCPUs of Spot instances
	Fixed   bool   // AWS does not raise it
}

// Quotas is what this AWS limits. Codes and names are AWS's; the defaults are
// what a new account has.
func Quotas() []Quota {
	return []Quota{
		{Service: "ec2", Code: "L-1216C47A", Name: "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", Default: 64, Family: "standard"},
		{Service: "ec2", Code: "L-34B43A08", Name: "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests", Default: 64, Family: "standard", Spot: true},
		{Service: "ec2", Code: "L-DB2E81BA", Name: "Running On-Demand G and VT instances", Family: "g"},
		{Service: "ec2", Code: "L-3819A6DF", Name: "All G and VT Spot Instance Requests", Family: "g", Spot: true},
		{Service: "ec2", Code: "L-417A185B", Name: "Running On-Demand P instances", Family: "p"},
		{Service: "ec2", Code: "L-7212CCBC", Name: "All P4, P3 and P2 Spot Instance Requests", Family: "p", Spot: true},
		{Service: "ec2", Code: "L-2C3B7624", Name: "Running On-Demand Trn instances", Family: "trn"},
		{Service: "ec2", Code: "L-5480EFD2", Name: "All Trn Spot Instance Requests", Family: "trn", Spot: true},
		{Service: "ec2", Code: "L-1945791B", Name: "Running On-Demand Inf instances", Family: "inf"},
		{Service: "ec2", Code: "L-B5D1601B", Name: "All Inf Spot Instance Requests", Family: "inf", Spot: true},
		{Service: "ec2", Code: "L-0263D0A3", Name: "EC2-VPC Elastic IPs", Default: 5},
		{Service: "vpc", Code: "L-F678F1CE", Name: "VPCs per Region", Default: 5},
		{Service: "vpc", Code: "L-FE5A380F", Name: "NAT gateways per Availability Zone", Default: 5},
		{Service: "eks", Code: "L-1194D53C", Name: "Clusters", Default: 100},
	}
}

// FamilyQuota is the quota that instances of a type count against.
func FamilyQuota(instanceType string, spot bool) Quota {
	family := facts.Family(instanceType)
	for _, q := range Quotas() {
		if q.Family == family && q.Spot == spot {
			return q
		}
	}
	return Quota{Service: "ec2", Name: "Running On-Demand " + family + " instances"}
}

// Limit is the quota's value for the account in a region, and whether the
// account has one of its own; else it is the default. A seed's negative value
// says that none was ever applied.
func (a *Account) Limit(region string, q Quota) (value float64, applied bool) {
	value, applied = a.Quotas[region+"/"+q.Code]
	if !applied {
		value, applied = a.Quotas[q.Code]
	}
	switch {
	case !applied:
		return q.Default, true
	case value < 0:
		return q.Default, false
	default:
		return value, true
	}
}
