package pyenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// installer fills one building folder.
type installer struct {
	uv       uv
	dir      string
	python   string // the interpreter to install for
	spec     Spec
	progress func(Progress)
}

// install makes the virtual environment and installs the lock file in it.
func (in installer) install(ctx context.Context, base python) error {
	in.progress(Progress{Text: fmt.Sprintf("creating environment with Python %s", base.Version)})
	venv := command{
		argv: []string{in.uv.path, "venv", "--quiet", "--relocatable", "--python", base.Executable, in.dir},
		env:  uvEnviron(in.spec.Environ),
		dir:  filepath.Dir(in.dir), // where no uv.toml or pyproject.toml of the user's project is found
	}
	if err := in.run(ctx, venv, nil); err != nil {
		return fmt.Errorf("creating environment: %w", err)
	}
	if in.spec.TorchIndex != "" {
		return in.installWithIndex(ctx)
	}
	return in.installLocked(ctx, in.spec.Lock)
}

// installLocked installs all of lock, and nothing whose hash it does not have.
func (in installer) installLocked(ctx context.Context, lock []byte, options ...string) error {
	file := filepath.Join(in.dir, "requirements.lock")
	if err := os.WriteFile(file, lock, 0o644); err != nil {
		return fmt.Errorf("writing lock file: %w", err)
	}
	args := append([]string{"--require-hashes", "-r", file}, options...)
	if err := in.pip(ctx, uvEnviron(in.spec.Environ), args...); err != nil {
		return fmt.Errorf("installing packages: %w", err)
	}
	return nil
}

// installWithIndex installs the lock file without PyTorch, then PyTorch at the
// locked version from the other index. What it needs and the lock file has is
// there by then and stays; the rest comes from that index too. Packages of the
// lock file that need PyTorch cannot be checked for it in the first step, so
// uv is told to take the file as it is.
func (in installer) installWithIndex(ctx context.Context) error {
	reqs := parseLock(in.spec.Lock)
	version := lockedVersion(reqs, "torch")
	if version == "" {
		return errors.New("replacing PyTorch's build: the lock file has no torch")
	}
	if err := in.installLocked(ctx, withoutTorch(reqs), "--no-deps"); err != nil {
		return err
	}
	shown := redactURL(in.spec.TorchIndex)
	in.progress(Progress{Text: fmt.Sprintf("installing torch %s from %s, without hashes", version, shown)})
	err := in.pip(ctx, onlyIndex(in.spec.Environ, in.spec.TorchIndex), "torch=="+version)
	if err != nil {
		return fmt.Errorf("installing torch from %s: %w", shown, err)
	}
	return nil
}

// pip runs `uv pip install` for the environment.
func (in installer) pip(ctx context.Context, env []string, args ...string) error {
	install := []string{in.uv.path, "pip", "install", "--python", in.python, "--compile-bytecode"}
	return in.follow(ctx, command{argv: append(install, args...), env: env})
}

// follow runs an installation and reports what it does.
func (in installer) follow(ctx context.Context, c command) error {
	meter := newMeter(in.progress, in.dir, in.cacheDir(ctx))
	c.dir, c.tick = filepath.Dir(in.dir), meter.tick
	return in.run(ctx, c, meter.line)
}

// run runs uv, keeps what it says, and turns a failure into one line.
func (in installer) run(ctx context.Context, c command, line func(string)) error {
	var log installLog
	c.line = func(s string) {
		log.add(s)
		if line != nil {
			line(s)
		}
	}
	_, err := c.run(ctx)
	return log.explain(err)
}

// cacheDir is where uv unpacks what it downloads, empty where it does not say.
func (in installer) cacheDir(ctx context.Context) string {
	out, err := command{argv: []string{in.uv.path, "cache", "dir"}, env: uvEnviron(in.spec.Environ), dir: filepath.Dir(in.dir)}.run(ctx)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out)
}
