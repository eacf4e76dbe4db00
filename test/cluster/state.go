package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// lockFile is held in a state folder for as long as its cluster runs.
const lockFile = "lock"

// stateDir returns the folder of a new cluster: the empty one that was asked
// for, which remove leaves alone, or a new one below running. Folders there of
// programs that were killed are removed.
func stateDir(running, asked string) (dir string, remove func(), err error) {
	if asked != "" {
		dir, err := filepath.Abs(asked)
		if err != nil {
			return "", nil, err
		}
		return dir, func() {}, makeEmpty(dir)
	}
	if err := os.MkdirAll(running, 0o700); err != nil {
		return "", nil, err
	}
	// One at a time: between its making and its locking a folder has no owner.
	gate := flock.New(filepath.Join(running, lockFile))
	if err := gate.Lock(); err != nil {
		return "", nil, err
	}
	defer func() { _ = gate.Unlock() }()
	if err := sweep(running); err != nil {
		return "", nil, err
	}
	if dir, err = os.MkdirTemp(running, ""); err != nil {
		return "", nil, err
	}
	held := flock.New(filepath.Join(dir, lockFile))
	return dir, func() { _ = os.RemoveAll(dir); _ = held.Unlock() }, held.Lock()
}

func makeEmpty(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("the folder %q is not empty", dir)
	}
	return err
}

// sweep removes the folders below running whose lock nobody holds.
func sweep(running string) error {
	locks, err := filepath.Glob(filepath.Join(running, "*", lockFile))
	if err != nil {
		return err
	}
	var problems []error
	for _, path := range locks {
		l := flock.New(path)
		free, err := l.TryLock()
		if free {
			err = os.RemoveAll(filepath.Dir(path))
			_ = l.Unlock()
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}
