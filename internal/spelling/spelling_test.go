package spelling

import "testing"

func TestDistance(t *testing.T) {
	for pair, want := range map[[2]string]int{
		{"", ""}: 0, {"a", ""}: 1, {"", "ab"}: 2, {"steps", "steps"}: 0, {"setps", "steps"}: 1,
		{"kitten", "sitting"}: 3, {"nodes", "node"}: 1,
	} {
		if got := Distance(pair[0], pair[1]); got != want {
			t.Errorf("Distance%q = %d, want %d", pair, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"staging", "production", "prod"}
	for word, want := range map[string]string{
		"stagin": "staging", "prodd": "prod", "production": "production", "test": "", "": "",
	} {
		if got := Nearest(word, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
