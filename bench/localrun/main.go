// Localrun shows where the seconds of a local run go: it runs the built-in
// training twice, first with a cluster of its own, then on the same cluster,
// kept, and prints both side by side with their ratio.
//
// Run it from the repository's root after make build: go run ./bench/localrun
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"
)

func main() {
	steps := flag.Int("steps", 200, "training steps of each run")
	binary := flag.String("binary", "bin/trainyard", "program to measure")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *binary, *steps); err != nil {
		fmt.Fprintln(os.Stderr, "localrun:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, binary string, steps int) error {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "localrun-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// A state folder of its own: a cluster that somebody else keeps stays.
	environ := append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	trainyard := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, binary, args...)
		cmd.Dir, cmd.Env, cmd.Stderr = dir, environ, os.Stderr
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.WaitDelay = time.Minute
		return cmd.Output()
	}
	defer func() { _, _ = trainyard("down", "--force") }()

	var tables [2][]phase
	for i := range tables {
		began := time.Now()
		result, err := trainyard("train", "--keep", "--steps", fmt.Sprint(steps), "--output", "json")
		if err != nil {
			return fmt.Errorf("running %s train: %w", binary, err)
		}
		if tables[i], err = phases(dir, result, time.Since(began)); err != nil {
			return err
		}
	}
	return report(out, tables)
}

// phase is a part of a run and how long it took, in seconds.
type phase struct {
	name    string
	seconds float64
}

// phases reads a run's own records. wall is the whole command's time.
func phases(dir string, result []byte, wall time.Duration) ([]phase, error) {
	var info struct {
		Dir string `json:"dir"`
	}
	if err := json.Unmarshal(result, &info); err != nil {
		return nil, fmt.Errorf("reading the result: %w", err)
	}
	folder := filepath.Join(dir, info.Dir)
	type record struct {
		Time    time.Time `json:"time"`
		Event   string    `json:"event"`
		Step    any       `json:"step"` // a name in events, a number in metrics
		Seconds float64   `json:"seconds"`
	}
	took := map[string]float64{}
	at := map[string]time.Time{}
	err := eachLine(filepath.Join(folder, "events.jsonl"), func(r record) {
		name := fmt.Sprint(r.Step)
		at[r.Event+" "+name] = r.Time
		if r.Event == "step-done" {
			took[name] = r.Seconds
		}
	})
	if err != nil {
		return nil, err
	}
	first, training := 0.0, 0.0
	err = eachLine(filepath.Join(folder, "metrics.jsonl"), func(r record) {
		if r.Event != "step" {
			return
		}
		if first == 0 {
			first = r.Seconds
		}
		training += r.Seconds
	})
	if err != nil {
		return nil, err
	}
	job := at["step-began transport"].Sub(at["step-done job"]).Seconds()
	table := []phase{
		{"environment found", took["environment"]},
		{"cluster up", took["cluster"]},
		{"package sent", took["package"]},
		{"driver and workers started", took["job"]},
		{"first step", first},
		{"other steps", training - first},
		{"checkpoint, workers ended", job - training},
		{"last lines read, verdict", took["transport"]},
	}
	rest := wall.Seconds()
	for _, p := range table {
		rest -= p.seconds
	}
	return append(table, phase{"start, end and the rest", rest}, phase{"whole command", wall.Seconds()}), nil
}

func eachLine[T any](path string, take func(T)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		var v T
		if err := json.Unmarshal(scanner.Bytes(), &v); err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
		take(v)
	}
	return scanner.Err()
}

func report(out io.Writer, tables [2][]phase) error {
	if _, err := fmt.Fprintf(out, "%-28s %10s %10s %7s   (s)\n", "", "fresh", "kept", "ratio"); err != nil {
		return err
	}
	for i, fresh := range tables[0] {
		kept := tables[1][i]
		ratio := "-"
		if fresh.seconds >= 0.05 && kept.seconds >= 0.05 {
			ratio = fmt.Sprintf("%.2f", kept.seconds/fresh.seconds)
		}
		if _, err := fmt.Fprintf(out, "%-28s %10.1f %10.1f %7s\n", fresh.name, fresh.seconds, kept.seconds, ratio); err != nil {
			return err
		}
	}
	return nil
}
