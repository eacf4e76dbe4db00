// Package report writes verdicts for people and for programs: text for a
// terminal, JSON, Markdown for a summary of CI or a pull request, and JUnit's
// XML. What logs say is written so that it can do no harm where it is shown.
package report

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/trainyard/trainyard/fabric"
)

// JSON writes the report as it is; docs/verdict.md describes its fields.
func JSON(r fabric.Report) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false) // lines of logs are full of arrows
	if err := encoder.Encode(r); err != nil {
		return nil, fmt.Errorf("writing the verdict as JSON: %w", err)
	}
	return b.Bytes(), nil
}
