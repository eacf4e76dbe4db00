package kube

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
)

// transportWords is about a request that got no answer.
func (c *Cluster) transportWords(err error) (text, hint string) {
	if _, why, ok := strings.Cut(err.Error(), "getting credentials: "); ok {
		return c.pluginWords(why)
	}
	var (
		record   tls.RecordHeaderError
		unverify *tls.CertificateVerificationError
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
		invalid  x509.CertificateInvalidError
		request  *url.Error
		network  net.Error
		syntax   *json.SyntaxError
	)
	switch {
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return fmt.Sprintf("what answers at %s does not speak TLS", c.Server), "check the server's address in the kubeconfig, and proxies on the way"
	case errors.As(err, &unverify), errors.As(err, &unknown), errors.As(err, &hostname), errors.As(err, &invalid):
		return fmt.Sprintf("the certificate of the API server at %s is not to be trusted: %s", c.Server, innermost(err)),
			"the kubeconfig may be of an older cluster at the same address; have it written anew"
	case errors.As(err, &syntax):
		return fmt.Sprintf("what answers at %s is no Kubernetes API server: %s", c.Server, syntax), "check the server's address in the kubeconfig, and proxies on the way"
	case errors.As(err, &network), errors.As(err, &request), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Sprintf("the API server at %s cannot be reached: %s", c.Server, innermost(err)),
			"see that the cluster runs and that this machine may reach it: VPN, proxy, a private endpoint"
	}
	return "", ""
}

// pluginWords is about the program that the kubeconfig runs for credentials.
func (c *Cluster) pluginWords(why string) (text, hint string) {
	command := "a program"
	if plugin := c.Config.ExecProvider; plugin != nil {
		command = fmt.Sprintf("%q", plugin.Command)
		hint = "run it by hand to see more, and log in again: " + strings.TrimSpace(plugin.Command+" "+strings.Join(plugin.Args, " "))
		if plugin.InstallHint != "" && strings.Contains(why, "not found") {
			hint = strings.TrimSpace(plugin.InstallHint)
		}
	}
	why, _, _ = strings.Cut(strings.TrimPrefix(why, "exec: "), "\n")
	return fmt.Sprintf("getting credentials from %s, which context %q uses: %s", command, c.Context, why), hint
}

// innermost returns the text of the error at the bottom of a chain, which says
// why without where.
func innermost(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error()
}
