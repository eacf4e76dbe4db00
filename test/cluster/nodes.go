package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/trainyard/trainyard/test/cluster/controlplane"
	"github.com/trainyard/trainyard/test/cluster/image"
	"github.com/trainyard/trainyard/test/cluster/machine"
)

// checkNodes says at once what real nodes lack.
func checkNodes(n int) error {
	if n == 0 {
		return nil
	}
	if err := machine.Check(image.Programs...); err != nil {
		return fmt.Errorf("starting real nodes:\n%w", err)
	}
	return nil
}

// withNodes adds real nodes to the options of a cluster, and returns the
// variables that tell a command of their image.
func withNodes(ctx context.Context, options *controlplane.Options, n int, root, layer string) ([]string, error) {
	interpreter, err := python(ctx, root)
	if err != nil {
		return nil, err
	}
	env, err := image.NewPython(ctx, interpreter)
	if err != nil {
		return nil, err
	}
	archive := filepath.Join(options.Dir, "image.tar")
	if err := image.Write(archive, layer, env); err != nil {
		return nil, err
	}
	options.Nodes, options.Image, options.ImageName = n, archive, image.Name
	options.OperatorEnv = nil // there is a Ray in these pods
	return []string{
		"TRAINYARD_TEST_IMAGE=" + image.Name,
		"TRAINYARD_TEST_MOUNTS=" + strings.Join(env.Folders, string(os.PathListSeparator)),
		"TRAINYARD_TEST_PYTHON=" + interpreter,
	}, nil
}

// python returns the interpreter that a withray around this program names, or
// that of the environment of trainyard train.
func python(ctx context.Context, root string) (string, error) {
	if interpreter := os.Getenv("TRAINYARD_TEST_PYTHON"); interpreter != "" {
		return interpreter, nil
	}
	cmd := exec.CommandContext(ctx, "go", "run", "./test/python")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopPatience
	out, err := cmd.Output()
	interpreter := strings.TrimSpace(string(out))
	if err == nil && interpreter == "" {
		err = errors.New("it printed nothing")
	}
	if err != nil {
		return "", fmt.Errorf("finding the Python with Ray: %w", err)
	}
	return interpreter, nil
}
