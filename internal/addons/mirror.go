package addons

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/trainyard/trainyard/internal/fault"
)

const (
	ociScheme = "oci://"
	// chartLayer is the media type of a chart in a registry.
	// Source: Helm's pkg/registry.
	chartLayer types.MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// pullImage fetches a chart from a registry, as helm push leaves it there.
// Credentials are those of docker login.
func pullImage(ctx context.Context, base string, p pin) ([]byte, error) {
	reference := strings.TrimSuffix(strings.TrimPrefix(base, ociScheme), "/") + "/" + p.chart + ":" + p.version
	tag, err := name.NewTag(reference)
	if err != nil {
		return nil, fault.WithCode(fault.Usage, fmt.Errorf("reading charts from %q: %w", base, err))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, downloadTimeout, fmt.Errorf("no answer within %s", downloadTimeout))
	defer cancel()
	image, err := remote.Image(tag, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	var archive []byte
	if err == nil {
		archive, err = chartIn(image)
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, fault.WithHint(fmt.Sprintf("Put it there with: %s; helm push %s-%s.tgz %s", p.pull(), p.chart, p.version, base),
			fmt.Errorf("fetching chart %s from %s%s: %w", p, ociScheme, tag, err))
	}
	return archive, nil
}

// chartIn returns the packed chart of an artifact.
func chartIn(image v1.Image) ([]byte, error) {
	manifest, err := image.Manifest()
	if err != nil {
		return nil, err
	}
	for _, layer := range manifest.Layers {
		if layer.MediaType != chartLayer {
			continue
		}
		content, err := image.LayerByDigest(layer.Digest)
		if err != nil {
			return nil, err
		}
		packed, err := content.Compressed()
		if err != nil {
			return nil, err
		}
		defer packed.Close()
		return io.ReadAll(io.LimitReader(packed, largestChart))
	}
	return nil, errors.New("it is no Helm chart")
}
