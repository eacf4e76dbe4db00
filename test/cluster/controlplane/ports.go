package controlplane

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// loopback is the one address that everything listens on.
const loopback = "127.0.0.1"

// Ports are taken from below the range from which systems give ports to outgoing
// connections, so that none takes one while the part that owns it restarts.
const firstPort, lastPort = 20000, 32000

// freePorts returns n different ports that nothing listens on.
func freePorts(ctx context.Context, n int) ([]int, error) {
	var ports []int
	var held []net.Listener
	defer func() {
		for _, l := range held {
			_ = l.Close()
		}
	}()
	for try := 0; len(ports) < n; try++ {
		if try > 100*n {
			return nil, errors.New("finding free ports: all that were tried are taken")
		}
		port := firstPort + rand.IntN(lastPort-firstPort)
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address(port))
		if err != nil {
			continue
		}
		held, ports = append(held, l), append(ports, port)
	}
	return ports, nil
}

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

func httpURL(port int) string  { return fmt.Sprintf("http://%s", address(port)) }
func httpsURL(port int) string { return fmt.Sprintf("https://%s", address(port)) }
