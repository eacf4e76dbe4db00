package machine

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// owner names this program in what it makes, by process id and time of start:
// ids are given again.
func owner() (string, error) { return ownerOf(os.Getpid()) }

func ownerOf(pid int) (string, error) {
	began, err := started(pid)
	return fmt.Sprintf("%d-%s", pid, began), err
}

// ended says whether the program of that name runs no more. It does not say so
// of a name that it cannot read.
func ended(owner string) bool {
	var pid int
	var began string
	if _, err := fmt.Sscanf(owner, "%d-%s", &pid, &began); err != nil {
		return false
	}
	now, err := started(pid)
	return errors.Is(err, os.ErrNotExist) || (err == nil && now != began)
}

// started returns when a process was started, in ticks since the machine was;
// one that has ended, and that its parent has not waited for, is not there.
func started(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// See proc(5): the second field, in brackets, may hold anything; the third is
	// the first that is read here.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	const state, starttime = 0, 22 - 3
	if len(fields) <= starttime {
		return "", fmt.Errorf("reading /proc/%d/stat: it has %d fields", pid, len(fields))
	}
	if fields[state] == "Z" {
		return "", os.ErrNotExist
	}
	return fields[starttime], nil
}
