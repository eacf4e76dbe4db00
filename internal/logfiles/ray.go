package logfiles

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/trainyard/trainyard/nccllog"
)

// rayFile is what the name and place of one of Ray's files tell.
type rayFile struct {
	worker  string // Ray's id of the process; empty for other files
	job     string // Ray's id of the job; empty where the name does not tell
	pid     int
	session string // tells sessions apart: the name of its folder, equal on all nodes
	driver  bool   // the output of a job's own command
}

var (
	// workerName is Ray's name for a worker's output. A process that was started
	// before its first job has no job in the name, or one of only f.
	workerName = regexp.MustCompile(`^worker-([0-9a-f]+)-(?:([0-9a-f]{8})-)?(\d+)\.(?:out|err)`)
	driverName = regexp.MustCompile(`^job-driver-.+\.log`)
	// trainName is Ray Train's name for its own records of a worker.
	trainName = regexp.MustCompile(`ray-train-(?:sys|app)-(?:worker|controller)-[0-9a-f]+\.log`)
)

// rayInternals begin the names of what Ray's own processes write. None of them
// loads NCCL.
var rayInternals = []string{
	"agent-", "dashboard", "debug_state", "event", "export_event", "gcs_server.", "io_worker-", "java-core-",
	"log_monitor.", "monitor.", "plasma_store", "python-core-", "ray_client_server", "raylet.", "restore_worker-",
	"runtime_env", "spill_worker-",
}

// isRayFile tells whether a file of that name marks a folder as one of Ray's.
func isRayFile(name string) bool {
	return workerName.MatchString(name) || strings.HasPrefix(name, "raylet.") || strings.HasPrefix(name, "gcs_server.")
}

func isRayInternal(name string) bool {
	return slices.ContainsFunc(rayInternals, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

func isRayTrainFile(name string) bool { return trainName.MatchString(name) }

func parseRayFile(path string) rayFile {
	name := filepath.Base(path)
	m := workerName.FindStringSubmatch(name)
	driver := driverName.MatchString(name)
	if m == nil && !driver {
		return rayFile{}
	}
	f := rayFile{driver: driver, session: sessionOf(path)}
	if m != nil {
		f.worker, f.job = m[1], m[2]
		f.pid, _ = strconv.Atoi(m[3]) // 0, which no worker has, where it is too long
		if strings.Trim(f.job, "f") == "" {
			f.job = ""
		}
	}
	return f
}

// sessionOf finds the folder session_<time>_<pid> that the file is in, behind
// the link session_latest too. Where there is none, as in copies, the file's own
// folder stands for it: logs of one session from several such folders find each
// other by their communicators.
func sessionOf(path string) string {
	resolved := path
	if to, err := filepath.EvalSymlinks(path); err == nil {
		resolved = to
	}
	for part := range strings.SplitSeq(filepath.ToSlash(resolved), "/") {
		if strings.HasPrefix(part, "session_") {
			return part
		}
	}
	return filepath.Dir(path)
}

// rayWorker is what Ray Train's records tell of a worker.
type rayWorker struct {
	job         string
	rank, world int
	node        string
}

// trainRecord is one line of Ray Train's records.
type trainRecord struct {
	Job       string `json:"job_id"`
	Worker    string `json:"worker_id"`
	WorldRank *int   `json:"world_rank"`
	NodeRank  *int   `json:"node_rank"`
	Message   string `json:"message"`
}

// recordBytes of a file of Ray Train's are looked at: the first record of a
// worker tells all.
const recordBytes = 256 << 10

// rayTrain reads which worker is which rank on which node. What cannot be read
// is not missed: NCCL's own lines tell ranks.
func (s *search) rayTrain(path string) {
	file, err := os.Open(path)
	if err != nil {
		return
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, recordBytes)
	for read := 0; read < recordBytes && lines.Scan(); read += len(lines.Bytes()) {
		var r trainRecord
		if json.Unmarshal(lines.Bytes(), &r) != nil || r.Worker == "" || r.WorldRank == nil {
			continue
		}
		w := s.workers[r.Worker]
		w.job, w.rank = r.Job, *r.WorldRank
		w.world = max(w.world, worldIn(r.Message))
		if r.NodeRank != nil {
			w.node = fmt.Sprintf("node%d", *r.NodeRank)
		}
		s.workers[r.Worker] = w
		if w.world > 0 {
			return
		}
	}
}

// worldIn finds the world size in "Setting up process group for: env://
// [rank=0, world_size=2]"; 0 where there is none.
func worldIn(message string) int {
	_, rest, _ := strings.Cut(message, "world_size=")
	digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	size, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return size
}

// placeRay gives Ray's files their job and node. Ids of jobs repeat in every
// session, so that the session belongs to the name where there are several.
func (s *search) placeRay(logs []Log) {
	sessions := map[string]bool{}
	for _, log := range logs {
		if log.ray != (rayFile{}) {
			sessions[log.ray.session] = true
		}
	}
	for i := range logs {
		log := &logs[i]
		if len(sessions) == 1 {
			log.ray.session = ""
		}
		worker, known := s.workers[log.ray.worker]
		if log.ray.worker == "" {
			continue
		}
		if known && log.Node == "" {
			log.Node = worker.node
		}
		if log.Job != "" {
			continue
		}
		if log.ray.job == "" {
			log.ray.job = worker.job
		}
		log.Job = log.ray.jobName()
		if log.Job != "" && worker.world > 0 {
			s.world[log.Job] = worker.world
		}
	}
}

// jobName is the job's name, empty where it is not known.
func (f rayFile) jobName() string {
	if f.job == "" || f.session == "" {
		return f.job
	}
	return f.session + "/" + f.job
}

// magicJob begins a line of Ray's own in a worker's file.
var magicJob = []byte(":job_id:")

// jobInside finds the job that the head of a worker's file tells.
func jobInside(head []byte) string {
	at := bytes.Index(head, magicJob)
	if at < 0 || at > 0 && head[at-1] != '\n' {
		return ""
	}
	id, _, ok := bytes.Cut(head[at+len(magicJob):], []byte("\n"))
	if id = bytes.TrimSpace(id); !ok || len(id) > 16 {
		return ""
	}
	return string(id)
}

// place is where a process of Ray's runs, as far as file names tell.
type place struct {
	session string
	pid     int
}

// placeDrivers gives the output of a job's own command its job: that of the
// workers whose processes it names, if all of them are of one.
func placeDrivers(logs []Read) {
	jobs := map[place][]string{}
	for _, log := range logs {
		at := place{log.ray.session, log.ray.pid}
		if log.ray.worker != "" && log.Job != "" && !slices.Contains(jobs[at], log.Job) {
			jobs[at] = append(jobs[at], log.Job)
		}
	}
	for i := range logs {
		if log := &logs[i]; log.ray.driver && log.Job == "" && log.Parsed != nil {
			log.Job = onlyJob(log.Parsed.Processes, log.ray.session, jobs)
		}
	}
}

func onlyJob(processes []*nccllog.Process, session string, jobs map[place][]string) string {
	found := ""
	for _, p := range processes {
		for _, job := range jobs[place{session, p.PID}] {
			if found != "" && found != job {
				return ""
			}
			found = job
		}
	}
	return found
}
