package rayjob

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// late is how long a round of looks waits for nodes once it has begun. One that
// takes longer counts as unread until a later round.
const late = 2 * time.Second

// jobFiles matches the logs of workers and drivers in a node's folder, and
// little else: patterns of the listing know no alternatives.
const jobFiles = "[jw]o[br]*-*"

// look is one look into a node's log folder. It goes on beside all others, and
// beside the rounds: a node that is gone may not say so, and what the others
// have must not wait for it.
type look struct {
	began time.Time
	done  chan struct{} // closed when the rest is valid
	took  time.Duration
	files []string // that may be the job's
	err   error
}

// errLate says that a node has not answered a look yet.
var errLate = errors.New("the node does not answer")

// errDead says that a node is lost, and its files with it.
var errDead = errors.New("the node is dead")

func deadNode(n Node) error {
	if n.StateMessage == "" {
		return errDead
	}
	return fmt.Errorf("%w: %s", errDead, n.StateMessage)
}

// lookAround returns, for every file that may be the job's, the nodes that list
// it, the nodes that did not tell, and how long Ray took for an answer in time.
func (s *collection) lookAround(ctx context.Context, nodes []Node) (listed map[string][]string, unread map[string]error, took time.Duration) {
	listed, unread = map[string][]string{}, map[string]error{}
	start := time.Now()
	for _, node := range nodes {
		if !node.Alive() {
			s.access(node).close(deadNode(node))
			delete(s.looks, node.ID)
			unread[node.ID] = deadNode(node)
		} else if s.looks[node.ID] == nil {
			s.looks[node.ID] = s.look(ctx, node)
		}
	}
	waiting, cancel := context.WithTimeout(ctx, late)
	defer cancel()
	answered := false
	for id, l := range s.looks {
		select {
		case <-l.done:
		case <-waiting.Done():
		}
		if !isClosed(l.done) {
			unread[id] = errLate
			continue
		}
		delete(s.looks, id)
		switch {
		case l.err != nil:
			unread[id] = l.err
		case l.began.Before(s.ended): // it may have missed the last files
			unread[id] = errLate
		}
		if !l.began.Before(start) {
			answered, took = true, max(took, l.took)
		}
		for _, file := range l.files {
			listed[file] = append(listed[file], id)
		}
	}
	if !answered { // not the nodes are slow then, but Ray is
		took = late
	}
	return listed, unread, took
}

// look begins to look into the node's folder.
func (s *collection) look(ctx context.Context, node Node) *look {
	l := &look{began: time.Now(), done: make(chan struct{})}
	s.looking.Go(func() {
		defer close(l.done)
		s.lookers <- struct{}{}
		defer func() { <-s.lookers }()
		begin := time.Now()
		l.files, l.err = s.Client.listLogs(ctx, node.ID, jobFiles)
		if l.err == nil {
			l.err = s.readHeads(ctx, node, l.files)
		}
		l.took = time.Since(begin)
	})
	return l
}

// readHeads finds out which job the files belong to that do not have it in
// their names. One that does not tell yet is read again at the next look. Only
// silence is an error.
func (s *collection) readHeads(ctx context.Context, node Node, files []string) error {
	for _, file := range files {
		if m := workerFile.FindStringSubmatch(file); m == nil || strings.Trim(m[2], "f") != "" || s.jobInside(file) != "" {
			continue
		}
		head := &headReader{}
		if err := s.Reader.ReadLog(ctx, node, file, 0, head); errors.Is(err, errSilent) {
			return err
		}
		s.mu.Lock()
		s.inside[file] = head.magic.job
		s.mu.Unlock()
	}
	return nil
}

// jobInside returns the job that a file without one in its name tells in its
// first lines; "" where it does not yet.
func (s *collection) jobInside(file string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inside[file]
}

var errEnough = errors.New("enough")

// headReader reads until the job is known, or must have been.
type headReader struct {
	magic magic
}

func (h *headReader) Write(p []byte) (int, error) {
	h.magic.feed(p, func(int64, []byte) {})
	if h.magic.job != "" || h.magic.offset > 64<<10 {
		return 0, errEnough
	}
	return len(p), nil
}
