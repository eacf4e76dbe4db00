// Python prints the interpreter of the environment that trainyard train uses,
// which it makes where it is missing. Tests of other modules ask it.
//
//	go run ./test/python
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/trainyard/trainyard/internal/pyenv"
	"github.com/trainyard/trainyard/train"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "python:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	last := ""
	env, err := pyenv.Ensure(ctx, pyenv.Spec{
		Lock: train.Lock(), CacheDir: filepath.Join(cache, "trainyard"), Environ: os.Environ(),
	}, func(p pyenv.Progress) {
		if p.Text != last { // each stage once
			fmt.Fprintln(os.Stderr, "python:", p.Text)
		}
		last = p.Text
	})
	if err != nil {
		return err
	}
	fmt.Println(env.Python)
	return nil
}
