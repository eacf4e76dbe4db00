package ui

import (
	"strings"
	"unicode/utf8"
)

// Align lays out a table as lines, two blanks between its columns. The first row
// is the head; columns whose heads right accepts are aligned to the right, and
// none where it is nil.
func Align(table [][]string, right func(head string) bool) []string {
	if len(table) == 0 {
		return nil
	}
	widths := make([]int, len(table[0]))
	for _, row := range table {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	lines := make([]string, len(table))
	for n, row := range table {
		var line strings.Builder
		for i, cell := range row {
			blanks := widths[i] - utf8.RuneCountInString(cell)
			if right != nil && right(table[0][i]) {
				cell, blanks = pad("", blanks)+cell, 0
			}
			line.WriteString(pad(cell, blanks+2))
		}
		lines[n] = strings.TrimRight(line.String(), " ")
	}
	return lines
}
