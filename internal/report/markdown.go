package report

import (
	"fmt"
	"strings"

	"github.com/trainyard/trainyard/fabric"
	"github.com/trainyard/trainyard/internal/ui"
)

// Markdown writes a report in GitHub's dialect.
func Markdown(r fabric.Report, explain bool) string {
	var b strings.Builder
	if len(r.Jobs) > 1 {
		markdownJobs(&b, r)
	}
	v := r.Verdict
	fmt.Fprintf(&b, "### %s: %s\n", v.Verdict, escape(headline(v)))
	markdownTable(&b, v)
	if v.Cause != "" {
		fmt.Fprintf(&b, "\n**Cause** [%s](%s)%s\n\n**Remedy** %s\n", v.Cause, Page(v.Cause),
			escape(strings.TrimPrefix(causeText(v), string(v.Cause))), escape(v.Remedy))
	}
	if ranks := missing(v); len(ranks) > 0 {
		fmt.Fprintf(&b, "\n**Missing** rank %s, not in the logs\n", ranges(ranks))
	}
	markdownNotes(&b, v)
	markdownQuotes(&b, v.Evidence)
	if explain && len(v.Reasoning) > 0 {
		markdownReasoning(&b, v.Reasoning)
	}
	return b.String()
}

func markdownJobs(b *strings.Builder, r fabric.Report) {
	jobs := worstFirst(r.Jobs)
	fmt.Fprintf(b, "%s\n\n| verdict | job | network | ranks | cause |\n|---|---|---|---|---|\n", tally(jobs))
	names := jobNames(jobs)
	for i, job := range jobs[:min(len(jobs), mostJobs)] {
		cells := jobCells(job, names[i])
		for i := range cells {
			cells[i] = escape(cells[i])
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
	if more := len(jobs) - mostJobs; more > 0 {
		fmt.Fprintf(b, "\nand %s\n", tally(jobs[mostJobs:]))
	}
	fmt.Fprintf(b, "\nJob %s:\n\n", escape(jobs[0].Name))
}

func markdownTable(b *strings.Builder, v fabric.Verdict) {
	entries := shorten(rows(v))
	if len(entries) == 0 {
		return
	}
	header := columnNames()
	fmt.Fprintf(b, "\n| %s |\n|%s\n", strings.Join(header, " | "), strings.Repeat("---|", len(header)))
	for _, e := range entries {
		if e.more > 0 {
			fmt.Fprintf(b, "| %s |%s\n", escape(e.moreText()), strings.Repeat(" |", len(header)-1))
			continue
		}
		cells := e.row.cells()
		for i := range cells {
			cells[i] = escape(cells[i])
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
}

func markdownNotes(b *strings.Builder, v fabric.Verdict) {
	if len(v.Attempts)+len(v.Warnings) > 0 {
		b.WriteString("\n")
	}
	for _, a := range v.Attempts {
		fmt.Fprintf(b, "- earlier attempt of the job: %s, %s\n", a.Verdict, escape(a.Summary))
	}
	for _, w := range v.Warnings {
		fmt.Fprintf(b, "- warning: %s\n", escape(w.Text))
	}
}

func markdownQuotes(b *strings.Builder, quotes []fabric.Quote) {
	if len(quotes) == 0 {
		return
	}
	var lines []string
	names := quoteNames(quotes)
	for i, q := range quotes {
		lines = append(lines, fmt.Sprintf("%s:%d  %s", names[i], q.Line, clean(q.Text)))
	}
	body := strings.Join(lines, "\n")
	fence := "```"
	for strings.Contains(body, fence) {
		fence += "`"
	}
	fmt.Fprintf(b, "\n%stext\n%s\n%s\n", fence, body, fence)
}

func markdownReasoning(b *strings.Builder, steps []fabric.Step) {
	b.WriteString("\n<details><summary>Why</summary>\n\n")
	for _, step := range steps {
		fmt.Fprintf(b, "- **%s** %s\n", step.Kind, escape(step.Text))
		names := quoteNames(step.Evidence)
		for i, q := range step.Evidence {
			fmt.Fprintf(b, "  - %s: %s\n", escape(fmt.Sprintf("%s:%d", names[i], q.Line)), escape(q.Text))
		}
	}
	b.WriteString("\n</details>\n")
}

// special are the characters that mean something to Markdown within a line.
const special = "\\`*_{}[]<>()#+!|~&$"

// escape makes a text of the logs stand for itself: no markup, no HTML, nobody
// mentioned, no issue linked.
func escape(s string) string {
	var b strings.Builder
	for _, r := range clean(ui.Harmless(s)) {
		switch {
		case r == '@' || r == '#':
			b.WriteString(`\` + string(r) + "<!-- -->")
		case strings.ContainsRune(special, r):
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
