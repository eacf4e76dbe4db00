package cli

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/internal/capacity"
	"github.com/trainyard/trainyard/internal/instancetype"
	"github.com/trainyard/trainyard/internal/ui"
	"github.com/trainyard/trainyard/internal/workflow"
)

var capacityNow = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// capacityResult is one with everything in it that a table can show.
func capacityResult(t *testing.T, types ...string) workflow.CapacityResult {
	t.Helper()
	need := capacity.Need{Nodes: 2, Cluster: "train", Block: capacity.DefaultBlock}
	for _, name := range types {
		found, err := instancetype.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		need.Types = append(need.Types, found)
	}
	yes, no, usd, spot := true, false, 55.04, 12.345
	quota := &capacity.Headroom{Code: "L-417A185B", Name: "Running On-Demand P instances", Limit: 1152, Used: 192, Instances: 5}
	row := func(zone string, change func(*capacity.Row)) capacity.Row {
		r := capacity.Row{Type: types[0], Region: zone[:len(zone)-1], Zone: zone, Offered: &yes, Quota: quota, USD: &usd, SpotUSD: &spot}
		change(&r)
		return r
	}
	rows := []capacity.Row{
		row("us-east-2a", func(r *capacity.Row) {
			r.Stock = &capacity.Finding{Outcome: capacity.Proven}
			r.Subnet = &capacity.PrivateSubnet{ID: "subnet-1"}
			r.SpotScore = &capacity.Score{Value: 3, Asked: capacityNow.Add(-12 * time.Minute)}
			r.Blocks = []capacity.Block{{ID: "cb-2", Start: capacityNow.AddDate(0, 0, 9), Instances: 2}, {ID: "cb-1", Start: capacityNow.AddDate(0, 0, 3), Instances: 1}}
		}),
		row("ap-southeast-2b", func(r *capacity.Row) {
			r.Quota, r.Problems = nil, map[capacity.Part]string{capacity.Quota: "not permitted: servicequotas:GetServiceQuota"}
			r.SpotScore = &capacity.Score{Value: 1, Capped: true, Asked: capacityNow}
		}),
		row("us-west-2a", func(r *capacity.Row) { r.Quota = &capacity.Headroom{Limit: 192} }),
		row("us-west-2b", func(r *capacity.Row) { r.Offered = &no }),
		{Type: types[0], Region: "me-south-1", Skipped: "not opted in"},
	}
	ranked := capacity.Rank(rows, need)
	return workflow.CapacityResult{Need: need, Types: need.Types, Nodes: 2, Rows: ranked, Advice: capacity.Advise(ranked, need, capacity.Asked{Reserve: capacity.DefaultReserve})}
}

func TestCapacityText(t *testing.T) {
	want := `p5.48xlarge  8 H100 of 80 GiB, 192 vCPUs, EFA 32 with GPUDirect, 3200 Gbps

ZONE             FIT  QUOTA LEFT    SPOT  SUBNET     $/H  SPOT $/H  PROBE
us-east-2a       yes  960 vCPU = 5  3*    yes     110.08     24.69  proven
  the best
ap-southeast-2b  ?    ?             1*!   -       110.08     24.69  -
  the quota is not known: not permitted: servicequotas:GetServiceQuota
us-west-2a       no   192 vCPU = 0  -     -       110.08     24.69  -
  quota: 192 of 192 vCPUs left, room for 0 of 2
not offered here: us-west-2b
not opted in: me-south-1
* Spot placement score, 1 to 10: one type alone always scores low, so compare
  zones only
! the Spot quota is too small, which lowers the score whatever there is
Spot placement scores are up to 12m00s old
? quota not known in ap-southeast-2: not permitted:
  servicequotas:GetServiceQuota

best: 2 p5.48xlarge in us-east-2a: quota: room for 5, stock proven, subnet
      subnet-1, $110.08 an hour
next: trainyard capacity --type p5.48xlarge --nodes 2 --region us-east-2 --cluster train --probe --keep
`
	if diff := cmp.Diff(want, capacityText(capacityResult(t, "p5.48xlarge"), true, capacityNow)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

// TestCapacityFitsThePage: whatever there is to show, a table has 80 columns,
// and only commands, which are to be copied, are longer.
func TestCapacityFitsThePage(t *testing.T) {
	text := capacityText(capacityResult(t, "p6-b200.48xlarge", "p5en.48xlarge"), true, capacityNow)
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > ui.Columns && !strings.HasPrefix(line, "next: ") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(text, "PROBE") || !strings.Contains(text, "TYPE") {
		t.Errorf("columns that matter are missing:\n%s", text)
	}
}

func TestCapacityCSV(t *testing.T) {
	lines := capacityCSV(capacityResult(t, "p5.48xlarge"))
	for _, line := range lines {
		if len(line) != len(lines[0]) {
			t.Errorf("%d cells, want %d: %q", len(line), len(lines[0]), line)
		}
	}
	want := []string{
		"1", "p5.48xlarge", "us-east-2", "us-east-2a", "", "yes", "the best", "true", "L-417A185B", "960", "5", "", "3", "subnet-1",
		"55.0400", "12.3450", "110.0800", "2641.9200", "2026-12-03T12:00:00Z", "1", "0.00", "proven", "", "",
	}
	if diff := cmp.Diff(want, lines[1]); diff != "" {
		t.Errorf("the first line (-want +got):\n%s", diff)
	}
}

// TestCapacityCells: what a cell says in the cases that are rare.
func TestCapacityCells(t *testing.T) {
	r := capacityResult(t, "p5.48xlarge")
	blocked := r.Rows[0]
	unknown := blocked
	unknown.Quota, unknown.SpotQuota, unknown.Problems = nil, nil, map[capacity.Part]string{capacity.SpotQuota: "denied"}
	spot := r.Need
	spot.Spot = true
	for _, test := range []struct {
		column string
		row    capacity.Ranked
		need   capacity.Need
		want   string
	}{
		{"BLOCK", blocked, r.Need, "3 Dec ×1"}, // the first to begin, which is too small
		{"BLOCK", blocked, capacity.Need{Nodes: 1}, "3 Dec"},
		{"QUOTA LEFT", unknown, r.Need, "-"},
		{"QUOTA LEFT", unknown, spot, "?"},
	} {
		if got := capacityCell(test.column, test.row, test.need); got != test.want {
			t.Errorf("%s is %q, want %q", test.column, got, test.want)
		}
	}
}

// TestFoldedRows: a zone is named once for each reason, with the types that it
// is about where it is not about all.
func TestFoldedRows(t *testing.T) {
	need := capacityResult(t, "g6.12xlarge", "g6e.12xlarge").Need
	yes, no := true, false
	quota := &capacity.Headroom{Limit: 192, Instances: 4}
	row := func(name, zone string, offered *bool) capacity.Row {
		return capacity.Row{Type: name, Region: zone[:len(zone)-1], Zone: zone, Offered: offered, Quota: quota}
	}
	rows := []capacity.Row{
		row("g6.12xlarge", "us-east-1a", &yes), row("g6e.12xlarge", "us-east-1a", &no),
		row("g6.12xlarge", "us-east-1e", &no), row("g6e.12xlarge", "us-east-1e", &no),
		row("g6.12xlarge", "us-east-1b", &yes), row("g6e.12xlarge", "us-east-1b", &yes),
		row("g6.12xlarge", "us-east-1c", &yes), row("g6e.12xlarge", "us-east-1c", &yes),
		{Type: "g6.12xlarge", Region: "me-south-1", Skipped: "not opted in"},
		{Type: "g6e.12xlarge", Region: "me-south-1", Skipped: "not opted in"},
	}
	want := []string{
		"not offered here: us-east-1e",
		"not offered here (g6e.12xlarge): us-east-1a",
		"not opted in: me-south-1",
		"room there, too: us-east-1c",
		"room there, too (g6e.12xlarge): us-east-1b",
	}
	if diff := cmp.Diff(want, foldedRows(capacity.Rank(rows, need), need, 2)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
