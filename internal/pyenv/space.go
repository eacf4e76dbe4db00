package pyenv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/trainyard/trainyard/internal/fault"
)

// linkedShare is the part of an environment, one in linkedShare, that takes
// space of its own when uv's cache has all packages on the same disk and can
// link them: the bytecode, mostly. With less than that free no build can end well.
const linkedShare = 12

// checkSpace fails where a build cannot end well, and warns where it can only
// do so because uv's cache may hold the packages already.
func (s Spec) checkSpace(progress func(Progress)) error {
	free, err := freeSpace(s.CacheDir)
	if err != nil {
		return fmt.Errorf("reading free space: %w", err)
	}
	need := s.spaceNeeded()
	switch {
	case free < need/linkedShare:
		return errDiskFull
	case free < need:
		progress(Progress{Text: fmt.Sprintf("%s free in %s, a new environment takes about %s",
			formatBytes(free), s.CacheDir, formatBytes(need))})
	}
	return nil
}

func (s Spec) spaceNeeded() int64 {
	if s.SpaceNeeded != 0 {
		return s.SpaceNeeded
	}
	return defaultSpace
}

// freeSpace returns the bytes that this user may still write below dir.
func freeSpace(dir string) (int64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(fs.Bavail) * int64(fs.Bsize), nil //nolint:unconvert,gosec // the types differ by system
}

var errDiskFull = errors.New("disk is full")

// explain adds what to do about a full disk, once the building folder is gone
// and the free space is what the user will find.
func (s Spec) explain(err error) error {
	full := errors.Is(err, errDiskFull) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
	if !full {
		return err
	}
	free := "unknown"
	if n, err := freeSpace(s.CacheDir); err == nil {
		free = formatBytes(n)
	}
	return fault.WithHint(fmt.Sprintf(
		"free some space: a new environment takes about %s and %q has %s free (uv's own cache of packages may be on another disk); older environments may be removed from that folder, or set XDG_CACHE_HOME to one on another disk",
		formatBytes(s.spaceNeeded()), filepath.Join(s.CacheDir, "environments"), free), err)
}

func formatBytes(n int64) string {
	const units = "kMGT"
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	v, i := float64(n)/1000, 0
	for v >= 1000 && i < len(units)-1 {
		v, i = v/1000, i+1
	}
	s := strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
	return s + " " + units[i:i+1] + "B"
}
