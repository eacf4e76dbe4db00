// Package sigv4 reads and checks AWS's signatures, version 4, which say who
// calls which service in which region, and when.
package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	algorithm = "AWS4-HMAC-SHA256"
	// TimeFormat is the one of X-Amz-Date.
	TimeFormat = "20060102T150405Z"
	dateFormat = "20060102"
)

// Signature is what a request's Authorization says.
type Signature struct {
	AccessKey    string
	Region       string // "us-east-1"
	Service      string // "ec2"
	SessionToken string // of temporary credentials
	Time         time.Time
	Lasts        time.Duration // as a signature in a query says; 0: it does not

	headers   []string // that are signed
	signature string
}

// ErrMissing is the answer of Parse for a request that is not signed.
var ErrMissing = errors.New("the request has no signature")

// Parse reads the signature of a request, from its header or, as in the tokens
// of EKS, from its query.
func Parse(r *http.Request) (Signature, error) {
	if r.URL.Query().Has(queryPrefix + "Signature") {
		return parseQuery(r)
	}
	kind, fields, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if kind == "" {
		return Signature{}, ErrMissing
	}
	if kind != algorithm {
		return Signature{}, fmt.Errorf("the algorithm %q is none of AWS's", kind)
	}
	part := map[string]string{}
	for field := range strings.SplitSeq(fields, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		part[name] = value
	}
	return read(part["Credential"], part["SignedHeaders"], part["Signature"], r.Header.Get("X-Amz-Date"), r.Header.Get("X-Amz-Security-Token"))
}

// queryPrefix is how the parts of a signature are named in a query.
const queryPrefix = "X-Amz-"

// Presigned tells whether a parameter of a query belongs to its signature.
func Presigned(parameter string) bool { return strings.HasPrefix(parameter, queryPrefix) }

func parseQuery(r *http.Request) (Signature, error) {
	part := func(name string) string { return r.URL.Query().Get(queryPrefix + name) }
	s, err := read(part("Credential"), part("SignedHeaders"), part("Signature"), part("Date"), part("Security-Token"))
	seconds, _ := strconv.Atoi(part("Expires")) // without it, it lasts as long as one in the header
	if err == nil && part("Algorithm") != algorithm {
		err = errors.New("the query lacks X-Amz-Algorithm")
	}
	s.Lasts = time.Duration(seconds) * time.Second
	return s, err
}

func read(credential, headers, signature, date, token string) (Signature, error) {
	scope := strings.Split(credential, "/")
	if len(scope) != 5 || scope[4] != "aws4_request" || headers == "" || signature == "" {
		return Signature{}, errors.New("the signature lacks a Credential of five parts, SignedHeaders or itself")
	}
	when, err := time.Parse(TimeFormat, date)
	if err != nil || when.Format(dateFormat) != scope[1] {
		return Signature{}, errors.New("X-Amz-Date is missing or not the date of the Credential")
	}
	return Signature{
		AccessKey: scope[0], Region: scope[2], Service: scope[3], Time: when, SessionToken: token,
		headers: strings.Split(headers, ";"), signature: signature,
	}, nil
}

// Valid tells whether the signature was made of this request with the secret.
func (s Signature) Valid(r *http.Request, body []byte, secret string) bool {
	if !slices.Contains(s.headers, "host") {
		return false
	}
	date := s.Time.Format(dateFormat)
	scope := strings.Join([]string{date, s.Region, s.Service, "aws4_request"}, "/")
	text := strings.Join([]string{algorithm, s.Time.Format(TimeFormat), scope, hash([]byte(s.canonical(r, body)))}, "\n")
	key := []byte("AWS4" + secret)
	for _, part := range []string{date, s.Region, s.Service, "aws4_request"} {
		key = mac(key, part)
	}
	return hmac.Equal([]byte(hex.EncodeToString(mac(key, text))), []byte(s.signature))
}

func (s Signature) canonical(r *http.Request, body []byte) string {
	var headers strings.Builder
	for _, name := range s.headers {
		fmt.Fprintf(&headers, "%s:%s\n", name, header(r, name))
	}
	path := r.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	// All services but S3 sign the path as it is sent, escaped once more.
	return strings.Join([]string{r.Method, escapePath(path), query(r.URL.Query()), headers.String(), strings.Join(s.headers, ";"), hash(body)}, "\n")
}

func header(r *http.Request, name string) string {
	if name == "host" {
		return r.Host
	}
	if name == "content-length" {
		return fmt.Sprint(r.ContentLength)
	}
	values := r.Header.Values(name)
	trimmed := make([]string, len(values))
	for i, v := range values {
		trimmed[i] = strings.Join(strings.Fields(v), " ")
	}
	return strings.Join(trimmed, ",")
}

func escapePath(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = escape(part)
	}
	return strings.Join(parts, "/")
}

func query(values url.Values) string {
	var pairs []string
	for name, list := range values {
		if name == queryPrefix+"Signature" {
			continue
		}
		for _, value := range list {
			pairs = append(pairs, escape(name)+"="+escape(value))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

// escape is AWS's percent-encoding: all but letters, digits and -_.~.
func escape(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func mac(key []byte, text string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return m.Sum(nil)
}
