package report

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/trainyard/trainyard/fabric"
)

// The elements of JUnit's XML that GitLab, Jenkins and the actions for GitHub
// read.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string      `xml:"classname,attr"`
		Name    string      `xml:"name,attr"`
		Failure *junitWhy   `xml:"failure"`
		Error   *junitWhy   `xml:"error"`
		Skipped *junitWhy   `xml:"skipped"`
		Out     *junitLines `xml:"system-out"`
	}
	junitWhy struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",cdata"`
	}
	junitLines struct {
		Text string `xml:",cdata"`
	}
)

// JUnit writes a report as test results, a suite for each job. Its first case is
// the verdict: FAIL is a failure, UNKNOWN an error, as nothing was shown. Both
// pass where nothing is expected. Then there is a case for each rank: a failure
// where the rank used another network than the one expected, and skipped where
// that is not known, or the rank is not in the logs. A rank of a PASS without
// edges between nodes passes with it.
func JUnit(r fabric.Report) ([]byte, error) {
	all := junitSuites{Name: "trainyard verify"}
	for _, job := range r.Jobs {
		suite := junitJob(job)
		all.Suites = append(all.Suites, suite)
		all.Tests += suite.Tests
		all.Failures += suite.Failures
		all.Errors += suite.Errors
		all.Skipped += suite.Skipped
	}
	data, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the verdict as JUnit's XML: %w", err)
	}
	return []byte(xml.Header + string(data) + "\n"), nil
}

func junitJob(job fabric.Job) junitSuite {
	name := shortName(job.Name)
	suite := junitSuite{Name: name, Cases: []junitCase{junitVerdict(name, job.Verdict)}}
	for _, p := range job.Processes {
		if p.Rank >= 0 {
			suite.Cases = append(suite.Cases, junitRank(name, p, job.Verdict))
		}
	}
	for _, rank := range missing(job.Verdict) {
		suite.Cases = append(suite.Cases, junitCase{
			Class: name, Name: fmt.Sprintf("rank %d", rank), Skipped: &junitWhy{Message: "not in the logs"},
		})
	}
	for _, c := range suite.Cases {
		suite.Tests++
		switch {
		case c.Failure != nil:
			suite.Failures++
		case c.Error != nil:
			suite.Errors++
		case c.Skipped != nil:
			suite.Skipped++
		}
	}
	return suite
}

func junitVerdict(class string, v fabric.Verdict) junitCase {
	c := junitCase{Class: class, Name: "network is " + string(v.Expectation)}
	why := &junitWhy{Message: clean(headline(v)), Type: string(v.Cause), Text: junitText(v)}
	switch {
	case !v.Blocks():
		c.Out = &junitLines{why.Text}
	case v.Verdict == fabric.Fail:
		c.Failure = why
	default:
		c.Error = why
	}
	return c
}

// junitText is the verdict as text, without what the message says already.
func junitText(v fabric.Verdict) string {
	t := &text{paint: func(_, s string) string { return s }}
	t.verdict(v)
	return "\n" + strings.Map(xmlRune, t.b.String())
}

// xmlRune replaces what XML cannot hold, even escaped. Source: XML 1.0, 2.2.
func xmlRune(r rune) rune {
	if r < ' ' && r != '\t' && r != '\n' || r == 0xfffe || r == 0xffff {
		return '\ufffd'
	}
	return r
}

func junitRank(class string, p fabric.Process, v fabric.Verdict) junitCase {
	c := junitCase{Class: class, Name: fmt.Sprintf("rank %d", p.Rank)}
	if host := clean(p.Node + " " + p.Host); host != "" {
		c.Name += " on " + strings.Fields(host)[0]
	}
	if !v.Expectation.Demands() {
		return c
	}
	cause := fabric.Cause("")
	if len(p.Causes) > 0 {
		cause = p.Causes[0]
	}
	switch standing := standingOf(p, v); {
	case standing == wrong:
		c.Failure = &junitWhy{Message: fmt.Sprintf("its network is %s", p.Transport), Type: string(cause), Text: cause.Info().Why}
	case standing == unclear, p.Transport == fabric.TransportNone && v.Verdict != fabric.Pass:
		c.Skipped = &junitWhy{Message: "it is not known which network it used"}
	}
	return c
}
