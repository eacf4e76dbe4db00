package rayjob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// silence is how long a read waits for the next bytes: a node that is gone does
// not say so.
const silence = 20 * time.Second

var (
	// ErrShrunk says that a log file is shorter than what was read of it before:
	// it was rotated or replaced.
	ErrShrunk = errors.New("file is shorter than before")
	errSilent = fmt.Errorf("no answer within %s", silence)
)

// LogReader reads log files of a cluster's nodes.
//
// Two are there. A [Client] asks the dashboard, which works wherever the
// dashboard does, but can only send a file from its start: reading on from an
// offset costs the whole file. [AgentLogs] asks the node's own agent for the
// bytes that are new, which costs nothing else, but needs a way to it.
//
// Ray's log stream (/api/v0/logs/stream) is not used although it follows a
// file: the dashboard notices that a reader is gone only when the file grows,
// so that every stream of a quiet file stays open in it for ever, and after a
// hundred of them its state API answers nobody.
type LogReader interface {
	// ReadLog writes to w what file of the node holds from offset on, up to its
	// end at the time of the call. An error of w ends it. A file that is shorter
	// than offset is ErrShrunk. A node that falls silent is an error; where ctx
	// ends, its cause is.
	ReadLog(ctx context.Context, node Node, file string, offset int64, w io.Writer) error
}

// ListLogs returns the names of the files in the node's log folder that match
// the glob pattern. Nodes of one machine share the folder and list the same.
func (c *Client) ListLogs(ctx context.Context, nodeID, glob string) ([]string, error) {
	files, err := c.listLogs(ctx, nodeID, glob)
	if err != nil {
		return nil, fmt.Errorf("listing logs of node %q: %w", nodeID, err)
	}
	return files, nil
}

func (c *Client) listLogs(ctx context.Context, nodeID, glob string) ([]string, error) {
	var reply struct {
		Data struct {
			Result map[string][]string `json:"result"` // by Ray's own categories
		} `json:"data"`
	}
	query := url.Values{"node_id": {nodeID}, "glob": {glob}, "timeout": {"20"}}
	if err := c.call(ctx, http.MethodGet, "/api/v0/logs", query, nil, &reply); err != nil {
		return nil, err
	}
	var files []string
	for _, category := range reply.Data.Result {
		files = append(files, category...)
	}
	return files, nil
}

// ReadLog implements [LogReader] by way of the dashboard.
func (c *Client) ReadLog(ctx context.Context, node Node, file string, offset int64, w io.Writer) error {
	query := url.Values{
		"node_id": {node.ID}, "filename": {file},
		"lines":   {"-1"}, // the whole file; 0 would mean the last thousand lines
		"timeout": {"60"},
	}
	return unlessSilent(ctx, func(ctx context.Context, heard heard) error {
		resp, err := c.send(ctx, http.MethodGet, "/api/v0/logs/file", query, nil, 0)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		return copyFrom(w, heard.from(resp.Body), offset)
	})
}

// unlessSilent ends the context of read once nothing was heard for too long.
func unlessSilent(ctx context.Context, read func(context.Context, heard) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer timer.Stop()
	err := read(ctx, heard{timer})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// heard begins the silence anew at each read. What becomes of the bytes between
// two reads may take its time.
type heard struct{ silence *time.Timer }

func (h heard) from(r io.Reader) io.Reader { return listener{h.silence, r} }

type listener struct {
	silence *time.Timer
	io.Reader
}

func (l listener) Read(p []byte) (int, error) {
	l.silence.Reset(silence)
	defer l.silence.Stop()
	return l.Reader.Read(p)
}

// copyFrom copies what r holds beyond offset.
func copyFrom(w io.Writer, r io.Reader, offset int64) error {
	if n, err := io.CopyN(io.Discard, r, offset); err != nil {
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: %d bytes, %d were read", ErrShrunk, n, offset)
		}
		return err
	}
	_, err := io.Copy(w, r)
	return err
}

// AgentLogs is a [LogReader] that goes to the nodes' agents, and to the
// dashboard for nodes without a known one. An agent serves its node's log
// folder as files, with ranges and behind the same token.
type AgentLogs struct {
	Client *Client
	// Agent returns the base URL of the node's agent, such as
	// http://127.0.0.1:52365, or "" where it cannot be reached.
	Agent func(Node) string
}

// ReadLog implements [LogReader].
func (a AgentLogs) ReadLog(ctx context.Context, node Node, file string, offset int64, w io.Writer) error {
	base := a.Agent(node)
	if base == "" {
		return a.Client.ReadLog(ctx, node, file, offset, w)
	}
	return unlessSilent(ctx, func(ctx context.Context, heard heard) error {
		return a.readFrom(ctx, base, file, offset, w, heard)
	})
}

func (a AgentLogs) readFrom(ctx context.Context, base, file string, offset int64, w io.Writer, heard heard) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/logs/"+url.PathEscape(file), nil)
	if err != nil {
		return fmt.Errorf("reading log %q: %w", file, err)
	}
	a.Client.authorize(req.Header)
	if offset > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	resp, err := a.Client.do(req)
	if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusRequestedRangeNotSatisfiable {
		return a.atEnd(ctx, base, file, offset)
	}
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusPartialContent {
		offset = 0 // the agent has skipped
	}
	return copyFrom(w, heard.from(resp.Body), offset)
}

// atEnd tells a file that has nothing new from one that has shrunk.
func (a AgentLogs) atEnd(ctx context.Context, base, file string, offset int64) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, base+"/logs/"+url.PathEscape(file), nil)
	if err != nil {
		return fmt.Errorf("reading log %q: %w", file, err)
	}
	a.Client.authorize(req.Header)
	resp, err := a.Client.do(req)
	if err != nil {
		return err
	}
	drain(resp)
	if resp.ContentLength >= 0 && resp.ContentLength < offset {
		return fmt.Errorf("%w: %d bytes, %d were read", ErrShrunk, resp.ContentLength, offset)
	}
	return nil
}
