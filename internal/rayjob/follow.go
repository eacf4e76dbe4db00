package rayjob

import (
	"context"
	"errors"
	"time"
)

const (
	// slowest is how many intervals lie between two looks at a quiet file.
	slowest = 8
	// drainPatience is how long the end of a file is asked for once the job has
	// ended and the file cannot be read.
	drainPatience = 20 * time.Second
)

// follower reads one file as it grows.
type follower struct {
	*collection
	Source
	listedBy []string // nodes; guarded by collection.mu

	magic magic
	took  time.Duration // by the last read that came to its end
}

// run reads the file again and again, seldom where it is quiet or long, until
// the collection drains; then once more, to its end.
func (f *follower) run(ctx context.Context) {
	pause := f.Interval
	var failing time.Time // since when nothing new came, while draining
	for {
		draining := isClosed(f.drain) // asked before reading: what is read then is all
		before := f.magic.offset
		err := f.read(ctx)
		progress := f.magic.offset > before
		if ctx.Err() != nil {
			return
		}
		if failing.IsZero() || progress || !draining {
			failing = time.Now()
		}
		switch {
		case err == nil && draining:
			f.magic.end(f.text)
			return
		case err != nil && (final(err) || draining && errors.Is(err, errSilent) || time.Since(failing) > drainPatience):
			f.magic.end(f.text)
			f.gap(Gap{f.Source, err})
			return
		}
		if pause = min(2*pause, slowest*f.Interval); progress {
			pause = f.Interval
		}
		// A reader that starts from the beginning takes longer and longer.
		if !f.sleep(ctx, max(pause, share*f.took), draining) {
			return
		}
	}
}

// final says that trying again cannot help.
func final(err error) bool {
	return errors.Is(err, ErrShrunk) || errors.Is(err, ErrTooLong) || errors.Is(err, errDead)
}

// read reads on from where the file was left. Other nodes that list the file
// stand in for its own where that one is dead or does not give it.
func (f *follower) read(ctx context.Context) error {
	nodes := f.route(f)
	if len(nodes) == 0 {
		f.mu.Lock()
		node := f.nodes[f.NodeID]
		f.mu.Unlock()
		return deadNode(node)
	}
	var first error
	for _, node := range nodes {
		err := f.readFrom(ctx, node)
		if err == nil || final(err) && !errors.Is(err, errDead) || ctx.Err() != nil {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}

func (f *follower) readFrom(ctx context.Context, node Node) error {
	ctx, leave, err := f.enter(ctx, node)
	if err != nil {
		return err
	}
	defer leave()
	start := time.Now()
	if err := f.Reader.ReadLog(ctx, node, f.File, f.magic.offset, f); err != nil {
		if errors.Is(err, errSilent) && isClosed(f.drain) {
			f.access(node).close(err) // its other files need not wait for it as well
		}
		return err
	}
	f.took = time.Since(start)
	return nil
}

// Write takes the next bytes of the file.
func (f *follower) Write(p []byte) (int, error) {
	n := len(p)
	if left := f.MaxFileBytes - f.magic.offset; f.MaxFileBytes > 0 && int64(n) > left {
		f.magic.feed(p[:max(left, 0)], f.text)
		return int(max(left, 0)), ErrTooLong
	}
	f.magic.feed(p, f.text)
	return n, nil
}

func (f *follower) text(offset int64, data []byte) {
	f.Name = f.magic.name
	f.emit(Chunk{f.Source, offset, data})
}

// sleep pauses, or wakes early when draining begins, and says whether to go on.
func (f *follower) sleep(ctx context.Context, d time.Duration, draining bool) bool {
	drain := f.drain
	if draining {
		drain = nil
		d = min(d, f.Interval)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-drain:
	case <-ctx.Done():
		return false
	}
	return true
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
