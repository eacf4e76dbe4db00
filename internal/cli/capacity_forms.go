package cli

import (
	"encoding/csv"
	"fmt"
	"strconv"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/internal/capacity"
	"github.com/trainyard/trainyard/internal/workflow"
)

// printCapacity writes the result to standard output.
func (a *app) printCapacity(r workflow.CapacityResult, opts capacityOptions) error {
	switch opts.output {
	case "json":
		a.printJSON(r)
	case "yaml":
		data, err := yaml.Marshal(r)
		if err != nil {
			return fmt.Errorf("writing YAML: %w", err)
		}
		_, _ = a.streams.Out.Write(data) // Main asks the stream
	case "csv":
		w := csv.NewWriter(a.streams.Out)
		_ = w.WriteAll(capacityCSV(r)) // as above
	default:
		_, _ = fmt.Fprint(a.streams.Out, capacityText(r, opts.explain, time.Now())) // as above
	}
	return nil
}

// capacityCSV has a line for each row, best first; what is not known is empty.
func capacityCSV(r workflow.CapacityResult) [][]string {
	lines := [][]string{{
		"rank", "type", "region", "zone", "zone_id", "fit", "why", "offered", "quota_code", "quota_left_vcpus", "quota_left_instances",
		"spot_quota_left_instances", "spot_score", "subnet", "usd_per_hour", "spot_usd_per_hour", "job_usd_per_hour", "job_usd_per_day",
		"block_start", "block_instances", "block_usd", "probe", "reservation", "latency_ms",
	}}
	for i, row := range r.Rows {
		line := []string{strconv.Itoa(i + 1), row.Type, row.Region, row.Zone, row.ZoneID, string(row.Fit), row.Why, optional(row.Offered)}
		line = append(line, quotaCSV(row.Row)...)
		score, subnet := "", ""
		if row.SpotScore != nil {
			score = strconv.Itoa(row.SpotScore.Value)
		}
		if row.Subnet != nil {
			subnet = row.Subnet.ID
		}
		line = append(line, score, subnet, times(row.USD, 1), times(row.SpotUSD, 1), times(row.USD, r.Nodes), times(row.USD, r.Nodes*24))
		lines = append(lines, append(line, endCSV(row.Row)...))
	}
	return lines
}

func quotaCSV(row capacity.Row) []string {
	cells := make([]string, 4)
	if q := row.Quota; q != nil {
		cells[0], cells[1], cells[2] = q.Code, strconv.Itoa(q.Left()), strconv.Itoa(q.Instances)
	}
	if q := row.SpotQuota; q != nil {
		cells[3] = strconv.Itoa(q.Instances)
	}
	return cells
}

func endCSV(row capacity.Row) []string {
	cells := make([]string, 6)
	if len(row.Blocks) > 0 {
		b := nextBlock(row.Blocks)
		cells[0], cells[1], cells[2] = b.Start.UTC().Format(time.RFC3339), strconv.Itoa(b.Instances), fmt.Sprintf("%.2f", b.USD)
	}
	if row.Stock != nil {
		cells[3], cells[4] = string(row.Stock.Outcome), row.Stock.Reservation
	}
	if row.Latency > 0 {
		cells[5] = strconv.Itoa(row.Latency)
	}
	return cells
}

func optional(value *bool) string {
	if value == nil {
		return ""
	}
	return strconv.FormatBool(*value)
}

func times(usd *float64, n int) string {
	if usd == nil {
		return ""
	}
	return strconv.FormatFloat(*usd*float64(n), 'f', 4, 64)
}
