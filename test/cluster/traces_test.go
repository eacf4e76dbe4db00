package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// traces are what a program with real nodes could leave on a machine.
type traces map[string]bool

// look lists mounts, network interfaces, namespaces in which a process is,
// cgroups, folders, and settings of the kernel.
func look(t *testing.T) traces {
	t.Helper()
	found := traces{}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		found["mount "+strings.TrimSpace(line)] = true
	}
	for _, pattern := range []string{
		"/sys/class/net/*", "/sys/fs/cgroup/*/trainyard*", "/sys/fs/cgroup/trainyard*", "/run/netns/*", "/run/containerd",
		"/var/lib/*", "/var/log/pods", "/var/log/containers", "/opt/*", "/etc/cni",
	} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			found[path] = true
		}
	}
	for _, kind := range []string{"mnt", "net", "pid"} {
		links, _ := filepath.Glob("/proc/[0-9]*/ns/" + kind)
		for _, link := range links {
			if namespace, err := os.Readlink(link); err == nil { // the process has not ended
				found["namespace "+namespace] = true
			}
		}
	}
	for _, setting := range []string{"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "net/ipv4/ip_forward"} {
		value, err := os.ReadFile("/proc/sys/" + setting)
		if err != nil {
			t.Fatal(err)
		}
		found[setting+" = "+string(value)] = true
	}
	return found
}

// compare waits until no trace is left that was not there before.
func (before traces) compare(t *testing.T) {
	t.Helper()
	eventually(t, func(context.Context) string {
		var left []string
		for trace := range look(t) {
			if !before[trace] {
				left = append(left, trace)
			}
		}
		return strings.Join(left, "\n")
	})
}
