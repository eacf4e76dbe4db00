// Package registry asks container registries what they have.
package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/trainyard/trainyard/internal/fault"
)

// answerTimeout bounds the wait for a registry.
const answerTimeout = 30 * time.Second

// Pin returns an image reference with the digest that its tag means now:
// name:tag@sha256:… A digest that it has already is replaced, so that asking
// again takes up a rebuild. Credentials are those of docker login.
func Pin(ctx context.Context, image string) (string, error) {
	tagged, _, _ := strings.Cut(image, "@")
	tag, err := name.NewTag(tagged, name.StrictValidation)
	if err != nil {
		return "", fault.WithCode(fault.Usage, fault.WithHint("name it with a tag, such as registry/name:v1",
			fmt.Errorf("pinning image %q: it has no tag whose digest could be asked for", image)))
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	found, err := remote.Head(tag, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", answerTimeout)
	}
	if err != nil {
		return "", fault.WithHint("see that the registry can be reached from here, and docker login to it where it wants that",
			fmt.Errorf("asking registry %q for the digest of %q: %w", tag.RegistryStr(), tagged, err))
	}
	return tagged + "@" + found.Digest.String(), nil
}
