package rayjob

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// silentProxy passes requests on to Ray; those for logs of the silent node wait
// until it speaks.
type silentProxy struct {
	mu     sync.Mutex
	node   string
	speaks chan struct{}
}

func newSilentProxy(t *testing.T, address string) (*silentProxy, string) {
	t.Helper()
	ray, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := &silentProxy{speaks: make(chan struct{})}
	forward := httputil.NewSingleHostReverseProxy(ray)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.isSilent(r.URL) {
			select {
			case <-p.speaks:
			case <-r.Context().Done():
				return
			}
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return p, server.URL
}

func (p *silentProxy) isSilent(u *url.URL) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.HasPrefix(u.Path, "/api/v0/logs") && p.node != "" && u.Query().Get("node_id") == p.node
}

func (p *silentProxy) silence(nodeID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.node = nodeID
}

// silentProgram prints from two nodes. When a file allows it, it prints from a
// new process of the first; when another does, it ends.
const silentProgram = `
import os, sys, time, ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On
ray.init()
class Printer:
    def say(self, text): print(text, flush=True)
nodes = [n["NodeID"] for n in ray.nodes() if n["Alive"] and n["Resources"].get("CPU")][:2]
def printer(node): return ray.remote(num_cpus=0.1)(Printer).options(scheduling_strategy=On(node, soft=False)).remote()
def wait(name):
    while not os.path.exists(os.path.join("FOLDER", name)): time.sleep(0.1)
two = [printer(n) for n in nodes]
for i, p in enumerate(two): ray.get(p.say.remote(f"{i} is here"))
wait("more")
three = printer(nodes[0])
ray.get(three.say.remote("a new one"))
wait("end")
ray.get(two[1].say.remote("the last word"))
`

// One node falls silent while a job runs. What a process that starts later on
// another node prints is seen at once, and nothing is lost once the node speaks.
func TestRayCollectSilentNode(t *testing.T) {
	address, token := rayAddress(t)
	proxy, through := newSilentProxy(t, address)
	folder := t.TempDir()
	id := submitPython(t, newRay(t), strings.Replace(silentProgram, "FOLDER", folder, 1))
	allow := func(name string) {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Error(err)
		}
	}
	here, last := 0, false
	collector := Collector{
		Client: newClient(t, through, token), SubmissionID: id,
		Emit: func(c Chunk) {
			switch text := string(c.Data); {
			case strings.Contains(text, " is here"):
				if strings.HasPrefix(text, "1") {
					proxy.silence(c.NodeID)
				}
				if here++; here == 2 {
					time.AfterFunc(5*time.Second, func() { allow("more") }) // when requests hang
				}
			case strings.Contains(text, "a new one"):
				allow("end")
				time.AfterFunc(time.Second, func() { close(proxy.speaks) })
			case strings.Contains(text, "the last word"):
				last = true
			}
		},
		Gap: func(g Gap) { t.Errorf("gap %+v", g) },
	}
	if err := collector.Run(deadline(t)); err != nil {
		t.Fatal(err)
	}
	if !last {
		t.Error("the last word is missing")
	}
}
