// Capacity measures trainyard capacity against serial.sh, a script that asks
// the same with the aws client, one call after the other. Both talk to the
// simulated AWS of test/awssim, whose regions are 30 to 300 ms away.
//
// Run it from the repository's root: go run ./bench/capacity
//
// It needs the aws command line client (PyPI's awscli will do) for the script;
// -serial=false leaves that out.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"github.com/trainyard/trainyard/test/awssim/sim"
	"github.com/trainyard/trainyard/test/awssim/world"
)

const (
	instanceType = "g6.12xlarge"
	nodes        = "2"
	cluster      = "ray-train"
	homeRegion   = "us-east-1"
)

type options struct {
	runs          int
	serial, probe bool
}

func main() {
	var opts options
	flag.IntVar(&opts.runs, "runs", 5, "how often to run trainyard; the script runs once")
	flag.BoolVar(&opts.serial, "serial", true, "run the script, too, which takes minutes")
	flag.BoolVar(&opts.probe, "probe", false, "let both probe every zone that offers the type")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, opts); err != nil {
		fmt.Fprintln(os.Stderr, "capacity:", err)
		os.Exit(1)
	}
}

// measured is one program's run.
type measured struct {
	took  time.Duration
	calls []world.Record
}

func run(ctx context.Context, out io.Writer, opts options) error {
	if opts.runs < 1 {
		return fmt.Errorf("-runs %d: needs at least 1", opts.runs)
	}
	dir, err := os.MkdirTemp("", "capacity-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "trainyard")
	if text, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/trainyard").CombinedOutput(); err != nil {
		return fmt.Errorf("building: %w\n%s", err, text)
	}
	line := []string{program, "capacity", "--type", instanceType, "--nodes", nodes, "--cluster", cluster, "-o", "json", "--progress", "quiet"}
	if opts.probe {
		line = append(line, "--probe", "--all", "--yes", "--at-once", "10")
	}
	var ours []measured
	for range opts.runs {
		m, err := measure(ctx, dir, line...)
		if err != nil {
			return err
		}
		ours = append(ours, m)
	}
	slices.SortFunc(ours, func(a, b measured) int { return int(a.took - b.took) })
	median := ours[len(ours)/2]
	report(out, ours, opts.probe)
	if !opts.serial {
		return nil
	}
	script := []string{"bench/capacity/serial.sh", instanceType, nodes, cluster}
	if opts.probe {
		script = append(script, "probe")
	}
	theirs, err := measure(ctx, dir, script...)
	if err != nil {
		return err
	}
	say(out, "script     %8s, %d calls, each a process\n", theirs.took.Round(10*time.Millisecond), len(theirs.calls))
	say(out, "ratio      %8.0f times faster (goal: 20)\n", theirs.took.Seconds()/median.took.Seconds())
	return nil
}

// say prints; there is nobody to tell where the terminal is gone.
func say(out io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }

// measure runs a program with an AWS, and a cache, of its own.
func measure(ctx context.Context, dir string, line ...string) (measured, error) {
	seed := world.Default()
	seed.Conditions.Latency = world.Distances()
	server, err := sim.New(ctx, "127.0.0.1:0", seed)
	if err != nil {
		return measured{}, err
	}
	defer server.Close()
	home, err := os.MkdirTemp(dir, "home-")
	if err != nil {
		return measured{}, err
	}
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+home)
	cmd.Env = append(cmd.Env, server.Env()...)
	began := time.Now()
	text, err := cmd.Output()
	took := time.Since(began)
	if err != nil {
		return measured{}, fmt.Errorf("%s: %w\n%s", line[0], err, text)
	}
	return measured{took, server.Calls()}, nil
}

// report prints what trainyard took, beside the longest chain of calls in which
// each needs the answer of the one before it: the regions, then where the type
// is offered, or the cluster, and then the scores, or the subnets. With probes,
// which take turns, there is no such chain to speak of.
func report(out io.Writer, ours []measured, probe bool) {
	median := ours[len(ours)/2]
	conditions := world.Conditions{Latency: world.Distances()}
	perRegion, seen, twice := map[string]int{}, map[string]bool{}, 0
	farthest := time.Duration(0)
	for _, c := range median.calls {
		perRegion[c.Region]++
		farthest = max(farthest, conditions.Delay(c.Region))
		call := fmt.Sprint(c.Service, c.Action, c.Region, c.Params)
		if seen[call] {
			twice++
		}
		seen[call] = true
	}
	fewest, most := len(median.calls), 0
	for region, n := range perRegion {
		if region != homeRegion { // which answers what is about all regions, too
			fewest, most = min(fewest, n), max(most, n)
		}
	}
	say(out, "trainyard  %8s, median of %d from %s to %s, %d calls\n", median.took.Round(10*time.Millisecond), len(ours),
		ours[0].took.Round(10*time.Millisecond), ours[len(ours)-1].took.Round(10*time.Millisecond), len(median.calls))
	if !probe {
		chain := conditions.Delay(homeRegion) + 2*farthest
		say(out, "chain      %8s, so %.2f times the longest chain of dependent calls (goal: 1.3)\n", chain, median.took.Seconds()/chain.Seconds())
	}
	say(out, "calls      %d regions, %d to %d a region, %d in %s; %d made twice\n", len(perRegion), fewest, most, perRegion[homeRegion], homeRegion, twice)
}
