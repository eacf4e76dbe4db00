package rayjob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/trainyard/trainyard/internal/wait"
)

const (
	defaultInterval = time.Second
	defaultParallel = 8
	// perNode reads of one node may be under way, so that one that does not
	// answer cannot take all places.
	perNode = 2
	// lookers look at nodes at a time.
	lookers = 32
	// share of the time is the most that looking for files, or reading one file
	// again, may take of the dashboard: one part in share.
	share = 10
	// settle is how long after the job's end its processes get to end as well,
	// and nodes that do not answer to do so.
	settle = 15 * time.Second
)

// ErrTooLong says that the rest of a file was left out at
// [Collector.MaxFileBytes].
var ErrTooLong = errors.New("file is longer than what is kept of one")

// Source says which process of which node wrote a log file.
type Source struct {
	NodeID, NodeName string
	IP               string // of the node
	File             string // name in the node's log folder
	WorkerID         string // Ray's id of the process; empty for the driver's log
	PID              int    // 0 for the driver's log
	Name             string // of the actor or, latest, the task in the process; empty until known
}

// Process is who writes it; its PID is 0 for the driver's log.
func (s Source) Process() Process { return Process{s.IP, s.PID} }

// Chunk is the next piece of a log file.
type Chunk struct {
	Source
	Offset int64  // of Data in the file; Ray's own marker lines are left out, so offsets may jump
	Data   []byte // valid during the call only; may end in the middle of a line
}

// Gap is a part of the job's output that could not be read: the rest of a
// file, or, where File is empty, all of a node.
type Gap struct {
	Source
	Err error
}

// Collector reads every log file of one job on every node: standard output and
// error of each worker process, whatever runs in it, and the driver's log.
//
// Files are found by Ray's names for them (worker-<worker>-<job>-<pid>.out),
// read from their beginning whenever the Collector starts, and followed until
// the job has ended and its processes are gone; then each is read to its end.
// Nodes of one machine share a folder and list each other's files: each is
// read once and attributed to the node whose process wrote it.
type Collector struct {
	Client       *Client
	SubmissionID string

	// Reader reads the files; nil means Client, that is, the dashboard.
	Reader LogReader
	// Emit gets every byte once, in order within each file. Calls do not overlap.
	Emit func(Chunk)
	// Gap, if not nil, gets what is missing. Calls overlap neither each other
	// nor those of Emit.
	Gap func(Gap)

	Now          bool          // read what there is and end, though the job goes on
	Interval     time.Duration // least pause between two looks at a file; 0 means one second
	Parallel     int           // most reads at a time; 0 means 8. The dashboard hangs at 100.
	MaxFileBytes int64         // what is read of one file; 0 means all
}

// Run collects until the job has ended, or the first look is over, and all is read. What could not be read
// is a Gap, not an error: Run fails only where the context ends or the cluster
// no longer answers for the job.
func (c *Collector) Run(ctx context.Context) error {
	s := &collection{
		Collector: *c,
		files:     map[string]*follower{},
		jobs:      map[string]bool{},
		inside:    map[string]string{},
		nodes:     map[string]Node{},
		workers:   map[string]Worker{},
		looks:     map[string]*look{},
		lookers:   make(chan struct{}, lookers),
		detached:  map[place]bool{},
		places:    make(chan struct{}, cmp.Or(c.Parallel, defaultParallel)),
		accesses:  map[string]*access{},
		drain:     make(chan struct{}),
	}
	s.Interval = cmp.Or(c.Interval, defaultInterval)
	if s.Reader == nil {
		s.Reader = c.Client
	}
	ctx, cancel := context.WithCancel(ctx)
	defer s.looking.Wait()
	defer s.running.Wait()
	defer cancel()
	if err := s.watch(ctx); err != nil {
		return fmt.Errorf("collecting logs of job %q: %w", c.SubmissionID, err)
	}
	close(s.drain)
	s.running.Wait()
	s.lostNodes()
	return ctx.Err()
}

// collection is one run of a Collector.
type collection struct {
	Collector
	job      Job
	ended    time.Time      // when the job was first seen to have; zero before
	running  sync.WaitGroup // followers
	looking  sync.WaitGroup // looks
	places   chan struct{}
	detached map[place]bool // actors that outlive the job
	drain    chan struct{}  // closed when files are complete and are to be read to their end

	emitting sync.Mutex // held while Emit or Gap is called

	lookers chan struct{}    // a place for each look
	looks   map[string]*look // those under way, by node
	unread  map[string]error // nodes whose files could not be listed at the last look

	mu       sync.Mutex
	files    map[string]*follower // by name: worker ids are unique in a cluster
	jobs     map[string]bool      // internal ids that the job had: one a driver process
	inside   map[string]string    // the internal id that a file tells which has none in its name
	nodes    map[string]Node
	workers  map[string]Worker
	accesses map[string]*access // by node
}

// watch looks for files until the job and its processes have ended.
func (s *collection) watch(ctx context.Context) error {
	began := time.Now()
	for {
		// The status is asked first: what is listed after the end is all there is.
		job, err := s.Client.Job(ctx, s.SubmissionID)
		if err != nil {
			return err
		}
		s.job = job
		if job.ID != "" {
			s.jobs[job.ID] = true
		}
		if job.Status.Terminal() && s.ended.IsZero() {
			s.ended = time.Now()
			s.findDetached(ctx)
		}
		took, err := s.discover(ctx)
		if err != nil {
			return err
		}
		if s.Now && (s.allListed() || time.Since(began) > settle) {
			return nil
		}
		if job.Status.Terminal() && (s.allGone() && s.allListed() || time.Since(s.ended) > settle) {
			return nil
		}
		if err := wait.Sleep(ctx, max(s.Interval, share*took)); err != nil {
			return err
		}
	}
}

// findDetached notes the actors that the job leaves behind on purpose: nobody
// waits for their end. Ray's own libraries start such actors, too. Where the
// cluster does not tell, settle bounds the wait.
func (s *collection) findDetached(ctx context.Context) {
	for id := range s.jobs {
		actors, err := s.Client.Actors(ctx, id)
		if err != nil {
			return
		}
		for _, a := range actors {
			if a.Detached {
				s.detached[place{a.NodeID, a.PID}] = true
			}
		}
	}
}

// place tells a process from all others.
type place struct {
	nodeID string
	pid    int
}

// allGone says whether no process that wrote one of the files lives, detached
// actors aside. Ray takes a while to count the processes of a dead node as
// dead.
func (s *collection) allGone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		w := s.workers[f.WorkerID]
		if w.Alive && s.nodes[w.NodeID].Alive() && !s.detached[place{w.NodeID, w.PID}] {
			return false
		}
	}
	return true
}

// allListed says whether every living node answered at the last look.
func (s *collection) allListed() bool {
	for id := range s.unread {
		if s.nodes[id].Alive() {
			return false
		}
	}
	return true
}

// lostNodes reports the nodes that may hold files of the job that nobody could
// list: living ones that do not answer, and those that died during the job. A
// dead one with known files is not named again: each of those was read from
// another node that shares its folder, or reported.
func (s *collection) lostNodes() {
	covered := map[string]bool{}
	for _, f := range s.files {
		covered[f.NodeID] = true
	}
	for id, err := range s.unread {
		if node := s.nodes[id]; node.Alive() || !covered[id] && node.diedSince(s.job.Start()) {
			s.gap(Gap{Source: Source{NodeID: id, NodeName: node.Name, IP: node.IP}, Err: err})
		}
	}
}

func (s *collection) emit(c Chunk) {
	s.emitting.Lock()
	defer s.emitting.Unlock()
	s.Emit(c)
}

func (s *collection) gap(g Gap) {
	s.emitting.Lock()
	defer s.emitting.Unlock()
	if s.Gap != nil {
		s.Gap(g)
	}
}

// route returns the nodes that a file can be read from, best first: the one
// whose process writes it, then others that list it too.
func (s *collection) route(f *follower) []Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	var nodes []Node
	for _, id := range append([]string{f.NodeID}, f.listedBy...) {
		node, ok := s.nodes[id]
		if ok && node.Alive() && !slices.ContainsFunc(nodes, func(n Node) bool { return n.ID == id }) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// access is the way to one node for those who read from it: for a few at a
// time, and for none once the node is dead.
type access struct {
	places chan struct{}
	open   context.Context // ended by close
	close  context.CancelCauseFunc
}

func (s *collection) access(node Node) *access {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accesses[node.ID]
	if a == nil {
		a = &access{places: make(chan struct{}, perNode)}
		a.open, a.close = context.WithCancelCause(context.Background())
		s.accesses[node.ID] = a
	}
	return a
}

// enter waits for a place to read from the node. It returns the context to do it
// in, which ends when the node is dead, and how to leave.
func (s *collection) enter(ctx context.Context, node Node) (reading context.Context, leave func(), err error) {
	here := s.access(node)
	reading, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(here.open, func() { cancel(context.Cause(here.open)) })
	end := func() { unhook(); cancel(nil) }
	select {
	case here.places <- struct{}{}:
	case <-reading.Done():
		end()
		return nil, nil, context.Cause(reading)
	}
	select {
	case s.places <- struct{}{}:
	case <-reading.Done():
		<-here.places
		end()
		return nil, nil, context.Cause(reading)
	}
	return reading, func() { <-s.places; <-here.places; end() }, nil
}
