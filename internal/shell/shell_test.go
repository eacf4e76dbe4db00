package shell

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestJoin(t *testing.T) {
	for want, args := range map[string][]string{
		"python -m trainyard.train --learning-rate 2e-5": {"python", "-m", "trainyard.train", "--learning-rate", "2e-5"},
		"python t.py --name 'a b' ''":                    {"python", "t.py", "--name", "a b", ""},
		`sh -c 'echo $HOME; it'\''s'`:                    {"sh", "-c", "echo $HOME; it's"},
		"x '*.py' '~' 'a\nb'":                            {"x", "*.py", "~", "a\nb"},
	} {
		if got := Join(args); got != want {
			t.Errorf("Join(%q) = %s, want %s", args, got, want)
		}
		out, err := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\0' `+want).Output()
		if read := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); err != nil || !slices.Equal(read, args) {
			t.Errorf("a shell reads %q, want %q; %v", read, args, err)
		}
	}
}
