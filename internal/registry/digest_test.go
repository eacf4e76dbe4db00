package registry

import (
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/trainyard/trainyard/internal/fault"
)

// TestPin pins against a real registry that serves here, through a rebuild.
func TestPin(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	image := strings.TrimPrefix(server.URL, "http://") + "/ray:train-v1"
	tag, err := name.NewTag(image)
	if err != nil {
		t.Fatal(err)
	}
	first := empty.Image
	digest, err := first.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(tag, first); err != nil {
		t.Fatal(err)
	}
	pinned, err := Pin(t.Context(), image)
	if want := image + "@" + digest.String(); err != nil || pinned != want {
		t.Fatalf("Pin = %q, %v; want %q", pinned, err, want)
	}
	rebuilt := mutate.Annotations(first, map[string]string{"rebuilt": "yes"})
	if err := remote.Push(tag, rebuilt.(remote.Taggable)); err != nil { //nolint:forcetypeassert // it is an image
		t.Fatal(err)
	}
	again, err := Pin(t.Context(), pinned)
	if err != nil || again == pinned || !strings.HasPrefix(again, image+"@sha256:") {
		t.Errorf("Pin of a pinned image after a rebuild = %q, %v; want its new digest", again, err)
	}
	if _, err := Pin(t.Context(), strings.Replace(image, "ray:", "other:", 1)); err == nil || !strings.Contains(err.Error(), `/other:train-v1"`) {
		t.Errorf("Pin of an image that is not there: %v, want an error that names it", err)
	}
}

func TestPinNeedsATag(t *testing.T) {
	for _, image := range []string{"127.0.0.1:1/ray", "127.0.0.1:1/ray@sha256:" + strings.Repeat("0", 64)} {
		if _, err := Pin(t.Context(), image); fault.CodeOf(err) != fault.Usage || !strings.Contains(err.Error(), "it has no tag") {
			t.Errorf("Pin(%q) = %v, want a usage error", image, err)
		}
	}
}
