// Command awssim serves a simulated AWS on loopback, for tests and for trying
// what nobody wants to pay for. README.md says what it can do.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/trainyard/trainyard/test/awssim/sim"
	"github.com/trainyard/trainyard/test/awssim/world"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "awssim:", err)
		stop()
		os.Exit(1)
	}
}

// run serves until the context ends.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("awssim", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := flags.String("listen", "127.0.0.1:0", "loopback `address` to serve on")
	seedFile := flags.String("seed", "", "JSON `file` with the world as it begins; README.md describes it")
	latency := flags.Bool("latency", false, "answer as slowly as each region is far, 30 to 300 ms")
	limits := flags.Bool("limits", false, "throttle as AWS's documentation says")
	if err := flags.Parse(args); err != nil {
		return err
	}
	seed := world.Default()
	if *seedFile != "" {
		var err error
		if seed, err = readSeed(*seedFile); err != nil {
			return err
		}
	}
	if *latency {
		seed.Conditions.Latency = append(world.Distances(), seed.Conditions.Latency...)
	}
	if *limits {
		seed.Conditions.Limits = append(world.DocumentedLimits(), seed.Conditions.Limits...)
	}
	server, err := sim.New(ctx, *listen, seed)
	if err != nil {
		return err
	}
	defer server.Close()
	for _, line := range server.Env() {
		if _, err := fmt.Fprintln(stdout, "export", line); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(stderr, "serving AWS on %s; its state is at %s/_awssim/state\n", server.URL, server.URL); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func readSeed(path string) (world.Seed, error) {
	file, err := os.Open(path)
	if err != nil {
		return world.Seed{}, fmt.Errorf("reading the seed: %w", err)
	}
	defer file.Close()
	decoder := json.NewDecoder(file)
	decoder.DisallowUnknownFields()
	var seed world.Seed
	if err := decoder.Decode(&seed); err != nil {
		return seed, fmt.Errorf("reading the seed %q: %w", path, err)
	}
	return seed, nil
}
