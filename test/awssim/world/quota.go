package world

import (
	"slices"
	"strings"
)

// Quota is one of AWS's limits on an account in a region.
type Quota struct {
	Service string // "ec2"
	Code    string // "L-DB2E81BA"
	Name    string
	Default float64
	Counts  []string // families of instance types whose vCPUs it counts, "g", or generations of one, "p5"
	Spot    bool     // of Spot instances
	Fixed   bool     // AWS does not raise it
}

// Quotas is what this AWS limits. Codes and names are AWS's, from Service
// Quotas' own list; the defaults are what a new account has. Of P6 no quota of
// Spot instances is known.
func Quotas() []Quota {
	standard := []string{"a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z"}
	return []Quota{
		{Service: "ec2", Code: "L-1216C47A", Name: "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", Default: 64, Counts: standard},
		{Service: "ec2", Code: "L-34B43A08", Name: "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests", Default: 64, Counts: standard, Spot: true},
		{Service: "ec2", Code: "L-DB2E81BA", Name: "Running On-Demand G and VT instances", Counts: []string{"g", "gr", "vt"}},
		{Service: "ec2", Code: "L-3819A6DF", Name: "All G and VT Spot Instance Requests", Counts: []string{"g", "gr", "vt"}, Spot: true},
		{Service: "ec2", Code: "L-417A185B", Name: "Running On-Demand P instances", Counts: []string{"p"}},
		{Service: "ec2", Code: "L-7212CCBC", Name: "All P4, P3 and P2 Spot Instance Requests", Counts: []string{"p2", "p3", "p4"}, Spot: true},
		{Service: "ec2", Code: "L-C4BD4855", Name: "All P5 Spot Instance Requests", Counts: []string{"p5"}, Spot: true},
		{Service: "ec2", Code: "L-2C3B7624", Name: "Running On-Demand Trn instances", Counts: []string{"trn"}},
		{Service: "ec2", Code: "L-6B0D517C", Name: "All Trn Spot Instance Requests", Counts: []string{"trn"}, Spot: true},
		{Service: "ec2", Code: "L-1945791B", Name: "Running On-Demand Inf instances", Counts: []string{"inf"}},
		{Service: "ec2", Code: "L-B5D1601B", Name: "All Inf Spot Instance Requests", Counts: []string{"inf"}, Spot: true},
		{Service: "ec2", Code: "L-6E869C2A", Name: "Running On-Demand DL instances", Counts: []string{"dl"}},
		{Service: "ec2", Code: "L-85EED4F7", Name: "All DL Spot Instance Requests", Counts: []string{"dl"}, Spot: true},
		{Service: "ec2", Code: "L-74FC7D96", Name: "Running On-Demand F instances", Counts: []string{"f"}},
		{Service: "ec2", Code: "L-88CF9481", Name: "All F Spot Instance Requests", Counts: []string{"f"}, Spot: true},
		{Service: "ec2", Code: "L-7295265B", Name: "Running On-Demand X instances", Counts: []string{"x"}},
		{Service: "ec2", Code: "L-E3A00192", Name: "All X Spot Instance Requests", Counts: []string{"x"}, Spot: true},
		{Service: "ec2", Code: "L-F7808C92", Name: "Running On-Demand HPC instances", Counts: []string{"hpc"}},
		{Service: "ec2", Code: "L-43DA4232", Name: "Running On-Demand High Memory instances", Counts: []string{"u"}},
		AddressQuota(),
		{Service: "vpc", Code: "L-F678F1CE", Name: "VPCs per Region", Default: 5},
		{Service: "vpc", Code: "L-FE5A380F", Name: "NAT gateways per Availability Zone", Default: 5},
		{Service: "eks", Code: "L-1194D53C", Name: "Clusters", Default: 100},
	}
}

// AddressQuota is the one of public addresses.
func AddressQuota() Quota {
	return Quota{Service: "ec2", Code: "L-0263D0A3", Name: "EC2-VPC Elastic IPs", Default: 5}
}

// VCPUQuota is the quota that instances of a type count against. One that no
// quota counts has none at all: nothing of it may run.
func VCPUQuota(instanceType string, spot bool) Quota {
	family, generation := familyOf(instanceType)
	for _, q := range Quotas() {
		if q.Spot == spot && (slices.Contains(q.Counts, family) || slices.Contains(q.Counts, generation)) {
			return q
		}
	}
	return Quota{Service: "ec2", Name: "instances of the family " + family}
}

// familyOf splits the beginning of a type's name: "p" and "p5" of p5en.48xlarge,
// "u" and "u7" of u7i-12tb.224xlarge.
func familyOf(instanceType string) (family, generation string) {
	letters := max(strings.IndexAny(instanceType, "0123456789"), 0)
	rest := instanceType[letters:]
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	family = strings.TrimSuffix(instanceType[:letters], "-") // of u-6tb1.112xlarge
	return family, family + rest[:digits]
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
