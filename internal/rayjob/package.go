package rayjob

import (
	"context"
	"fmt"
	"net/http"
	"os"
)

// Upload brings the zip at file into the cluster's store under name, unless it
// is there already, which existed tells. uri is what a job's working directory
// is set to. Names must follow the contents: Ray never looks at a package that
// it knows by name again.
//
// The question whether a package exists also pins it for some minutes, so that
// Ray does not drop it before the job starts.
func (c *Client) Upload(ctx context.Context, name, file string) (uri string, existed bool, err error) {
	path := "/api/packages/gcs/" + name
	uri = "gcs://" + name
	err = c.retry(ctx, func(ctx context.Context) error { return c.call(ctx, http.MethodGet, path, nil, nil, nil) })
	if err == nil {
		return uri, true, nil
	}
	if IsNotFound(err) {
		err = c.retry(ctx, func(ctx context.Context) error { return c.put(ctx, path, file) })
	}
	if err != nil {
		return "", false, fmt.Errorf("uploading package %q: %w", name, err)
	}
	return uri, false, nil
}

func (c *Client) put(ctx context.Context, path, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	resp, err := c.send(ctx, http.MethodPut, path, nil, f, info.Size())
	if err != nil {
		return err
	}
	drain(resp)
	return nil
}
