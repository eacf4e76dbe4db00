package local

import (
	"slices"
	"testing"
)

func TestVisibleDevices(t *testing.T) {
	tests := map[string][]string{
		"":            nil,
		"-1":          nil,
		"NoDevFiles":  nil,
		"0":           {"0"},
		"2, 3":        {"2", "3"},
		"1,-1,2":      {"1"},
		"GPU-a1,MIG-": {"GPU-a1", "MIG-"},
	}
	for value, want := range tests {
		got, err := GPUs(t.Context(), value, true)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("GPUs(%q) = %q, %v, want %q", value, got, err, want)
		}
	}
}
