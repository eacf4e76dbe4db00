package pyenv

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// store is a folder of entries that are whole or absent. Beside an entry NAME
// lie NAME.lock, held by the process that makes it, and while it is made
// NAME.building-PID. Whoever holds the lock knows that no other building
// folder of that entry is in use: the kernel frees the lock of a killed process.
type store struct{ dir string }

// entry says how to make one entry of a store.
type entry struct {
	ready func() bool                // the entry is whole
	waits func()                     // called once where another process holds the lock
	build func(staging string) error // fills staging, which does not exist yet
}

const (
	buildingMark = ".building-"
	lockInterval = 200 * time.Millisecond
)

func openStore(dir string) (store, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		if at, ok := errors.AsType[*fs.PathError](err); ok {
			err = at.Err
		}
		return store{}, notWritable(fmt.Errorf("making cache folder %q: %w", dir, err))
	}
	return store{dir}, nil
}

// once makes the entry called name unless it is ready.
func (s store) once(ctx context.Context, name string, e entry) error {
	lock, err := s.lock(ctx, name, e.waits)
	if err != nil {
		return err
	}
	defer lock.Unlock() //nolint:errcheck // closing the file frees the lock
	if e.ready() {
		return nil
	}
	if err := s.sweep(name); err != nil {
		return err
	}
	staging := s.staging(name)
	if err := errors.Join(e.build(staging), ctx.Err()); err != nil {
		return errors.Join(firstOf(ctx.Err(), err), os.RemoveAll(staging))
	}
	return s.publish(staging, filepath.Join(s.dir, name))
}

// firstOf prefers the end of the context over what followed from it.
func firstOf(ctxErr, err error) error {
	if ctxErr != nil {
		return ctxErr
	}
	return err
}

func (s store) staging(name string) string {
	return filepath.Join(s.dir, fmt.Sprintf("%s%s%d", name, buildingMark, os.Getpid()))
}

func (s store) lock(ctx context.Context, name string, waits func()) (*flock.Flock, error) {
	lock := flock.New(filepath.Join(s.dir, name+".lock"))
	got, err := lock.TryLock()
	if err == nil && !got {
		waits()
		_, err = lock.TryLockContext(ctx, lockInterval)
	}
	switch {
	case ctx.Err() != nil:
		return nil, errors.Join(ctx.Err(), lock.Close())
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS):
		return nil, notWritable(fmt.Errorf("locking cache folder: %w", err))
	case err != nil:
		return nil, fmt.Errorf("locking %q: %w", lock.Path(), err)
	}
	return lock, nil
}

// publish gives a finished folder its name. What was there is renamed before
// it is removed, so that a removal cut short leaves nothing that looks whole.
func (s store) publish(staging, dir string) error {
	broken := staging + "-replaced"
	err := os.Rename(dir, broken)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replacing %q: %w", dir, err)
	}
	if err := os.Rename(staging, dir); err != nil {
		return fmt.Errorf("publishing %q: %w", dir, err)
	}
	if err := os.RemoveAll(broken); err != nil {
		return fmt.Errorf("removing %q: %w", broken, err)
	}
	return nil
}

// sweep removes what killed builds left: of name, whose lock is held, and of
// every entry whose lock is free.
func (s store) sweep(name string) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("listing cache folder: %w", err)
	}
	var errs []error
	for _, entry := range entries {
		owner, _, unfinished := strings.Cut(entry.Name(), buildingMark)
		if unfinished {
			errs = append(errs, s.removeStale(filepath.Join(s.dir, entry.Name()), owner, owner == name))
		}
	}
	return errors.Join(errs...)
}

func (s store) removeStale(dir, owner string, locked bool) error {
	if !locked {
		lock := flock.New(filepath.Join(s.dir, owner+".lock"))
		got, err := lock.TryLock()
		if err != nil || !got {
			return lock.Close()
		}
		defer lock.Unlock() //nolint:errcheck // closing the file frees the lock
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing unfinished build: %w", err)
	}
	return nil
}
