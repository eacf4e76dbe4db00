package local

import (
	"net"
	"slices"
	"testing"
)

func TestFreePorts(t *testing.T) {
	ports, err := freePorts(20)
	if err != nil {
		t.Fatal(err)
	}
	if len(ports) != 20 || len(slices.Compact(slices.Sorted(slices.Values(ports)))) != 20 {
		t.Fatalf("ports %v, want 20 different ones", ports)
	}
	for _, port := range ports {
		if port < firstPort || port > lastPort {
			t.Errorf("port %d is one that connections going out may take", port)
		}
		l, err := net.Listen("tcp", loopback(port))
		if err != nil {
			t.Errorf("port %d is not free: %v", port, err)
			continue
		}
		_ = l.Close()
	}
}
