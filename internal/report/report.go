// Package report writes verdicts for people and for programs: text for a
// terminal, JSON, Markdown for a summary of CI or a pull request, and JUnit's
// XML. What logs say is written so that it can do no harm where it is shown.
package report
