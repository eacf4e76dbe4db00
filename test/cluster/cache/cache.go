// Package cache keeps what takes long to make: folders that are complete or not
// there, and that two programs never make at once.
package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// Dir is where the cache is: TRAINYARD_TEST_CACHE where that is set, else a
// folder in the user's cache.
func Dir() (string, error) {
	if dir := os.Getenv("TRAINYARD_TEST_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "trainyard-test"), err
}

// Ensure lets fill fill a new folder, which becomes dir when it is complete,
// unless dir is there. tell is called with a line before and after that, for
// people: what says what is made.
func Ensure(ctx context.Context, dir, what string, tell func(string), fill func(unfinished string) error) error {
	if exists(dir) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	unlock, err := lock(ctx, dir+".lock", func() { tell("waiting for another that is building " + what) })
	if err != nil {
		return err
	}
	defer unlock()
	if exists(dir) { // the other one made it
		return nil
	}
	began := time.Now()
	tell("building " + what + ", once")
	unfinished := dir + ".unfinished" // only the holder of the lock touches it
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	if err := os.Mkdir(unfinished, 0o755); err != nil {
		return err
	}
	if err := fill(unfinished); err != nil {
		return errors.Join(err, os.RemoveAll(unfinished))
	}
	tell(fmt.Sprintf("built %s in %s", what, time.Since(began).Round(time.Second)))
	return os.Rename(unfinished, dir)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// lock waits for the lock file at path; busy is called where it is held.
func lock(ctx context.Context, path string, busy func()) (unlock func(), err error) {
	l := flock.New(path)
	held, err := l.TryLock()
	if err == nil && !held {
		busy()
		_, err = l.TryLockContext(ctx, time.Second/5)
	}
	return func() { _ = l.Unlock() }, err
}
