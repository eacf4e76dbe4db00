package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/trainyard/trainyard/internal/capacity"
	"github.com/trainyard/trainyard/internal/instancetype"
	"github.com/trainyard/trainyard/internal/ui"
	"github.com/trainyard/trainyard/internal/workflow"
)

const (
	liveRows  = 8  // of the table while regions answer
	shownRows = 10 // of the result, unless each is explained
	allRows   = 1 << 20
)

// capacityText is the result for people, 80 columns wide.
func capacityText(r workflow.CapacityResult, explain bool, now time.Time) string {
	var b strings.Builder
	most := shownRows
	if explain {
		most = allRows
	}
	for _, t := range r.Types {
		b.WriteString(typeLine(t) + "\n")
	}
	b.WriteString("\n" + capacityTable(r.Rows, r.Need, most, explain))
	for _, line := range slices.Concat(foldedRows(r.Rows, r.Need, most), footnotes(r, now)) {
		b.WriteString(hang(line, 2) + "\n")
	}
	b.WriteString("\n" + adviceText(r.Advice, r.Filed))
	return b.String()
}

// typeLine is what a type is.
func typeLine(t instancetype.Type) string {
	parts := []string{fmt.Sprintf("%d vCPUs", t.VCPUs)}
	if t.GPUs > 0 {
		parts = append([]string{fmt.Sprintf("%d %s of %d GiB", t.GPUs, t.GPU, t.GPUMemoryMiB>>10)}, parts...)
	}
	efa := "no EFA"
	if t.EFA > 0 {
		efa = fmt.Sprintf("EFA %d", t.EFA)
		if t.GPUDirect {
			efa += " with GPUDirect"
		}
	}
	return t.Name + "  " + strings.Join(append(parts, efa, fmt.Sprintf("%d Gbps", t.NetworkGbps)), ", ")
}

// capacityTable lays out the rows of zones, at most so many, each with why it
// has its place if that is wanted. Zones that do not offer the type and regions
// that were not asked are left out.
func capacityTable(ranked []capacity.Ranked, need capacity.Need, most int, explain bool) string {
	head := capacityHead(ranked, need)
	table := [][]string{head}
	var why []string
	for _, r := range ranked {
		if isFolded(r) || len(why) == most {
			continue
		}
		cells := make([]string, len(head))
		for i, name := range head {
			cells[i] = capacityCell(name, r, need)
		}
		table = append(table, cells)
		why = append(why, r.Why)
	}
	if len(table) == 1 {
		return ""
	}
	lines := ui.Align(table, isPrice)
	for _, name := range leastMissed {
		if widest(lines) <= ui.Columns {
			break
		}
		table = withoutColumn(table, name)
		lines = ui.Align(table, isPrice)
	}
	if explain {
		for i, reason := range why {
			lines[i+1] += "\n  " + hang(reason, 2)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

func widest(lines []string) (columns int) {
	for _, line := range lines {
		columns = max(columns, utf8.RuneCountInString(line))
	}
	return columns
}

// leastMissed are the columns that go where there is no room for all; the other
// forms have them.
var leastMissed = []string{"$/DAY", "BLOCK", "SPOT $/H", "SUBNET", "SPOT"}

// capacityHead names the columns that have something to say.
func capacityHead(ranked []capacity.Ranked, need capacity.Need) []string {
	head := []string{"ZONE"}
	add := func(name string, wanted bool) {
		if wanted {
			head = append(head, name)
		}
	}
	add("TYPE", len(need.Types) > 1)
	head = append(head, "FIT", "QUOTA LEFT", "SPOT")
	add("SUBNET", need.Cluster != "")
	head = append(head, "$/H", "$/DAY", "SPOT $/H")
	add("BLOCK", slices.ContainsFunc(ranked, func(r capacity.Ranked) bool { return len(r.Blocks) > 0 || r.Problems[capacity.Blocks] != "" }))
	add("PROBE", slices.ContainsFunc(ranked, func(r capacity.Ranked) bool { return r.Stock != nil }))
	return head
}

func withoutColumn(table [][]string, name string) [][]string {
	column := slices.Index(table[0], name)
	if column < 0 {
		return table
	}
	narrow := make([][]string, len(table))
	for i, row := range table {
		narrow[i] = slices.Delete(slices.Clone(row), column, column+1)
	}
	return narrow
}

// adviceText is what to do now. Commands are lines of their own, to be copied.
func adviceText(a capacity.Advice, filed *capacity.Filed) string {
	var b strings.Builder
	line := func(text string) { b.WriteString(text + "\n") }
	labelled := func(label, text, command string) {
		if text != "" {
			line(hang(label+": "+text, 6))
		}
		if command != "" {
			line(label + ": " + command)
		}
	}
	if a.Best != nil {
		labelled("best", a.Text, "")
		labelled("next", a.Next, a.Command)
		labelled("cost", a.Cost, "")
		labelled("undo", "", a.Undo)
		return b.String()
	}
	line(hang(a.Text, 2))
	if q := a.Quota; q != nil {
		text := fmt.Sprintf("It would fit with %d vCPUs of %q in %s, which is %d now", q.Wanted, q.Name, q.Region, q.Limit)
		if filed != nil {
			line(hang(text+"; that is requested", 0))
		} else {
			line(hang(text+":", 0))
			line("  " + q.Command())
			line("This requests it after asking, unless that was done before:")
			line("  " + q.FiledBy)
		}
	}
	if len(a.Others) > 0 {
		line("Or:")
		for _, other := range a.Others {
			line("  " + hang(other.Text, 2))
			line("    " + other.Command)
		}
	}
	return b.String()
}
