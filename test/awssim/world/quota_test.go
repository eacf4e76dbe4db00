package world_test

import (
	"testing"

	"github.com/trainyard/trainyard/test/awssim/world"
)

// The codes are those that Service Quotas lists.
func TestVCPUQuota(t *testing.T) {
	for name, want := range map[string]struct{ onDemand, spot string }{
		"m5.large":           {"L-1216C47A", "L-34B43A08"},
		"im4gn.large":        {"L-1216C47A", "L-34B43A08"},
		"g6.12xlarge":        {"L-DB2E81BA", "L-3819A6DF"},
		"gr6.4xlarge":        {"L-DB2E81BA", "L-3819A6DF"},
		"vt1.3xlarge":        {"L-DB2E81BA", "L-3819A6DF"},
		"p3dn.24xlarge":      {"L-417A185B", "L-7212CCBC"},
		"p4d.24xlarge":       {"L-417A185B", "L-7212CCBC"},
		"p5.48xlarge":        {"L-417A185B", "L-C4BD4855"},
		"p5en.48xlarge":      {"L-417A185B", "L-C4BD4855"},
		"p6-b200.48xlarge":   {"L-417A185B", ""},
		"trn1.32xlarge":      {"L-2C3B7624", "L-6B0D517C"},
		"inf2.48xlarge":      {"L-1945791B", "L-B5D1601B"},
		"dl1.24xlarge":       {"L-6E869C2A", "L-85EED4F7"},
		"f2.48xlarge":        {"L-74FC7D96", "L-88CF9481"},
		"x2idn.32xlarge":     {"L-7295265B", "L-E3A00192"},
		"hpc7a.96xlarge":     {"L-F7808C92", ""},
		"u-6tb1.112xlarge":   {"L-43DA4232", ""},
		"u7i-12tb.224xlarge": {"L-43DA4232", ""},
		"mac2.metal":         {"", ""}, // counted in hosts
		"nonsense":           {"", ""},
	} {
		if got := world.VCPUQuota(name, false).Code; got != want.onDemand {
			t.Errorf("On-Demand %s counts against %q, want %q", name, got, want.onDemand)
		}
		if got := world.VCPUQuota(name, true).Code; got != want.spot {
			t.Errorf("Spot %s counts against %q, want %q", name, got, want.spot)
		}
	}
}
