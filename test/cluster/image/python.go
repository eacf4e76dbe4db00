package image

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
)

// Python is an environment with Ray on this machine.
type Python struct {
	Interpreter string   // of the environment
	Folders     []string // that it consists of, to be mounted where they are
}

// NewPython asks an interpreter where its parts are.
func NewPython(ctx context.Context, interpreter string) (Python, error) {
	out, err := output(ctx, interpreter, "-c", "import json, sys; print(json.dumps([sys.prefix, sys.base_prefix]))")
	if err != nil {
		return Python{}, err
	}
	p := Python{Interpreter: interpreter}
	if err := json.Unmarshal([]byte(out), &p.Folders); err != nil {
		return Python{}, fmt.Errorf("reading the folders of %s: %w", interpreter, err)
	}
	p.Folders = slices.Compact(p.Folders)
	return p, nil
}

func (p Python) bin() string { return filepath.Dir(p.Interpreter) }
