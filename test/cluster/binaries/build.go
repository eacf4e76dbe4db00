package binaries

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// stopPatience is how long an interrupted go command may take to end.
const stopPatience = 10 * time.Second

// build fills the new folder dir from the module in pin.
func (s set) build(ctx context.Context, pin, version, dir string, tell func(string)) error {
	for _, name := range slices.Sorted(maps.Keys(s.commands)) {
		began := time.Now()
		stop := everyMinute(func() { tell(fmt.Sprintf("  %s, for %s now", name, time.Since(began).Round(time.Second))) })
		_, err := goCommand(ctx, pin, "build", "-trimpath", "-buildvcs=false", "-ldflags", s.linkerFlags(version),
			"-o", filepath.Join(dir, name), s.commands[name])
		stop()
		if err != nil {
			return err
		}
		tell(fmt.Sprintf("  %s %s", name, time.Since(began).Round(time.Second)))
	}
	if len(s.files) == 0 {
		return nil
	}
	source, err := goCommand(ctx, pin, "list", "-m", "-f", "{{.Dir}}", s.module)
	if err != nil {
		return err
	}
	for name, pattern := range s.files {
		if err := copyAll(filepath.Join(source, filepath.FromSlash(pattern)), filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	return nil
}

// everyMinute calls tell each minute until stop is called.
func everyMinute(tell func()) (stop func()) {
	tick := time.NewTicker(time.Minute)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-tick.C:
				tell()
			case <-done:
				return
			}
		}
	}()
	return func() { tick.Stop(); close(done) }
}

// linkerFlags leaves out symbols, and says the version where the programs are
// told it by their release scripts.
func (s set) linkerFlags(version string) string {
	flags := "-s -w"
	if s.stamp != "" {
		number := strings.Split(strings.TrimPrefix(version, "v"), ".")
		flags += fmt.Sprintf(" -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s",
			s.stamp, version, number[0], number[1])
	}
	return flags
}

// copyAll copies the files that a pattern matches, of which there must be some,
// into the new folder dir.
func copyAll(pattern, dir string) error {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return fmt.Errorf("no file is %s", pattern)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// goCommand runs the go command in a folder of pins and returns what it printed;
// downloads and compiler errors are shown as they come.
func goCommand(ctx context.Context, pin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = pin
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopPatience
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("running go %s in %s: %w", args[0], pin, err)
	}
	return strings.TrimSpace(string(out)), nil
}
