package controlplane

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"os"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// A User is someone who may log in, with the rights that RBAC gives to the name
// and the groups: none, at first.
type User struct {
	Name      string
	Groups    []string
	Namespace string    // of the context; may be empty
	NotAfter  time.Time // when the certificate ends, the past included; zero is a day from now
}

// admin may do everything.
var admin = User{Name: "admin", Groups: []string{"system:masters"}}

// KubeconfigFor returns a kubeconfig, complete in itself, for a user.
func (c *Cluster) KubeconfigFor(u User) ([]byte, error) {
	certificate, key, err := c.pki.issueClient(u)
	if err != nil {
		return nil, err
	}
	const name = "trainyard-test"
	config := api.NewConfig()
	config.Clusters[name] = &api.Cluster{Server: c.server(), CertificateAuthorityData: c.pki.pem}
	config.AuthInfos[u.Name] = &api.AuthInfo{ClientCertificateData: certificate, ClientKeyData: key}
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: u.Name, Namespace: u.Namespace}
	config.CurrentContext = name
	return clientcmd.Write(*config)
}

// writeAdmin writes the administrator's kubeconfig, and the certificate by which
// the apiserver talks to kubelets.
func (c *Cluster) writeAdmin() error {
	content, err := c.KubeconfigFor(admin)
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.Kubeconfig(), content, 0o600); err != nil {
		return err
	}
	certificate, key, err := c.pki.issueClient(admin)
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.pki.path("admin.crt"), certificate, 0o600); err != nil {
		return err
	}
	return os.WriteFile(c.pki.path("admin.key"), key, 0o600)
}

func (p *pki) issueClient(u User) (certificate, key []byte, err error) {
	return p.issue(x509.Certificate{
		Subject:     pkix.Name{CommonName: u.Name, Organization: u.Groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotAfter:    u.NotAfter,
	})
}
