package cli

import (
	"fmt"
	"strings"

	"github.com/trainyard/trainyard/internal/target/kubernetes"
	"github.com/trainyard/trainyard/internal/ui"
	"github.com/trainyard/trainyard/internal/workflow"
)

const (
	levelWidth = 9  // column in which a finding begins
	partWidth  = 7  // of the names of its parts
	checkWidth = 18 // of what was looked at, in the list of what is fine
	mostWhere  = 8  // nodes that are named
)

// checkText writes what was found for a terminal, 80 columns wide: the worst
// first and each with its remedy, what is fine in a line each, and a sum.
func checkText(c workflow.ClusterCheck, color bool) string {
	t := &findingsText{paint: ui.Painter(color)}
	t.hanging("", fmt.Sprintf("context %s, namespace %s, %s", orDash(c.Context), c.Namespace, c.Server))
	t.line("")
	fine := false
	for _, f := range kubernetes.WorstFirst(c.Findings) {
		if f.Level == kubernetes.OK {
			fine = true
			t.fine(f)
			continue
		}
		t.finding(f)
	}
	if fine {
		t.line("")
	}
	t.sum(c)
	return t.b.String()
}

type findingsText struct {
	b     strings.Builder
	paint func(style, text string) string
}

func (t *findingsText) line(text string) { t.b.WriteString(strings.TrimRight(text, " ") + "\n") }

// hanging writes text behind a head that is as wide as it looks without
// colours, and goes on below the text.
func (t *findingsText) hanging(head, text string) {
	indent := strings.Repeat(" ", len(head))
	for i, line := range ui.Wrap(clean(text), ui.Columns-len(head)) {
		if i == 0 {
			t.line(t.styled(head) + line)
			continue
		}
		t.line(indent + line)
	}
}

// styled paints the level at the head of a line.
func (t *findingsText) styled(head string) string {
	word, rest, _ := strings.Cut(head, " ")
	styles := map[string]string{"PROBLEM": ui.Red, "UNKNOWN": ui.Yellow, "WARNING": ui.Yellow, "ok": ui.Green}
	if style, level := styles[word]; level {
		return t.paint(style, word) + " " + rest
	}
	return head
}

func (t *findingsText) fine(f kubernetes.Finding) {
	t.hanging(fmt.Sprintf("%-*s%-*s", levelWidth, "ok", checkWidth, f.Check), f.What)
}

func (t *findingsText) finding(f kubernetes.Finding) {
	t.hanging(fmt.Sprintf("%-*s", levelWidth, strings.ToUpper(string(f.Level))), f.Check+": "+f.What)
	part := func(name, text string) {
		if text != "" {
			t.hanging(strings.Repeat(" ", levelWidth)+fmt.Sprintf("%-*s", partWidth, name), text)
		}
	}
	part("where", where(f.Where))
	part("so", f.Consequence)
	advice, command := splitCommand(f.Remedy)
	if advice == "" {
		advice, command = command, ""
		t.line(strings.Repeat(" ", levelWidth) + fmt.Sprintf("%-*s", partWidth, "do") + clean(advice)) // to be copied, so in one line
	} else {
		part("do", advice)
	}
	if command != "" {
		t.line(strings.Repeat(" ", levelWidth+partWidth) + clean(command))
	}
	t.line("")
}

func where(nodes []string) string {
	if len(nodes) <= mostWhere {
		return strings.Join(nodes, ", ")
	}
	return fmt.Sprintf("%s and %d more nodes", strings.Join(nodes[:mostWhere], ", "), len(nodes)-mostWhere)
}

// splitCommand takes a command off the end of a remedy.
func splitCommand(remedy string) (advice, command string) {
	for _, program := range []string{"kubectl ", "trainyard "} {
		if strings.HasPrefix(remedy, program) {
			return "", remedy
		}
		if before, after, found := strings.Cut(remedy, ": "+program); found {
			return before + ":", program + after
		}
	}
	return remedy, ""
}

// clean makes a text from a cluster fit for one line of a terminal.
func clean(text string) string {
	return strings.TrimSpace(ui.Harmless(strings.ReplaceAll(strings.ReplaceAll(text, "\n", " "), "\t", " ")))
}

func (t *findingsText) sum(c workflow.ClusterCheck) {
	var parts []string
	for _, level := range []kubernetes.Level{kubernetes.Problem, kubernetes.Unknown, kubernetes.Warning, kubernetes.OK} {
		n := c.Count(level)
		switch {
		case n == 0:
		case n == 1 || level == kubernetes.Unknown || level == kubernetes.OK:
			parts = append(parts, fmt.Sprintf("%d %s", n, level))
		default:
			parts = append(parts, fmt.Sprintf("%d %ss", n, level))
		}
	}
	style, verdict := ui.Green, "a job can run"
	switch {
	case c.Count(kubernetes.Problem) > 0:
		style, verdict = ui.Red, "a job would not run as it should"
	case c.Count(kubernetes.Unknown) > 0:
		style, verdict = ui.Yellow, "nothing seen that stops a job, and not all was seen"
	case c.Count(kubernetes.Warning) > 0:
		style, verdict = ui.Yellow, "a job may run"
	}
	t.line(strings.Join(parts, ", ") + ": " + t.paint(style, verdict))
}
