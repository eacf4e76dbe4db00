package pyenv

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/google/renameio/v2"

	"github.com/trainyard/trainyard/internal/fault"
)

// EnsurePackages returns a folder that has what env lacks of requirements, for
// PYTHONPATH, and makes it where it does not exist. It is empty where env has
// everything. A package that env has in a version that does not fit is in the
// folder in one that does, and comes first on the path; PyTorch is not
// installed again because something needs it. Programs of the packages are in
// the folder's bin and run with env's Python. env itself is never changed.
//
// A requirement is what pip takes: a name, versions, extras and markers, a
// URL, or a file or folder of this machine, relative to the current folder.
// [CheckRequirements] says what is refused.
//
// The folder lies below spec.CacheDir, under the hash of what env
// has and of the requirements as they are written, with the content of files
// and folders in place of their names. So an edited folder is installed again,
// and "einops" stays at the version of its first installation until the cached
// folder is removed, as does a branch behind a URL. Folders that a folder
// needs in its turn are not looked into.
//
// Of spec only CacheDir and Environ are used. Like an environment, the folder
// is there whole or not at all, and two processes make it once.
func EnsurePackages(ctx context.Context, spec Spec, env Env, requirements []string, progress func(Progress)) (dir string, err error) {
	if progress == nil {
		progress = func(Progress) {}
	}
	reqs, err := parseRequests(requirements)
	if err != nil || len(reqs) == 0 {
		return "", err
	}
	o, err := newOverlay(ctx, spec, env, reqs, progress)
	if err != nil {
		return "", err
	}
	dir, err = o.make(ctx)
	if err != nil {
		return "", o.explain(err)
	}
	return dir, nil
}

// overlay is a folder of packages in the making.
type overlay struct {
	store    store
	env      Env
	requests []request
	in       installer
}

func newOverlay(ctx context.Context, spec Spec, env Env, reqs []request, progress func(Progress)) (overlay, error) {
	dir, err := filepath.Abs(spec.CacheDir)
	if err != nil {
		return overlay{}, fmt.Errorf("finding cache folder %q: %w", spec.CacheDir, err)
	}
	spec.CacheDir = dir
	folder, err := openStore(filepath.Join(dir, "packages"))
	if err != nil {
		return overlay{}, err
	}
	base, err := probe(ctx, env.Python, spec.Environ)
	if err != nil {
		return overlay{}, err
	}
	uv, err := findUV(ctx, spec, base, progress)
	if err != nil {
		return overlay{}, err
	}
	in := installer{uv: uv, dir: folder.dir, python: env.Python, spec: spec, progress: progress}
	return overlay{store: folder, env: env, requests: reqs, in: in}, nil
}

// make returns the finished folder, empty where none is needed.
func (o overlay) make(ctx context.Context) (string, error) {
	key, err := o.key(ctx)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(o.store.dir, key)
	ready := func() bool { info, err := os.Stat(dir); return err == nil && info.IsDir() }
	if ready() {
		return dir, nil
	}
	missing, err := o.missing(ctx)
	if err != nil || len(missing) == 0 {
		return "", err
	}
	err = o.store.once(ctx, key, entry{
		ready: ready,
		waits: func() { o.in.progress(Progress{Text: "waiting for another trainyard that installs these packages"}) },
		build: func(staging string) error { return o.build(ctx, staging, missing) },
	})
	if err != nil {
		return "", err
	}
	return dir, nil
}

// key names the folder. What env has is asked for each time, since somebody
// may install packages in an environment of their own.
func (o overlay) key(ctx context.Context) (string, error) {
	installed, err := command{
		argv: []string{o.in.uv.path, "pip", "freeze", "--python", o.env.Python},
		env:  uvEnviron(o.in.spec.Environ),
		dir:  o.store.dir,
	}.run(ctx)
	if err != nil {
		return "", fmt.Errorf("listing packages: %w", err)
	}
	parts := []string{runtime.GOOS, runtime.GOARCH, o.env.Python, o.env.PythonVersion, installed}
	for _, r := range o.requests {
		text, err := r.identity(ctx)
		if err != nil {
			return "", err
		}
		parts = append(parts, text)
	}
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s\n", len(part), part)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), nil
}

// missing asks uv what is to be installed, as requirements with one version
// each. The trial run changes nothing, so it may look at a system's Python.
func (o overlay) missing(ctx context.Context) ([]string, error) {
	o.in.progress(Progress{Text: "resolving packages"})
	var plan plan
	c := command{
		argv: o.install("--dry-run", "--break-system-packages"),
		env:  uvEnviron(o.in.spec.Environ),
		dir:  o.store.dir,
	}
	for _, r := range o.requests {
		c.argv = append(c.argv, r.text)
	}
	if err := o.in.run(ctx, c, plan.line); err != nil {
		return nil, fmt.Errorf("resolving packages: %w", err)
	}
	return plan.packages(o.requests)
}

// install is the command to which options and packages are added. uv keeps
// what it built from a folder for as long as the folder's metadata is the
// same, which says nothing of its code.
func (o overlay) install(options ...string) []string {
	argv := append([]string{o.in.uv.path, "pip", "install", "--python", o.env.Python}, options...)
	for _, r := range o.requests {
		if r.path != "" {
			return append(argv, "--refresh")
		}
	}
	return argv
}

// build installs packages in staging.
func (o overlay) build(ctx context.Context, staging string, packages []string) error {
	in := o.in
	in.dir = staging
	argv := append(o.install("--no-deps", "--compile-bytecode", "--target", staging), packages...)
	if err := in.follow(ctx, command{argv: argv, env: uvEnviron(in.spec.Environ)}); err != nil {
		return fmt.Errorf("installing packages: %w", err)
	}
	if err := repairScripts(filepath.Join(staging, "bin")); err != nil {
		return fmt.Errorf("installing packages: %w", err)
	}
	return nil
}

// explain adds what to do about a full disk.
func (o overlay) explain(err error) error {
	if !errors.Is(err, errDiskFull) && !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	return fault.WithHint(fmt.Sprintf(
		"free some space: what lies in %q may be removed while no run uses it, or set XDG_CACHE_HOME to a folder on another disk", o.store.dir), err)
}

// plan is what a trial run says it would do.
type plan struct {
	announced int // packages that would be installed
	changes   []change
}

// change is one package that comes or goes.
type change struct {
	sign, name, version string
	url                 string // where the package is not from an index
}

var (
	announcement = regexp.MustCompile(`^Would install (\d+) packages?$`)
	// uv wrote "name==version (from URL)" for some of these before 0.7.
	changeLine = regexp.MustCompile(`^ ([-+~]) ([A-Za-z0-9][A-Za-z0-9._-]*)(?:==(\S+))?(?: @ (\S+)| \(from (\S+)\))?$`)
)

func (p *plan) line(s string) {
	if m := announcement.FindStringSubmatch(s); m != nil {
		p.announced, _ = strconv.Atoi(m[1])
	}
	if m := changeLine.FindStringSubmatch(s); m != nil {
		p.changes = append(p.changes, change{m[1], m[2], m[3], m[4] + m[5]})
	}
}

// packages lists what comes. A Ray that is not the cluster's is refused: the
// two would not understand each other.
func (p *plan) packages(requests []request) ([]string, error) {
	var packages []string
	for _, c := range p.changes {
		switch {
		case c.name == "ray":
			return nil, fault.WithCode(fault.Usage, fault.WithHint(
				"ask for packages that work with that Ray, or give an interpreter that has another one with --python PATH",
				errors.New("resolving packages: these would replace Ray, whose version is the cluster's")))
		case c.sign == "-":
		case c.url != "":
			packages = append(packages, c.name+" @ "+withCredentials(c.url, requests))
		default:
			packages = append(packages, c.name+"=="+c.version)
		}
	}
	if len(packages) != p.announced {
		return nil, fmt.Errorf("resolving packages: uv lists %d of %d in a way that is known", len(packages), p.announced)
	}
	return packages, nil
}

var userinfo = regexp.MustCompile(`//[^/@\s]+@([^/\s]+)`)

// withCredentials gives a URL that uv printed the credentials back, which it
// prints as stars.
func withCredentials(url string, requests []request) string {
	shown := userinfo.FindStringSubmatch(url)
	if shown == nil {
		return url
	}
	for _, r := range requests {
		if given := userinfo.FindStringSubmatch(r.text); given != nil && given[1] == shown[1] {
			return strings.Replace(url, shown[0], given[0], 1)
		}
	}
	return url
}

// besideScript is how a program of a relocatable environment begins to name
// the interpreter beside it. In a folder apart uv writes the interpreter's own
// path after it, which leads nowhere.
const besideScript = `"$(dirname -- "$(realpath -- "$0")")"/'/`

// repairScripts makes the programs in dir find their interpreter.
func repairScripts(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !bytes.HasPrefix(text, []byte("#!/bin/sh\n")) || !bytes.Contains(text, []byte(besideScript)) {
			continue
		}
		text = bytes.Replace(text, []byte(besideScript), []byte("'/"), 1)
		if err := renameio.WriteFile(path, text, 0o755); err != nil {
			return err
		}
	}
	return nil
}
