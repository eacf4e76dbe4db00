// Package rayjob speaks the HTTP API of a Ray cluster's dashboard: packages,
// jobs, nodes and logs. It knows nothing of how the cluster came to be; every
// target ends in an address and a token.
//
// The calls are those of Ray 2.58 (dashboard/modules/job, /state and /log in
// its source). The API is not versioned beyond /api/version, so what this
// package relies on without Ray promising it stands beside the code.
package rayjob

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/trainyard/trainyard/internal/wait"
)

const (
	// defaultPatience is how long a call is tried again where the dashboard
	// does not answer.
	defaultPatience = 30 * time.Second
	retryInterval   = 500 * time.Millisecond
	// callTimeout bounds one try of a call that is answered at once.
	callTimeout = 30 * time.Second
)

// Client talks to one dashboard. It is safe for concurrent use.
type Client struct {
	base     *url.URL
	token    string
	patience time.Duration
	http     *http.Client
}

// Options of a Client. The zero value is what commands use.
type Options struct {
	// Patience is how long calls are tried again while the dashboard is not
	// reachable or not ready; 0 means 30 seconds, negative means not at all.
	Patience time.Duration
}

// New returns a client for the dashboard at address, such as
// http://127.0.0.1:8265. An empty token is for clusters without
// authentication. New makes no call.
func New(address, token string, opts Options) (*Client, error) {
	base, err := url.Parse(address)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, fmt.Errorf("using Ray address %q: not of the form http://host:port", address)
	}
	base.Path = strings.TrimSuffix(base.Path, "/")
	patience := opts.Patience
	if patience == 0 {
		patience = defaultPatience
	}
	return &Client{base: base, token: token, patience: patience, http: newHTTPClient()}, nil
}

// newHTTPClient returns a client that goes straight to its host: job servers
// are reached on loopback, where a proxy has no place, and the token must not
// follow a redirect.
func newHTTPClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			MaxIdleConnsPerHost:   16,
			IdleConnTimeout:       30 * time.Second,
			ExpectContinueTimeout: time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Version is the answer of /api/version.
type Version struct {
	Ray     string `json:"ray_version"`
	Session string `json:"session_name"` // changes where the head was restarted
}

// Version asks which Ray the cluster runs. It is the cheapest call that needs
// the token, and so also the check that cluster and token are right.
func (c *Client) Version(ctx context.Context) (Version, error) {
	var v Version
	return v, c.get(ctx, "/api/version", nil, &v)
}

func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	return c.retry(ctx, func(ctx context.Context) error { return c.call(ctx, http.MethodGet, path, query, nil, out) })
}

// retry calls try until it succeeds, fails for good, or patience runs out;
// then it returns try's last error. It is the one place where calls are
// repeated.
func (c *Client) retry(ctx context.Context, try func(context.Context) error) error {
	if c.patience < 0 {
		return try(ctx)
	}
	var last error
	// Patience decides whether there is another try; it does not cut one short.
	err := wait.For(ctx, wait.Options{Interval: retryInterval, Timeout: c.patience}, func(context.Context) (bool, string, error) {
		if last = try(ctx); last != nil && !temporary(last) {
			return false, "", last
		}
		return last == nil, "", nil
	})
	if wait.IsTimeout(err) {
		return fmt.Errorf("%w (tried for %s)", last, c.patience)
	}
	return err
}

// call makes one request with a JSON body (nil: none) and decodes the JSON
// answer into out (nil: dropped).
func (c *Client) call(ctx context.Context, method, path string, query url.Values, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encoding request for %s: %w", path, err)
		}
		body = bytes.NewReader(data)
	}
	resp, err := c.send(ctx, method, path, query, body, 0)
	if err != nil {
		return err
	}
	defer drain(resp)
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("reading answer of %s %s: %w", method, path, err)
	}
	return nil
}

// send makes a request and returns a response of class 2xx; any other is an
// [*Error]. length is the body's where the reader does not tell.
func (c *Client) send(ctx context.Context, method, path string, query url.Values, body io.Reader, length int64) (*http.Response, error) {
	target := c.base.JoinPath(path)
	target.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, method, target.String(), body)
	if err != nil {
		return nil, fmt.Errorf("calling %s %s: %w", method, path, err)
	}
	if length > 0 {
		req.ContentLength = length
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	c.authorize(req.Header)
	return c.do(req)
}

func (c *Client) do(req *http.Request) (*http.Response, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		// The *url.Error repeats method and address; its cause says enough.
		if urlErr, ok := errors.AsType[*url.Error](err); ok {
			err = urlErr.Err
		}
		return nil, fmt.Errorf("calling Ray at %s: %w", req.URL.Host, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer drain(resp)
		return nil, newError(req.Method, req.URL.Path, resp)
	}
	return resp, nil
}

// authorize adds the token. Ray looks at Authorization first and, since
// proxies such as the Kubernetes apiserver's keep that one to themselves, at
// X-Ray-Authorization next.
func (c *Client) authorize(h http.Header) {
	if c.token != "" {
		h.Set("Authorization", "Bearer "+c.token)
		h.Set("X-Ray-Authorization", "Bearer "+c.token)
	}
}

// drain reads what is left of a short answer, so that its connection can be
// used again.
func drain(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	_ = resp.Body.Close()
}
