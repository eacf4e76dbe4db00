package rayjob

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// jobFiles matches the logs of workers and drivers in a node's folder, and
// little else: patterns of the listing know no alternatives.
const jobFiles = "[jw]o[br]*-*"

// workerFile is Ray's name for a worker's output. A process that was started
// before its first job has no job in the name, or one of only f.
var workerFile = regexp.MustCompile(`^worker-([0-9a-f]+)-(?:([0-9a-f]+)-)?(\d+)\.(?:out|err)$`)

// discover looks at the nodes and starts to follow files of the job that are
// new. A node that does not answer is remembered and no error.
func (s *collection) discover(ctx context.Context) error {
	nodes, err := s.Client.Nodes(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	for _, node := range nodes {
		s.nodes[node.ID] = node
	}
	s.mu.Unlock()
	listed, unread := s.listAll(ctx, nodes)
	if err := ctx.Err(); err != nil {
		return err
	}
	s.unread = unread
	workers, err := s.Client.Workers(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	for _, w := range workers {
		s.workers[w.ID] = w
	}
	s.mu.Unlock()
	for file, ids := range listed {
		if err := s.consider(ctx, file, ids); err != nil {
			return err
		}
	}
	return nil
}

// listAll returns, for every file that may be the job's, the nodes that list
// it, and the nodes that could not be asked.
func (s *collection) listAll(ctx context.Context, nodes []Node) (listed map[string][]string, unread map[string]error) {
	listed, unread = map[string][]string{}, map[string]error{}
	var mu sync.Mutex
	var asking sync.WaitGroup
	for _, node := range nodes {
		if !node.Alive() {
			unread[node.ID] = deadNode(node)
			continue
		}
		asking.Go(func() {
			leave, err := s.enter(ctx, node)
			if err != nil {
				return
			}
			defer leave()
			files, err := s.Client.listLogs(ctx, node.ID, jobFiles)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				unread[node.ID] = err
			}
			for _, file := range files {
				listed[file] = append(listed[file], node.ID)
			}
		})
	}
	asking.Wait()
	return listed, unread
}

// errDead says that a node is lost, and its files with it.
var errDead = errors.New("the node is dead")

func deadNode(n Node) error {
	if n.StateMessage == "" {
		return errDead
	}
	return fmt.Errorf("%w: %s", errDead, n.StateMessage)
}

// consider follows the file if it is the job's and not followed yet.
func (s *collection) consider(ctx context.Context, file string, listedBy []string) error {
	slices.Sort(listedBy)
	s.mu.Lock()
	f := s.files[file]
	if f != nil {
		f.listedBy = listedBy
	}
	s.mu.Unlock()
	if f != nil {
		return nil
	}
	source, ours, err := s.identify(ctx, file, listedBy)
	if err != nil || !ours {
		return err
	}
	node := s.nodes[source.NodeID]
	source.NodeName, source.IP = node.Name, node.IP
	f = &follower{collection: s, Source: source, listedBy: listedBy}
	s.mu.Lock()
	s.files[file] = f
	s.mu.Unlock()
	s.running.Go(func() { f.run(ctx) })
	return nil
}

// identify says whether a file is the job's and who writes it.
func (s *collection) identify(ctx context.Context, file string, listedBy []string) (source Source, ours bool, err error) {
	if file == driverFile(s.SubmissionID) {
		node, known := s.writer(s.job.DriverNodeID, listedBy)
		return Source{NodeID: node, File: file}, known, nil
	}
	m := workerFile.FindStringSubmatch(file)
	if m == nil {
		return Source{}, false, nil
	}
	worker, job := m[1], m[2]
	pid, err := strconv.Atoi(m[3])
	if err != nil {
		return Source{}, false, nil
	}
	if strings.Trim(job, "f") == "" {
		if job, err = s.jobInside(ctx, file, listedBy[0]); err != nil {
			return Source{}, false, err
		}
	}
	node, known := s.writer(s.workers[worker].NodeID, listedBy)
	return Source{NodeID: node, File: file, WorkerID: worker, PID: pid}, known && s.jobs[job], nil
}

// writer returns the node that a file is attributed to: the one that Ray
// names, or else the only one that lists it. Where Ray does not know yet and
// several list it, that is left for a later look, unless the job has ended.
func (s *collection) writer(named string, listedBy []string) (nodeID string, known bool) {
	if named != "" {
		return named, true
	}
	return listedBy[0], len(listedBy) == 1 || s.job.Status.Terminal()
}

// jobInside returns the job that a file without one in its name tells in its
// first lines; "" where it does not yet.
func (s *collection) jobInside(ctx context.Context, file, nodeID string) (string, error) {
	head := &headReader{}
	err := s.Reader.ReadLog(ctx, s.nodes[nodeID], file, 0, head)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil && !errors.Is(err, errEnough) {
		return "", nil // asked again at the next look
	}
	return head.magic.job, nil
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

// driverFile is the name of a job's driver log, on the node of the driver.
func driverFile(submissionID string) string { return "job-driver-" + submissionID + ".log" }
