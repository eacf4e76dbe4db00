package controlplane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// lifetime of certificates, unless a user asks for another.
const lifetime = 24 * time.Hour

// pki is the certificate authority of one cluster. Everything that a part reads
// from a file is in dir.
type pki struct {
	dir string
	ca  *x509.Certificate
	key crypto.Signer
	pem []byte // the authority's certificate in PEM
}

// newPKI makes an authority and writes, below dir, ca.crt and ca.key, sa.key for
// tokens of service accounts, and serving.crt and serving.key for what listens on
// loopback or on host.
func newPKI(dir, host string) (*pki, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	ca, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "trainyard-test"}, key)
	if err != nil {
		return nil, err
	}
	p := &pki{dir: dir, ca: ca, key: key}
	if p.pem, err = cert.EncodeCertificates(ca); err != nil {
		return nil, err
	}
	serving, servingKey, err := p.issue(x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.ParseIP(loopback), net.ParseIP(serviceIP), net.ParseIP(host)},
	})
	if err != nil {
		return nil, err
	}
	tokens, err := newKey()
	if err != nil {
		return nil, err
	}
	return p, p.write(serving, servingKey, tokens)
}

func (p *pki) write(serving, servingKey []byte, tokens *ecdsa.PrivateKey) error {
	caKey, err := keyutil.MarshalPrivateKeyToPEM(p.key)
	if err != nil {
		return err
	}
	tokenKey, err := keyutil.MarshalPrivateKeyToPEM(tokens)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"ca.crt": p.pem, "ca.key": caKey,
		"sa.key":      tokenKey,
		"serving.crt": serving, "serving.key": servingKey,
	} {
		if err := os.WriteFile(p.path(name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (p *pki) path(name string) string { return filepath.Join(p.dir, name) }

// issue signs a certificate for a new key and returns both in PEM. A template
// that does not say until when it holds gets a lifetime.
func (p *pki) issue(template x509.Certificate) (certificate, key []byte, err error) {
	private, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, err
	}
	template.SerialNumber = serial
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.NotBefore = p.ca.NotBefore
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(lifetime)
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, p.ca, private.Public(), p.key)
	if err != nil {
		return nil, nil, err
	}
	signed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, err
	}
	if certificate, err = cert.EncodeCertificates(signed); err != nil {
		return nil, nil, err
	}
	key, err = keyutil.MarshalPrivateKeyToPEM(private)
	return certificate, key, err
}

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }
