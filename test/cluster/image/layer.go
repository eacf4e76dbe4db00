// Package image makes the image of pods in which a real Ray runs: a small Debian
// (or Ubuntu, where this machine is one), and the Python with Ray that this
// machine has, which pods mount from it. So an image is small, whatever Ray and
// PyTorch weigh, and what runs in pods is what runs beside them.
package image

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/trainyard/trainyard/test/cluster/cache"
)

// Programs are those that making an image needs.
var Programs = []string{"debootstrap", "tar", "apt-get"}

// packages are what KubeRay's start command and probes, Ray, and people use, and
// the libraries that a Python which was not built by the distribution needs.
var packages = []string{
	"bash", "ca-certificates", "iproute2", "netbase", "procps", "wget",
	"libbz2-1.0", "libexpat1", "libffi8", "liblzma5", "libncursesw6", "libreadline8",
	"libsqlite3-0", "libssl3", "libstdc++6", "libuuid1", "zlib1g",
}

// unneeded is taken out again.
var unneeded = []string{"dev/*", "usr/share/doc/*", "usr/share/locale/*", "usr/share/man/*", "var/cache/apt/*", "var/lib/apt/lists/*"}

// Layer returns the path of the one layer of images, a tar file, which it makes
// once of the packages of the release that this machine runs: its libraries are
// those that the machine's Python was built with.
func Layer(ctx context.Context, cacheDir string, tell func(string)) (string, error) {
	release, err := osRelease("VERSION_CODENAME")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Append(nil, packages, unneeded))
	dir := filepath.Join(cacheDir, fmt.Sprintf("image-%s-%x", release, sum[:4]))
	err = cache.Ensure(ctx, dir, "an image of "+release, tell, func(unfinished string) error {
		root := filepath.Join(unfinished, "root")
		if err := bootstrap(ctx, release, root); err != nil {
			return err
		}
		if err := pack(ctx, root, filepath.Join(unfinished, "layer.tar")); err != nil {
			return err
		}
		return os.RemoveAll(root)
	})
	return filepath.Join(dir, "layer.tar"), err
}

// bootstrap installs the packages in the new folder root.
func bootstrap(ctx context.Context, release, root string) error {
	mirrors, err := output(ctx, "apt-get", "indextargets", "--format", "$(REPO_URI)", "Codename: "+release, "Identifier: Packages")
	if err != nil {
		return err
	}
	mirror, _, _ := strings.Cut(mirrors, "\n")
	_, err = output(ctx, "debootstrap", "--variant=minbase", "--include="+strings.Join(packages, ","), release, root, mirror)
	return err
}

func pack(ctx context.Context, root, file string) error {
	args := []string{"--create", "--numeric-owner", "--file", file, "--directory", root}
	for _, pattern := range unneeded {
		args = append(args, "--exclude=./"+pattern)
	}
	_, err := output(ctx, "tar", append(args, ".")...)
	return err
}

// output runs a program to its end; what it printed is in the error, too.
func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // debootstrap unmounts what it has mounted
	cmd.WaitDelay = time.Minute
	out, err := cmd.Output()
	text := strings.TrimSpace(string(out))
	if err == nil {
		return text, nil
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		text = strings.TrimSpace(text[max(0, len(text)-1000):] + "\n" + string(exit.Stderr))
	}
	return "", fmt.Errorf("running %s: %w\n%s", name, err, text)
}

// osRelease reads one field of /etc/os-release.
func osRelease(name string) (string, error) {
	content, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(content)) {
		if key, value, _ := strings.Cut(strings.TrimSpace(line), "="); key == name {
			return strings.Trim(value, `"`), nil
		}
	}
	return "", fmt.Errorf("/etc/os-release does not say %s: images are made on Debian and Ubuntu", name)
}
