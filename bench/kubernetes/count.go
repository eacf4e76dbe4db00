package main

import (
	"net/http"
	"strings"
	"sync"
)

// counter counts requests to the API server by what they ask.
type counter struct {
	mu   sync.Mutex
	seen map[string]int
}

func (c *counter) wrap(inner http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		what := describe(request)
		c.mu.Lock()
		c.seen[what]++
		c.mu.Unlock()
		return inner.RoundTrip(request)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// describe names a request by verb and resource, a list also by what keeps it
// small: "list pods (selector, page)". One that has neither says "all".
func describe(request *http.Request) string {
	resource, named, ok := resourceOf(request.URL.Path)
	if !ok {
		return "get " + request.URL.Path
	}
	query := request.URL.Query()
	var bounds []string
	if query.Get("labelSelector") != "" || query.Get("fieldSelector") != "" {
		bounds = append(bounds, "selector")
	}
	if query.Get("limit") != "" {
		bounds = append(bounds, "page")
	}
	if strings.Contains(request.URL.Path, "/namespaces/") {
		bounds = append(bounds, "namespace")
	}
	verb := map[string]string{
		http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
	}[request.Method]
	switch {
	case query.Get("watch") != "":
		verb = "watch"
	case verb != "" || named:
		return strings.TrimSpace(firstOf(verb, "get") + " " + resource)
	default:
		verb = "list"
	}
	if len(bounds) == 0 {
		bounds = []string{"all"}
	}
	return verb + " " + resource + " (" + strings.Join(bounds, ", ") + ")"
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// resourceOf reads the resource from a path of the API, such as
// /apis/ray.io/v1/namespaces/team/rayclusters/gpu, and whether it is one object.
// ok is false for paths that are of no resource.
func resourceOf(path string) (resource string, named, ok bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return "", false, false
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	resource = parts[0]
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	return resource, len(parts) > 1, true
}
