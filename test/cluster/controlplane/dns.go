package controlplane

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// dns is the part by which pods of real nodes find each other.
const dns = "dns"

// dnsHealth is the port on which it says that it is well.
const dnsHealth = "8080"

// makeDNS writes CoreDNS's configuration and makes it a part of the cluster.
func (c *Cluster) makeDNS() error {
	address := c.network.DNS().String()
	corefile := fmt.Sprintf(`cluster.local in-addr.arpa {
	bind %[1]s
	errors
	health %[1]s:%[2]s
	kubernetes cluster.local in-addr.arpa {
		kubeconfig %[3]s
	}
	cache 1
}
`, address, dnsHealth, c.Kubeconfig())
	path := c.path("Corefile")
	if err := os.WriteFile(path, []byte(corefile), 0o600); err != nil {
		return err
	}
	c.addPart(dns, "http://"+net.JoinHostPort(address, dnsHealth)+"/health", nil,
		filepath.Join(c.options.Binaries.CoreDNS, "coredns"), "-conf", path)
	c.parts[dns].spawn = c.network.Start
	return nil
}
