package kube

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// expired says which of the credentials in a configuration is past its end and
// since when; "" where none is, as far as they tell.
func expired(config *rest.Config) string {
	for _, c := range []struct {
		what string
		end  time.Time
	}{
		{"its client certificate", certificateEnd(config.TLSClientConfig)},
		{"its token", tokenEnd(config.BearerToken)},
	} {
		if !c.end.IsZero() && c.end.Before(time.Now()) {
			return fmt.Sprintf("%s expired at %s", c.what, c.end.UTC().Format(time.RFC3339))
		}
	}
	return ""
}

// certificateEnd returns until when the client certificate is valid, or zero.
func certificateEnd(config rest.TLSClientConfig) time.Time {
	data := config.CertData
	if len(data) == 0 && config.CertFile != "" {
		data, _ = os.ReadFile(config.CertFile) // without it there is nothing to say
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return time.Time{}
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}
	}
	return certificate.NotAfter
}

// tokenEnd returns until when a JSON web token is valid, or zero: other tokens
// do not tell.
func tokenEnd(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}
	}
	var claims struct {
		Expires int64 `json:"exp"` // seconds since 1970
	}
	if json.Unmarshal(payload, &claims) != nil || claims.Expires == 0 {
		return time.Time{}
	}
	return time.Unix(claims.Expires, 0)
}
