package e2e

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"
)

// A gate is a proxy that can hold one kind of request.
type gate struct {
	*httptest.Server
	kind func(*http.Request) string

	mu      sync.Mutex
	seen    []string // kinds, in the order of their first requests
	held    string
	reached chan struct{} // closed when a request is held
	opened  chan struct{} // closed when it is let through, with all others
}

// newGate leads to a server, by a transport of HTTP/1.1, as upgrades need it.
func newGate(t *testing.T, server *url.URL, transport http.RoundTripper, kind func(*http.Request) string) *gate {
	t.Helper()
	g := &gate{kind: kind}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(server) },
		Transport: transport,
		// A client that is gone, or a server that is: whom it concerns sees it.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-g.pass(r):
			proxy.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() {
		g.CloseClientConnections() // tunnels
		g.Close()
	})
	return g
}

// pass writes a request down and returns what is closed when it may go on.
func (g *gate) pass(r *http.Request) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	kind := g.kind(r)
	if !slices.Contains(g.seen, kind) {
		g.seen = append(g.seen, kind)
	}
	if g.held == kind {
		g.held = ""
		close(g.reached)
		return g.opened
	}
	free := make(chan struct{})
	close(free)
	return free
}

// hold lets the next request of a kind wait until open is called. reached is closed
// when it has come.
func (g *gate) hold(kind string) (reached <-chan struct{}, open func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held, g.reached, g.opened = kind, make(chan struct{}), make(chan struct{})
	opened := g.opened
	return g.reached, sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.held = ""
		close(opened)
	})
}

// kinds are those of all requests so far.
func (g *gate) kinds() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.seen)
}
