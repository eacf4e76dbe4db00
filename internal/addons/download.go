package addons

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/trainyard/trainyard/internal/fault"
)

// Bounds of a download: charts have some 100 kB.
const (
	downloadTimeout = time.Minute
	largestChart    = 16 << 20
)

// download fetches a chart from its makers.
func download(ctx context.Context, p pin) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, downloadTimeout, fmt.Errorf("no answer within %s", downloadTimeout))
	defer cancel()
	data, err := get(ctx, p.url)
	if err == nil {
		return data, nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	if request, is := errors.AsType[*url.Error](err); is {
		err = request.Err
	}
	return nil, fault.WithHint("Without a way to the Internet: elsewhere, "+p.pull()+"; then name the folder, or an OCI mirror, with --charts",
		fmt.Errorf("fetching chart %s from %s: %w", p, p.url, err))
}

func get(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server says %s", response.Status)
	}
	return io.ReadAll(io.LimitReader(response.Body, largestChart))
}
