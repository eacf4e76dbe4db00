package rayjob

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// workerFile is Ray's name for a worker's output. A process that was started
// before its first job has no job in the name, or one of only f.
var workerFile = regexp.MustCompile(`^worker-([0-9a-f]+)-(?:([0-9a-f]+)-)?(\d+)\.(?:out|err)$`)

// discover looks at the nodes and starts to follow files of the job that are
// new. A node that does not answer is remembered and no error. It returns the
// time that Ray took for the answers.
func (s *collection) discover(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	nodes, err := s.Client.Nodes(ctx)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	for _, node := range nodes {
		s.nodes[node.ID] = node
	}
	s.mu.Unlock()
	took := time.Since(start)
	listed, unread, slowest := s.lookAround(ctx, nodes)
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.unread = unread
	start = time.Now()
	workers, err := s.Client.Workers(ctx)
	if err != nil {
		return 0, err
	}
	took += slowest + time.Since(start)
	s.mu.Lock()
	for _, w := range workers {
		s.workers[w.ID] = w
	}
	s.mu.Unlock()
	for file, ids := range listed {
		s.consider(ctx, file, ids)
	}
	return took, nil
}

// consider follows the file if it is the job's and not followed yet.
func (s *collection) consider(ctx context.Context, file string, listedBy []string) {
	slices.Sort(listedBy)
	s.mu.Lock()
	f := s.files[file]
	if f != nil {
		f.listedBy = listedBy
	}
	s.mu.Unlock()
	if f != nil {
		return
	}
	source, ours := s.identify(file, listedBy)
	if !ours {
		return
	}
	node := s.nodes[source.NodeID]
	source.NodeName, source.IP = node.Name, node.IP
	f = &follower{collection: s, Source: source, listedBy: listedBy}
	s.mu.Lock()
	s.files[file] = f
	s.mu.Unlock()
	s.running.Go(func() { f.run(ctx) })
}

// identify says whether a file is the job's and who writes it.
func (s *collection) identify(file string, listedBy []string) (source Source, ours bool) {
	if file == driverFile(s.SubmissionID) {
		node, known := s.writer(s.job.DriverNodeID, listedBy)
		return Source{NodeID: node, File: file}, known
	}
	m := workerFile.FindStringSubmatch(file)
	if m == nil {
		return Source{}, false
	}
	worker, job := m[1], m[2]
	pid, err := strconv.Atoi(m[3])
	if err != nil {
		return Source{}, false
	}
	if strings.Trim(job, "f") == "" {
		job = s.jobInside(file)
	}
	node, known := s.writer(s.workers[worker].NodeID, listedBy)
	return Source{NodeID: node, File: file, WorkerID: worker, PID: pid}, known && s.jobs[job]
}

// writer returns the node that a file is attributed to: the one that Ray
// names, or else the only one that lists it. Where Ray does not know yet and
// several list it, or may, that is left for a later look, unless the job has ended.
func (s *collection) writer(named string, listedBy []string) (nodeID string, known bool) {
	if named != "" {
		return named, true
	}
	return listedBy[0], len(listedBy) == 1 && s.allListed() || s.job.Status.Terminal()
}

// driverFile is the name of a job's driver log, on the node of the driver.
func driverFile(submissionID string) string { return "job-driver-" + submissionID + ".log" }
