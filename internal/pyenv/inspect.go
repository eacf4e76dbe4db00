package pyenv

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/trainyard/trainyard/internal/fault"
)

// Ray 2.52 is the first with token authentication, without which everybody who
// reaches its ports may run code.
const minRayMinor = 52

//go:embed inspect.py
var inspectScript string

// inspection is what inspect.py prints.
type inspection struct {
	Python       string            `json:"python"`
	Prefix       string            `json:"prefix"`
	Ray          string            `json:"ray"`
	Torch        string            `json:"torch"`
	Transformers string            `json:"transformers"`
	Errors       map[string]string `json:"errors"` // by module
}

// Inspect checks an interpreter of the user's own: that it has Ray 2.52 or
// newer, with its dashboard and with Ray Train. It starts the interpreter once,
// imports these, which takes two or three seconds, and changes nothing. name
// is a path or a name on PATH; environ is the caller's environment, left as it
// is, as the jobs will see it.
func Inspect(ctx context.Context, name string, environ []string) (Env, error) {
	path, err := lookPath(name, lookupEnv(environ, "PATH"))
	if err != nil {
		return Env{}, fault.WithHint("give the interpreter of an environment that has Ray, such as venv/bin/python", err)
	}
	env, err := inspect(ctx, path, environ)
	if errors.Is(err, errUnfit) {
		return Env{}, fault.WithHint(
			fmt.Sprintf("install it there: %s -m pip install 'ray[default,train]>=2.%d'", path, minRayMinor), err)
	}
	env.Explicit = true
	return env, err
}

// errUnfit marks a Python without a Ray that can be used.
var errUnfit = errors.New("it has no Ray that can be used")

func inspect(ctx context.Context, path string, environ []string) (Env, error) {
	out, err := command{argv: []string{path, "-"}, env: environ, stdin: inspectScript}.run(ctx)
	if err != nil {
		return Env{}, fmt.Errorf("inspecting %q: %w", path, err)
	}
	var found inspection
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		return Env{}, fmt.Errorf("inspecting %q: it is no Python 3: %w", path, err)
	}
	if err := found.problems(); err != nil {
		return Env{}, fmt.Errorf("inspecting %q (Python %s): %w: %w", path, found.Python, errUnfit, err)
	}
	return Env{
		Dir:                 found.Prefix,
		Python:              path,
		PythonVersion:       found.Python,
		RayVersion:          found.Ray,
		TorchVersion:        found.Torch,
		TransformersVersion: found.Transformers,
	}, nil
}

// extras are the parts of Ray that its modules come with.
var extras = map[string]string{
	"ray.dashboard.optional_deps": "the dashboard, of ray[default],",
	"ray.train":                   "Ray Train, of ray[train],",
}

// problems joins all reasons why trainyard cannot work with this Ray.
func (i inspection) problems() error {
	if i.Ray == "" {
		return errors.New("no package ray")
	}
	var errs []error
	if !rayHasTokens(i.Ray) {
		errs = append(errs, fmt.Errorf("ray %s is too old: token authentication came with 2.%d", i.Ray, minRayMinor))
	}
	for _, module := range slices.Sorted(maps.Keys(i.Errors)) {
		part, ok := extras[module]
		if !ok {
			part = "Ray"
		}
		errs = append(errs, fmt.Errorf("%s cannot be imported: %s", part, i.Errors[module]))
	}
	return errors.Join(errs...)
}

// rayHasTokens compares "2.58.0", "2.60.0rc1" and "3.0.0.dev0" alike.
func rayHasTokens(version string) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	if err1 != nil || err2 != nil {
		return false
	}
	return major > 2 || major == 2 && minor >= minRayMinor
}
