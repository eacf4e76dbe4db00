package machine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/wait"
)

// A Cgroup is a control group of this program's, in every hierarchy, for those
// of nodes. It is the one thing that Linux does not take away with a program
// that was killed; the next NewCgroup does.
type Cgroup struct{ name string }

const (
	cgroupPrefix   = "trainyard-test-" // and the owner
	cgroupPatience = 20 * time.Second  // for processes to end that were killed
)

// NewCgroup makes a group for n nodes, and removes those of programs that are no
// more.
func NewCgroup(ctx context.Context, n int) (Cgroup, error) {
	self, err := owner()
	if err != nil {
		return Cgroup{}, err
	}
	c := Cgroup{cgroupPrefix + self}
	roots, err := hierarchies()
	if err != nil {
		return c, err
	}
	if err := sweep(ctx, roots); err != nil {
		return c, err
	}
	for _, root := range roots {
		for i := range n {
			if err := makeGroup(root, c.Node(i)); err != nil {
				return c, fmt.Errorf("making a cgroup: %w", err)
			}
		}
	}
	return c, nil
}

// Node is the path of a node's group below each hierarchy.
func (c Cgroup) Node(i int) string { return fmt.Sprintf("/%s/node-%d", c.name, i) }

// Remove removes the group, in which no process runs any more or will soon.
func (c Cgroup) Remove(ctx context.Context) error {
	if c.name == "" {
		return nil
	}
	roots, err := hierarchies()
	if err != nil {
		return err
	}
	for i := range roots {
		roots[i] = filepath.Join(roots[i], c.name)
	}
	return remove(ctx, roots)
}

// sweep removes the groups of programs that have ended.
func sweep(ctx context.Context, roots []string) error {
	var ownerless []string
	for _, root := range roots {
		dirs, err := filepath.Glob(filepath.Join(root, cgroupPrefix+"*"))
		if err != nil {
			return err
		}
		for _, dir := range dirs {
			if ended(strings.TrimPrefix(filepath.Base(dir), cgroupPrefix)) {
				ownerless = append(ownerless, dir)
			}
		}
	}
	return remove(ctx, ownerless)
}

// remove removes groups as soon as their processes have ended.
func remove(ctx context.Context, dirs []string) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, cgroupPatience, true, func(context.Context) (bool, error) {
		var problems []error
		for _, dir := range dirs {
			problems = append(problems, removeTree(dir))
		}
		last = errors.Join(problems...)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("removing cgroups: %w: %w", err, last)
	}
	return nil
}

// hierarchies returns where cgroups are mounted: one folder for each hierarchy
// of version 1, and the one of version 2, in which runc, too, makes a group
// wherever there is one.
func hierarchies() ([]string, error) {
	mounts, err := os.Open("/proc/mounts")
	if err != nil {
		return nil, err
	}
	defer mounts.Close()
	var found []string
	lines := bufio.NewScanner(mounts)
	for lines.Scan() {
		if f := strings.Fields(lines.Text()); len(f) > 2 && (f[2] == "cgroup" || f[2] == "cgroup2") {
			found = append(found, f[1])
		}
	}
	err = lines.Err()
	if err == nil && len(found) == 0 {
		err = errors.New("cgroups are not mounted")
	}
	return found, err
}

// makeGroup makes the group at path and those above it. In version 1 one that
// may use no CPU and no memory holds no process, and so a new one is.
func makeGroup(root, path string) error {
	dir := root
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		above := dir
		dir = filepath.Join(dir, name)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if err := inherit(above, dir, file); err != nil {
				return err
			}
		}
	}
	return nil
}

func inherit(above, dir, file string) error {
	content, err := os.ReadFile(filepath.Join(above, file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a hierarchy of other things
	}
	if err == nil && len(strings.TrimSpace(string(content))) > 0 {
		err = os.WriteFile(filepath.Join(dir, file), content, 0o644)
	}
	return err
}

// removeTree removes a group and those in it; the files there go with them.
func removeTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := removeTree(filepath.Join(dir, entry.Name())); err != nil {
				return err
			}
		}
	}
	if err := unix.Rmdir(dir); err != nil && err != unix.ENOENT {
		return fmt.Errorf("removing %s: %w", dir, err)
	}
	return nil
}

func checkCgroups() error {
	_, err := hierarchies()
	return err
}
