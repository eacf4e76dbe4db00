package capacity

import (
	"fmt"
	"slices"
	"strings"
)

// vcpuQuota is one of AWS's limits on the vCPUs that run at the same time, of
// families of instance types.
type vcpuQuota struct {
	code, name string   // as Service Quotas has them
	spot       bool     // it counts Spot instances; else On-Demand instances and reservations
	families   []string // names of types up to their first digit, or with the digits that follow
}

// vcpuQuotas are those of EC2. Source: Service Quotas' own list. Of P6 as Spot,
// and of mac, which runs on hosts of its own, there is none in it.
var vcpuQuotas = []vcpuQuota{
	{"L-1216C47A", "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", false, standard},
	{"L-34B43A08", "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests", true, standard},
	{"L-DB2E81BA", "Running On-Demand G and VT instances", false, []string{"g", "gr", "vt"}},
	{"L-3819A6DF", "All G and VT Spot Instance Requests", true, []string{"g", "gr", "vt"}},
	{"L-417A185B", "Running On-Demand P instances", false, []string{"p"}},
	{"L-7212CCBC", "All P4, P3 and P2 Spot Instance Requests", true, []string{"p2", "p3", "p4"}},
	{"L-C4BD4855", "All P5 Spot Instance Requests", true, []string{"p5"}},
	{"L-1945791B", "Running On-Demand Inf instances", false, []string{"inf"}},
	{"L-B5D1601B", "All Inf Spot Instance Requests", true, []string{"inf"}},
	{"L-2C3B7624", "Running On-Demand Trn instances", false, []string{"trn"}},
	{"L-6B0D517C", "All Trn Spot Instance Requests", true, []string{"trn"}},
	{"L-6E869C2A", "Running On-Demand DL instances", false, []string{"dl"}},
	{"L-85EED4F7", "All DL Spot Instance Requests", true, []string{"dl"}},
	{"L-74FC7D96", "Running On-Demand F instances", false, []string{"f"}},
	{"L-88CF9481", "All F Spot Instance Requests", true, []string{"f"}},
	{"L-7295265B", "Running On-Demand X instances", false, []string{"x"}},
	{"L-E3A00192", "All X Spot Instance Requests", true, []string{"x"}},
	{"L-F7808C92", "Running On-Demand HPC instances", false, []string{"hpc"}},
	{"L-43DA4232", "Running On-Demand High Memory instances", false, []string{"u", "u-"}},
}

var standard = []string{"a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z"}

// quotaOf is the quota that counts instances of a type. The error says that
// none is known to.
func quotaOf(instanceType string, spot bool) (vcpuQuota, error) {
	for _, q := range vcpuQuotas {
		if q.spot == spot && q.counts(instanceType) {
			return q, nil
		}
	}
	how := "On-Demand"
	if spot {
		how = "Spot"
	}
	return vcpuQuota{}, fmt.Errorf("which quota counts %s as %s is not known", instanceType, how)
}

// counts tells whether instances of the type count against the quota.
func (q vcpuQuota) counts(instanceType string) bool {
	letters := max(strings.IndexAny(instanceType, digits), 0)
	rest := strings.TrimLeft(instanceType[letters:], digits)
	generation := instanceType[:len(instanceType)-len(rest)]
	return slices.Contains(q.families, instanceType[:letters]) || slices.Contains(q.families, generation)
}

const digits = "0123456789"
