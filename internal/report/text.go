package report

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/trainyard/trainyard/fabric"
	"github.com/trainyard/trainyard/internal/ui"
)

// DocsURL is where the page of each cause is, as <cause>.md.
const DocsURL = "https://github.com/trainyard/trainyard/blob/main/docs/troubleshooting/"

// Page is the address of the page on a cause; empty where there is none.
func Page(c fabric.Cause) string {
	if c == "" {
		return ""
	}
	return DocsURL + string(c) + ".md"
}

// TextOptions say how a verdict is written for people.
type TextOptions struct {
	Color   bool
	Explain bool // tell how the verdict came about
}

// Text writes a report for a terminal, 80 columns wide: of several jobs one line
// each, and the worst in full.
func Text(r fabric.Report, o TextOptions) string {
	t := &text{paint: ui.Painter(o.Color)}
	if len(r.Jobs) > 1 {
		t.jobs(r)
	}
	t.verdict(r.Verdict)
	if o.Explain {
		t.reasoning(r.Verdict)
	}
	return t.b.String()
}

type text struct {
	b     strings.Builder
	paint func(style, text string) string
}

// section begins a new part, a blank line apart from what is there.
func (t *text) section() {
	if t.b.Len() > 0 {
		t.b.WriteByte('\n')
	}
}

func (t *text) line(s string) { t.b.WriteString(strings.TrimRight(s, " ") + "\n") }

// hanging writes text behind a label, and goes on below the text.
func (t *text) hanging(style, label string, width int, body string) {
	lines := ui.Wrap(clean(body), ui.Columns-width)
	for i, line := range lines {
		if i == 0 {
			t.line(t.paint(style, label) + strings.Repeat(" ", max(width-utf8.RuneCountInString(label), 1)) + line)
			continue
		}
		t.line(strings.Repeat(" ", width) + line)
	}
}

// clean makes a text of the logs fit for one line of a terminal.
func clean(s string) string {
	s = strings.ReplaceAll(s, "\n", " ")
	return strings.TrimSpace(strings.ReplaceAll(ui.Harmless(s), "\t", " "))
}

func styleOf(o fabric.Outcome) string {
	switch o {
	case fabric.Pass:
		return ui.Green
	case fabric.Fail:
		return ui.Red
	}
	return ui.Yellow
}

// mostJobs are listed one by one.
const mostJobs = 10

func (t *text) jobs(r fabric.Report) {
	jobs := worstFirst(r.Jobs)
	t.line(tally(jobs))
	t.section()
	var table [][]string
	names := jobNames(jobs)
	for i, job := range jobs[:min(len(jobs), mostJobs)] {
		table = append(table, jobCells(job, names[i]))
	}
	fit(table, 1, longestCause)
	for i, line := range ui.Align(table, nil) {
		outcome := string(jobs[i].Verdict.Verdict)
		t.line(t.paint(styleOf(jobs[i].Verdict.Verdict), outcome) + line[len(outcome):])
	}
	if more := len(jobs) - mostJobs; more > 0 {
		t.line(fmt.Sprintf("and %s", tally(jobs[mostJobs:])))
	}
	t.section()
	t.line(t.paint(ui.Bold, "job "+clean(jobs[0].Name)))
}

// jobCells is a job in one line of a table.
func jobCells(job fabric.Job, name string) []string {
	v := job.Verdict
	ranks := count(v.Ranks.Seen, "rank")
	if v.Ranks.Expected > v.Ranks.Seen {
		ranks = fmt.Sprintf("%d of %s", v.Ranks.Seen, count(v.Ranks.Expected, "rank"))
	}
	return []string{string(v.Verdict), name, networkOf(v.Transport), ranks, string(v.Cause)}
}

// fit cleans the cells and clips them to most columns. Names get the room that
// the others leave.
func fit(table [][]string, names, most int) {
	widths := make([]int, len(table[0]))
	for _, cells := range table {
		for i, cell := range cells {
			cells[i] = clean(cell)
			if i != names {
				cells[i] = clip(cells[i], most)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cells[i]))
		}
	}
	others := 0
	for i, width := range widths {
		if i != names {
			others += width + 2
		}
	}
	for _, cells := range table {
		cells[names] = clip(cells[names], max(ui.Columns-others, leastName))
	}
}

// worstFirst orders jobs as their verdicts count.
func worstFirst(jobs []fabric.Job) []fabric.Job {
	order := []fabric.Outcome{fabric.Fail, fabric.Unknown, fabric.Pass}
	jobs = slices.Clone(jobs)
	slices.SortStableFunc(jobs, func(a, b fabric.Job) int {
		return slices.Index(order, a.Verdict.Verdict) - slices.Index(order, b.Verdict.Verdict)
	})
	return jobs
}

// tally counts jobs by verdict.
func tally(jobs []fabric.Job) string {
	counts := map[fabric.Outcome]int{}
	for _, job := range jobs {
		counts[job.Verdict.Verdict]++
	}
	var parts []string
	for _, o := range []fabric.Outcome{fabric.Fail, fabric.Unknown, fabric.Pass} {
		if counts[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[o], o))
		}
	}
	return count(len(jobs), "job") + ": " + strings.Join(parts, ", ")
}

func (t *text) verdict(v fabric.Verdict) {
	t.hanging(styleOf(v.Verdict), string(v.Verdict), len(v.Verdict)+2, headline(v))
	t.table(v)
	t.advice(v)
	if len(v.Evidence) > 0 {
		t.section()
		t.quotes("", v.Evidence)
	}
}

// headline says in a sentence what was found.
func headline(v fabric.Verdict) string {
	switch v.Transport {
	case fabric.TransportNone, fabric.TransportUnknown, "":
		return v.Summary
	}
	return string(v.Transport) + ": " + v.Summary
}

func (t *text) table(v fabric.Verdict) {
	entries := shorten(rows(v))
	if len(entries) == 0 {
		return
	}
	t.section()
	table := [][]string{columnNames()}
	for _, e := range entries {
		if e.more == 0 {
			table = append(table, e.row.cells())
		}
	}
	fit(table, 0, mostCell)
	lines := ui.Align(table, nil)
	t.line(t.paint(ui.Faint, lines[0]))
	next := 1
	for _, e := range entries {
		if e.more > 0 {
			t.line(t.paint(ui.Faint, clean(e.moreText())))
			continue
		}
		line := lines[next]
		next++
		if e.row.how.standing == wrong && v.Verdict == fabric.Fail {
			line = t.paint(ui.Red, line)
		}
		t.line(line)
	}
}

const (
	mostCell     = 15 // the widest that a cell may be, names aside
	longestCause = 26 // the same, where there are causes
	leastName    = 12 // what a name has at least
)

// clip takes out of the middle of what is too long: the names of pods differ at
// their ends.
func clip(s string, width int) string {
	runes := []rune(s)
	if len(runes) <= width {
		return s
	}
	head := (width - 1) / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(width-1-head):])
}

// labelWidth is the column in which advice begins.
const labelWidth = 9

// advice says why, what to do, and what else is worth knowing.
func (t *text) advice(v fabric.Verdict) {
	if v.Cause == "" && len(v.Warnings)+len(v.Attempts) == 0 {
		return
	}
	t.section()
	say := func(style, label, body string) {
		if body != "" {
			t.hanging(style, label, labelWidth, body)
		}
	}
	if v.Cause != "" {
		say(ui.Bold, "cause", causeText(v))
		say(ui.Bold, "remedy", v.Remedy)
		t.line(t.paint(ui.Bold, "docs") + strings.Repeat(" ", labelWidth-4) + Page(v.Cause))
	}
	if ranks := missing(v); len(ranks) > 0 {
		say(ui.Yellow, "missing", "rank "+ranges(ranks)+", not in the logs")
	}
	for _, a := range v.Attempts {
		say(ui.Faint, "earlier", fmt.Sprintf("attempt of the job: %s, %s", a.Verdict, a.Summary))
	}
	for _, w := range v.Warnings {
		say(ui.Yellow, "warning", w.Text)
	}
}

// causeText names the cause, and says what it means where the summary does not.
func causeText(v fabric.Verdict) string {
	why := v.Cause.Info().Why
	if why == "" || strings.Contains(v.Summary, why) {
		return string(v.Cause)
	}
	return string(v.Cause) + ": " + why
}

// quotes writes lines of the logs behind their place.
func (t *text) quotes(indent string, quotes []fabric.Quote) {
	names := quoteNames(quotes)
	for i, q := range quotes {
		place := fmt.Sprintf("%s:%d", names[i], q.Line)
		body := place + "  " + clean(q.Text)
		first := ui.Wrap(body, ui.Columns-len(indent))[0]
		t.line(indent + strings.Replace(first, place, t.paint(ui.Faint, place), 1))
		if rest := strings.TrimPrefix(body[len(first):], " "); rest != "" {
			for _, line := range ui.Wrap(rest, ui.Columns-len(indent)-4) {
				t.line(indent + "    " + line)
			}
		}
	}
}

func quoteNames(quotes []fabric.Quote) []string {
	files := make([]string, len(quotes))
	for i, q := range quotes {
		files[i] = q.File
	}
	return shortNames(files)
}

func jobNames(jobs []fabric.Job) []string {
	names := make([]string, len(jobs))
	for i, job := range jobs {
		names[i] = job.Name
	}
	return shortNames(names)
}

// shortNames names files as briefly as still tells them apart: without the
// folder that all are in, and long ids cut.
func shortNames(files []string) []string {
	if len(files) == 0 {
		return nil
	}
	common := filepath.Dir(files[0])
	for _, file := range files {
		for common != "." && common != "/" && !strings.HasPrefix(file, common+"/") {
			common = filepath.Dir(common)
		}
	}
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = shortName(strings.TrimPrefix(file, common+"/"))
	}
	return names
}

// longID matches the ids in Ray's file names.
var longID = regexp.MustCompile(`\b([0-9a-f]{8})[0-9a-f]{24,}\b`)

func shortName(name string) string { return longID.ReplaceAllString(clean(name), "$1…") }

// reasoning tells step by step how the verdict came about, and what each step
// rests on.
func (t *text) reasoning(v fabric.Verdict) {
	if len(v.Reasoning) == 0 {
		return
	}
	t.section()
	t.line(t.paint(ui.Bold, "why"))
	const width = 11
	for _, step := range v.Reasoning {
		t.hanging(kindStyle(step.Kind), string(step.Kind), width, step.Text)
		t.quotes(strings.Repeat(" ", width), step.Evidence)
	}
}

func kindStyle(kind fabric.StepKind) string {
	switch kind {
	case fabric.Inferred:
		return ui.Yellow
	case fabric.Concluded:
		return ui.Bold
	}
	return ui.Cyan
}
