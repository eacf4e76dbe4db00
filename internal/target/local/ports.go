package local

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports for Ray lie below those that systems give to connections that go out
// (Linux from 32768 on, macOS from 49152): between our choice and the moment at
// which Ray listens, seconds later, such a connection would take one away.
const (
	firstPort = 20000
	lastPort  = 32767
	portTries = 1000
)

// freePorts finds n ports on loopback that nobody uses. All are held until the
// last is found, so that no two are the same.
func freePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	var last error
	for range portTries {
		if len(ports) == n {
			return ports, nil
		}
		port := firstPort + rand.N(lastPort-firstPort+1)
		l, err := net.Listen("tcp", loopback(port)) //nolint:noctx // local and at once
		if err != nil {
			last = err
			continue
		}
		defer l.Close() // all are held to the end
		ports = append(ports, port)
	}
	return nil, fmt.Errorf("finding %d free ports from %d to %d: %w", n, firstPort, lastPort, last)
}
