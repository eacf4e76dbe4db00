package rayjob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/trainyard/trainyard/internal/wait"
)

// maxLine is the longest line that is given out whole; longer ones come in
// pieces, so that a job that never ends its line takes no memory here.
const maxLine = 1 << 20

// Tail gives every line of the job's driver log to emit, without its line end,
// from the first one on, and returns when the job has ended and its log is
// complete. line is valid during the call only. Tail returns nil however the
// job ended: ask [Client.Job].
//
// Lines come over Ray's WebSocket, which may close at any time and sends the
// log from its start when it is opened again: what was given out is skipped.
// Ray reads the log as text and turns every carriage return into a line end.
func (c *Client) Tail(ctx context.Context, id string, emit func(line []byte)) error {
	t := &tail{client: c, id: id, lines: lineCutter{emit: emit}}
	pause := retryInterval
	for {
		before := t.given
		streamErr := t.stream(ctx)
		job, err := c.Job(ctx, id)
		if err != nil {
			return fmt.Errorf("following log: %w", err)
		}
		if err := t.catchUp(ctx, job); err != nil && job.Status.Terminal() {
			return fmt.Errorf("following log of job %q: %w", id, errors.Join(err, streamErr))
		}
		if job.Status.Terminal() {
			t.lines.end()
			return ctx.Err()
		}
		if t.given > before {
			pause = retryInterval
		}
		if err := wait.Sleep(ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, 5*time.Second)
	}
}

type tail struct {
	client *Client
	id     string
	given  int64 // bytes of the log, as text, that lines has got
	lines  lineCutter
}

// stream follows the log over one WebSocket until that closes.
func (t *tail) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	header := http.Header{}
	t.client.authorize(header)
	target := t.client.base.JoinPath(jobPath(t.id), "logs", "tail")
	conn, resp, err := websocket.Dial(ctx, target.String(), &websocket.DialOptions{HTTPClient: t.client.http, HTTPHeader: header})
	if err != nil {
		if resp != nil && resp.StatusCode >= 400 {
			return newError(http.MethodGet, target.Path, resp)
		}
		return err
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(-1) // messages are read in pieces
	skip := t.given
	for {
		_, message, err := conn.Reader(ctx)
		if err != nil {
			return err
		}
		if skip, err = t.take(message, skip); err != nil {
			return err
		}
	}
}

// catchUp reads what the socket has not brought from the file itself: the last
// lines of a job that has just ended, or all where the socket gives up on a
// log that is no valid text or has a line of more than 4 MiB.
func (t *tail) catchUp(ctx context.Context, job Job) error {
	if job.DriverNodeID == "" {
		return nil // nothing has run, so there is no log
	}
	given := t.given
	try := func(ctx context.Context) error {
		text := &unixText{w: &skipper{tail: t, skip: t.given}}
		err := t.client.ReadLog(ctx, Node{ID: job.DriverNodeID}, driverFile(t.id), 0, text)
		if err == nil && job.Status.Terminal() {
			err = text.end()
		}
		return err
	}
	err := t.client.retry(ctx, try)
	if isNoFile(err) && given == 0 {
		return nil
	}
	return err
}

// take gives out what r holds after the first skip bytes and returns how many
// are still to be skipped.
func (t *tail) take(r io.Reader, skip int64) (int64, error) {
	s := &skipper{tail: t, skip: skip}
	_, err := io.Copy(s, r)
	return s.skip, err
}

// skipper drops the first skip bytes and gives on the rest.
type skipper struct {
	tail *tail
	skip int64
}

func (s *skipper) Write(p []byte) (int, error) {
	n := min(int64(len(p)), s.skip)
	s.skip -= n
	s.tail.given += int64(len(p)) - n
	s.tail.lines.write(p[n:])
	return len(p), nil
}

// unixText turns \r\n and \r into \n, as Ray's own reader does.
type unixText struct {
	w  io.Writer
	cr bool // the last byte was \r, not written yet
}

func (u *unixText) Write(p []byte) (int, error) {
	out := make([]byte, 0, len(p)+1)
	for _, b := range p {
		if u.cr {
			out = append(out, '\n')
		}
		wasCR := u.cr
		u.cr = b == '\r'
		if !u.cr && (b != '\n' || !wasCR) {
			out = append(out, b)
		}
	}
	if _, err := u.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (u *unixText) end() error {
	if !u.cr {
		return nil
	}
	u.cr = false
	_, err := u.w.Write([]byte("\n"))
	return err
}

// lineCutter cuts a stream into lines.
type lineCutter struct {
	emit func(line []byte)
	part []byte
	cut  bool // the line under way was given out in part
}

func (l *lineCutter) write(p []byte) {
	for len(p) > 0 {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		p = rest
		l.part = append(l.part, line...)
		if whole && (len(l.part) > 0 || !l.cut) || len(l.part) >= maxLine {
			l.emit(l.part)
			l.part, l.cut = l.part[:0], !whole
		}
		l.cut = l.cut && !whole
	}
}

// end gives out the last line where it has no end.
func (l *lineCutter) end() {
	if len(l.part) > 0 {
		l.emit(l.part)
		l.part = nil
	}
}

func driverFile(submissionID string) string { return "job-driver-" + submissionID + ".log" }
