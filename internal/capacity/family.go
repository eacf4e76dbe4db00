package capacity

import "strings"

// Family is a group of instance types that share quotas, which count vCPUs.
type Family struct {
	Name     string // as AWS's names of its quotas have it
	OnDemand string // code of the quota of running On-Demand instances
	Spot     string // code of the quota of Spot instance requests
	prefixes []string
}

// families are those with quotas of vCPUs. Prefixes are of type names up to
// their first digit. Source: the page of On-Demand instance quotas, and Service
// Quotas' own list. Types of other families are counted in hosts.
var families = []Family{
	{"Standard (A, C, D, H, I, M, R, T, Z)", "L-1216C47A", "L-34B43A08", []string{"a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z"}},
	{"G and VT", "L-DB2E81BA", "L-3819A6DF", []string{"g", "gr", "vt"}},
	{"P", "L-417A185B", "L-7212CCBC", []string{"p"}},
	{"Inf", "L-1945791B", "L-B5D1601B", []string{"inf"}},
	{"Trn", "L-2C3B7624", "L-5480EFD2", []string{"trn"}},
	{"DL", "L-6E869C2A", "L-85EED4F7", []string{"dl"}},
	{"F", "L-74FC7D96", "L-88CF9481", []string{"f"}},
	{"X", "L-7295265B", "L-E3A00192", []string{"x"}},
}

// FamilyOf is the family of an instance type; ok is false for types that no
// quota of vCPUs counts.
func FamilyOf(instanceType string) (f Family, ok bool) {
	prefix := instanceType[:max(strings.IndexAny(instanceType, "0123456789"), 0)]
	for _, f := range families {
		for _, p := range f.prefixes {
			if p == prefix {
				return f, true
			}
		}
	}
	return Family{}, false
}

// Code is the code of the family's quota.
func (f Family) Code(spot bool) string {
	if spot {
		return f.Spot
	}
	return f.OnDemand
}

// QuotaName is what AWS calls the family's quota.
func (f Family) QuotaName(spot bool) string {
	if spot {
		return "All " + f.Name + " Spot Instance Requests"
	}
	return "Running On-Demand " + f.Name + " instances"
}
