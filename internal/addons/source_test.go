package addons

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/trainyard/trainyard/internal/fault"
)

// tiny is a chart of the test's own, and a pin that knows its archive alone.
func tiny(t *testing.T, version string) (pin, []byte) {
	t.Helper()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	files := tar.NewWriter(zip)
	for name, content := range map[string]string{
		"tiny/Chart.yaml":       "apiVersion: v2\nname: tiny\nversion: " + version + "\n",
		"tiny/values.yaml":      "a: 1\n",
		"tiny/templates/x.yaml": "kind: ConfigMap\n",
	} {
		if err := files.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(files.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(packed.Bytes())
	return pin{chart: "tiny", version: "1.0.0", repo: "https://charts.example.com", archive: hex.EncodeToString(sum[:])}, packed.Bytes()
}

// serve answers every request alike.
func serve(t *testing.T, status int, body []byte) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/tiny-1.0.0.tgz"
}

// push puts a chart into a registry as helm push does, and returns where.
func push(t *testing.T, archive []byte, media types.MediaType) Source {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	base := strings.TrimPrefix(server.URL, "http://") + "/charts"
	tag, err := name.NewTag(base + "/tiny:1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), "application/vnd.cncf.helm.config.v1+json")
	image, err = mutate.AppendLayers(image, static.NewLayer(archive, media))
	if err == nil {
		err = remote.Write(tag, image, remote.WithContext(t.Context()))
	}
	if err != nil {
		t.Fatal(err)
	}
	return Source(ociScheme + base)
}

func TestSources(t *testing.T) {
	p, archive := tiny(t, "1.0.0")
	_, older := tiny(t, "0.9.0")
	folder := func(name string, content []byte) Source {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
		return Source(dir)
	}
	tests := []struct {
		name   string
		source Source
		url    string
		want   string // in the error
		hint   string
		code   fault.Code
	}{
		{name: "its makers", url: serve(t, http.StatusOK, archive)},
		{name: "a folder", source: folder("tiny-1.0.0.tgz", archive)},
		{name: "a registry", source: push(t, archive, chartLayer)},

		{name: "not found", url: serve(t, http.StatusNotFound, nil), want: "the server says 404 Not Found", hint: "--charts", code: fault.Error},
		{name: "nobody there", url: "http://127.0.0.1:1/tiny.tgz", want: "fetching chart tiny 1.0.0 from http://127.0.0.1:1/tiny.tgz: dial tcp 127.0.0.1:1", hint: "helm pull tiny --repo https://charts.example.com --version 1.0.0", code: fault.Error},
		{name: "not a chart", url: serve(t, http.StatusOK, []byte("<html>log in</html>")), want: "unpacking chart tiny 1.0.0", code: fault.Error},
		{name: "another version", url: serve(t, http.StatusOK, older), want: "it is chart tiny 0.9.0, not tiny 1.0.0", hint: "helm pull", code: fault.Error},
		{name: "no folder", source: "nowhere", want: `"nowhere": there is no such folder`, code: fault.Usage},
		{name: "a file", source: Source(filepath.Join(string(folder("x", nil)), "x")), want: "it is not a folder", code: fault.Usage},
		{name: "an empty folder", source: Source(t.TempDir()), want: "neither tiny-1.0.0.tgz nor a folder tiny", hint: "--destination", code: fault.Error},
		{name: "an old one in a folder", source: folder("tiny-0.9.0.tgz", older), want: "but tiny-0.9.0.tgz", hint: "helm pull", code: fault.Error},
		{name: "an old one of the new name", source: folder("tiny-1.0.0.tgz", older), want: "it is chart tiny 0.9.0", code: fault.Error},
		{name: "an image in its place", source: push(t, archive, types.OCILayer), want: "it is no Helm chart", hint: "helm push", code: fault.Error},
		{name: "no registry", source: "oci://127.0.0.1:1/charts", want: "127.0.0.1:1/charts/tiny:1.0.0", hint: "helm push", code: fault.Error},
		{name: "no name", source: "oci://UPPER/Case!", want: "reading charts from", code: fault.Usage},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := p
			p.url = test.url
			c, err := test.source.load(t.Context(), p)
			switch {
			case test.want == "" && (err != nil || c.Name() != "tiny"):
				t.Errorf("error %v, want a chart", err)
			case test.want == "":
			case err == nil || !strings.Contains(err.Error(), test.want):
				t.Errorf("error %v, want one with %q", err, test.want)
			case !strings.Contains(strings.Join(fault.HintsOf(err), "\n"), test.hint):
				t.Errorf("hints %q, want one with %q", fault.HintsOf(err), test.hint)
			case fault.CodeOf(err) != test.code:
				t.Errorf("code %d, want %d", fault.CodeOf(err), test.code)
			}
		})
	}
}

func TestChangedChart(t *testing.T) {
	p, archive := tiny(t, "1.0.0")
	p.url, p.archive = serve(t, http.StatusOK, archive), strings.Repeat("0", 64)
	_, err := Source("").load(t.Context(), p)
	if err == nil || !strings.Contains(err.Error(), "it is not the chart that its makers published") {
		t.Fatalf("error %v, want that it was changed", err)
	}
	// What is in it counts where it was packed anew.
	_, content, _ := strings.Cut(err.Error(), "SHA-256 ")
	p.content, _, _ = strings.Cut(content, ",")
	if _, err := Source("").load(t.Context(), p); err != nil {
		t.Error(err)
	}
}

func TestDownloadEndsWithItsContext(t *testing.T) {
	reached := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(reached)
		<-r.Context().Done()
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-reached; cancel() }()
	if _, err := download(ctx, pin{url: server.URL}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}
