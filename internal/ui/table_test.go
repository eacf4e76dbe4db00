package ui

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAlign(t *testing.T) {
	table := [][]string{{"ZONE", "$/H", "WHY"}, {"zürich-1a", "9.20", ""}, {"b", "110.08", "it is"}}
	want := []string{
		"ZONE          $/H  WHY",
		"zürich-1a    9.20",
		"b          110.08  it is",
	}
	got := Align(table, func(head string) bool { return strings.Contains(head, "$") })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"$  x", "1  y"}, Align([][]string{{"$", "x"}, {"1", "y"}}, nil)); diff != "" {
		t.Errorf("nothing to the right (-want +got):\n%s", diff)
	}
	if lines := Align(nil, nil); lines != nil {
		t.Errorf("of nothing: %q", lines)
	}
}
