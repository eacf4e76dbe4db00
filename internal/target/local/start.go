// Package local runs a Ray cluster of several nodes on this machine: a head
// without CPUs for work, and nodes with a worker's share each. Every port
// listens on loopback only, Ray's token authentication is on, and all
// processes and folders are found again by what a [Store] wrote down, so that
// nothing outlives a run that does not mean to.
package local

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/shirou/gopsutil/v4/mem"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/process"
	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/internal/shell"
	"github.com/trainyard/trainyard/internal/target"
	"github.com/trainyard/trainyard/internal/wait"
)

// markName is the environment variable by which a cluster's processes are
// known; its value is the cluster's id.
const markName = "TRAINYARD_CLUSTER"

// startTimeout is long: a slow machine that is busy with other work needs a
// minute for Ray's processes alone.
const startTimeout = 5 * time.Minute

// headName is the head's name among the nodes.
const headName = "head"

//go:embed node.py
var nodeProgram []byte

// Spec says which cluster is wanted.
type Spec struct {
	Interpreter string // Python with Ray
	Layout      Layout
	RunDir      string // absolute path of the run it is started for
}

// TakeKept finds a kept cluster that fits spec and takes it for the calling
// process; ok is false where there is none.
func (s Store) TakeKept(ctx context.Context, spec Spec) (record Record, ok bool, err error) {
	records, err := s.List()
	if err != nil {
		return Record{}, false, err
	}
	for _, r := range records {
		if r.Holder != KeptForUse || !spec.fits(r) {
			continue
		}
		taken, err := s.Change(r.ID, func(r *Record) error {
			if r.Holder != KeptForUse {
				return errTaken
			}
			r.Holder, r.Owner, r.RunDir = HeldByRun, process.Self(), spec.RunDir
			return nil
		})
		if errors.Is(err, errTaken) || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && !Whole(ctx, taken) { // its processes died: nothing to reuse
			if err := s.End(ctx, taken); err != nil {
				return Record{}, false, err
			}
			continue
		}
		return taken, err == nil, err
	}
	return Record{}, false, nil
}

var errTaken = errors.New("another run took the cluster")

func (spec Spec) fits(r Record) bool {
	return r.Interpreter == spec.Interpreter && r.Layout.AsHosts == spec.Layout.AsHosts &&
		r.Layout.WorkersPerNode == spec.Layout.WorkersPerNode &&
		slices.EqualFunc(r.Layout.GPUs, spec.Layout.GPUs, slices.Equal)
}

// Whole tells whether the cluster answers and all its nodes are alive.
func Whole(ctx context.Context, r Record) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	alive, err := aliveNodes(ctx, r)
	return err == nil && len(alive) == r.Layout.Nodes()+1
}

// Start brings up a cluster for the calling process and returns when all its
// nodes take work. progress hears what it waits for. Whatever happens before
// that, nothing is left of it. Where Ray gave up on its own processes it is tried once
// more.
func (s Store) Start(ctx context.Context, spec Spec, progress func(string)) (Record, error) {
	record, err := s.start(ctx, spec, progress)
	if err != nil && strings.Contains(err.Error(), tooSlow) {
		progress("Ray took longer to start than it waits; once more")
		record, err = s.start(ctx, spec, progress)
	}
	return record, err
}

// tooSlow is what ray start ends with where its node is not there after 30 seconds,
// which is not to be set (ray/_private/node.py of 2.58): the machine was busy.
const tooSlow = "The current node timed out during startup"

func (s Store) start(ctx context.Context, spec Spec, progress func(string)) (Record, error) {
	record, err := s.create(spec)
	if err != nil {
		return Record{}, err
	}
	record, err = s.launch(ctx, record, progress)
	if err == nil {
		return record, nil
	}
	// The context may be what ended the start.
	if endErr := s.End(context.WithoutCancel(ctx), record); endErr != nil {
		err = errors.Join(err, endErr)
	}
	return Record{}, err
}

// create makes the folders and the record of a cluster that has no process
// yet.
func (s Store) create(spec Spec) (Record, error) {
	id, tempDir, err := makeTempDir()
	if err != nil {
		return Record{}, err
	}
	record := Record{
		ID: id, Created: time.Now(), Holder: HeldByRun, Owner: process.Self(), RunDir: spec.RunDir,
		Interpreter: spec.Interpreter, Layout: spec.Layout, TempDir: tempDir,
		Endpoint: target.Endpoint{Token: randomHex(32)},
	}
	if err := os.MkdirAll(s.path(id, "bin"), 0o700); err != nil {
		return record, fmt.Errorf("making the folder of cluster %q: %w", id, err)
	}
	if err := os.WriteFile(s.path(id, "node.py"), nodeProgram, 0o600); err != nil {
		return record, fmt.Errorf("writing the node program: %w", err)
	}
	shim := fmt.Sprintf("#!/bin/sh\nexec %s \"$@\"\n", shell.Quote(spec.Interpreter))
	for _, name := range []string{"python", "python3"} {
		if err := os.WriteFile(s.path(id, "bin/"+name), []byte(shim), 0o700); err != nil { //nolint:gosec // a program
			return record, fmt.Errorf("writing the interpreter's stand-in: %w", err)
		}
	}
	return record, s.put(record)
}

// makeTempDir makes Ray's temporary folder. Its path is short because Unix
// sockets lie deep below it and their paths may have 107 bytes on Linux and
// 103 on macOS.
func makeTempDir() (id, dir string, err error) {
	for range 8 {
		id = randomHex(3)
		dir = fmt.Sprintf("/tmp/ty%d-%s", os.Getuid(), id)
		err = os.Mkdir(dir, 0o700)
		if err == nil || !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return "", "", fmt.Errorf("making Ray's temporary folder: %w", err)
	}
	return id, dir, nil
}

// launch starts the head and the nodes, which wait for the head by themselves,
// and returns when all take work.
func (s Store) launch(ctx context.Context, r Record, progress func(string)) (Record, error) {
	ports, err := freePorts(4 + r.Layout.Nodes())
	if err != nil {
		return r, err
	}
	gcs, dashboard, metrics, agents := ports[0], ports[1], ports[2], ports[3:]
	r.GCS, r.Endpoint.Address = loopback(gcs), "http://"+loopback(dashboard)
	r.Agents = map[string]string{}

	progress("starting the head")
	store := objectStoreBytes(r.Layout.Nodes() + 1)
	head, err := s.spawn(&r, headName, agents[0], nil, metrics,
		"start", "--head", "--port", strconv.Itoa(gcs), "--num-cpus=0", "--num-gpus=0",
		"--dashboard-host=127.0.0.1", "--dashboard-port", strconv.Itoa(dashboard), "--no-monitor",
		"--object-store-memory", store)
	if err != nil {
		return r, err
	}
	nodes := []*node{head}
	for i, gpus := range r.Layout.GPUs {
		name := fmt.Sprintf("worker-%d", i)
		n, err := s.spawn(&r, name, agents[1+i], s.nodeEnviron(r, i), metrics,
			"start", "--address", r.GCS, "--num-cpus", strconv.Itoa(cpus(r.Layout)),
			"--num-gpus", strconv.Itoa(len(gpus)), "--object-store-memory", store)
		if err != nil {
			return r, err
		}
		nodes = append(nodes, n)
	}
	return r, waitFor(ctx, nodes, func(ctx context.Context) (bool, string, error) {
		alive, err := aliveNodes(ctx, r)
		if err != nil {
			return false, fmt.Sprintf("the dashboard does not answer yet (%v)", err), nil // it comes up last
		}
		for _, n := range alive {
			if n.IP != "127.0.0.1" {
				return false, "", fmt.Errorf("starting ray: node %q is at %s and not on loopback", n.Name, n.IP)
			}
		}
		state := fmt.Sprintf("%d of %d nodes are up", len(alive), len(nodes))
		progress(state)
		return len(alive) == len(nodes), state, nil
	})
}

func aliveNodes(ctx context.Context, r Record) ([]rayjob.Node, error) {
	client, err := rayjob.New(r.Endpoint.Address, r.Endpoint.Token, rayjob.Options{Patience: -1})
	if err != nil {
		return nil, err
	}
	nodes, err := client.Nodes(ctx)
	return slices.DeleteFunc(nodes, func(n rayjob.Node) bool { return !n.Alive() }), err
}

// nodeDir is a node's temporary folder. Each has its own: nodes that share one
// replace each other's copy of a job's working directory while it runs, and two
// that begin at once choose the same names for their sockets. Names are short
// for the sake of the sockets' paths.
func (r Record) nodeDir(name string) string {
	return filepath.Join(r.TempDir, strings.TrimPrefix(name, "worker-"))
}

// node is one Ray node that is being started.
type node struct {
	name   string
	log    string
	exited chan error
}

// spawn starts one Ray node as the leader of a session of its own and writes
// it down.
func (s Store) spawn(r *Record, name string, agentPort int, environ []string, metricsPort int, args ...string) (*node, error) {
	tempDir := r.nodeDir(name)
	if err := os.Mkdir(tempDir, 0o700); err != nil {
		return nil, fmt.Errorf("making the temporary folder of node %q: %w", name, err)
	}
	logPath := s.path(r.ID, name+".log")
	log, err := os.Create(logPath)
	if err != nil {
		return nil, fmt.Errorf("writing the log of node %q: %w", name, err)
	}
	defer log.Close() // the child has its own handle
	args = append([]string{s.path(r.ID, "node.py")}, append(args,
		"--block", "--node-ip-address=127.0.0.1", "--node-name", name, "--temp-dir", tempDir,
		"--dashboard-agent-listen-port", strconv.Itoa(agentPort),
		"--min-worker-port=0", "--max-worker-port=0", // else every node hands out the same ports from 10002 on
		"--disable-usage-stats", "--include-log-monitor=false", "--log-style=record", "--log-color=false")...)
	cmd := exec.Command(r.Interpreter, args...) //nolint:noctx // it outlives this call; Store.End ends it
	cmd.Env = append(s.environ(*r), "DASHBOARD_METRIC_PORT="+strconv.Itoa(metricsPort))
	cmd.Env = append(cmd.Env, environ...)
	cmd.Dir = r.TempDir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting ray node %q: %w", name, err)
	}
	leader, err := process.Of(cmd.Process.Pid)
	if err != nil {
		leader = process.ID{PID: cmd.Process.Pid, Started: time.Now().UnixMilli()}
	}
	r.Leaders = append(r.Leaders, leader)
	r.Agents[name] = "http://" + loopback(agentPort)
	n := &node{name: name, log: logPath, exited: make(chan error, 1)}
	go func() { n.exited <- cmd.Wait() }()
	return n, s.put(*r)
}

// waitFor polls until look is done, or one of the nodes ends.
func waitFor(ctx context.Context, nodes []*node, look func(context.Context) (bool, string, error)) error {
	err := wait.For(ctx, wait.Options{Interval: 200 * time.Millisecond, Timeout: startTimeout},
		func(ctx context.Context) (bool, string, error) {
			for _, n := range nodes {
				select {
				case err := <-n.exited:
					return false, "", n.failure(err)
				default:
				}
			}
			return look(ctx)
		})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("starting the local ray cluster: %w", err)
	}
	return err
}

// failure describes a node that ended while it was being started.
func (n *node) failure(err error) error {
	state := "exit status 0"
	if err != nil {
		state = err.Error()
	}
	return fault.WithHint("the last lines of its output say why; a machine short of memory or processes is the usual reason",
		fmt.Errorf("ray node %q ended with %s:\n%s", n.name, state, lastLines(n.log, 8)))
}

func lastLines(path string, n int) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return "    (its log cannot be read)"
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return "    " + strings.Join(lines[max(0, len(lines)-n):], "\n    ")
}

// environ is what every process of the cluster inherits: the caller's
// environment without what would turn Ray against us.
func (s Store) environ(r Record) []string {
	drop := []string{"PYTHONDONTWRITEBYTECODE", "PYTHONHOME", "VIRTUAL_ENV", "TRAINYARD_CLUSTER", "PATH", "CUDA_VISIBLE_DEVICES"}
	path := ""
	environ := slices.DeleteFunc(slices.Clone(s.Environ), func(v string) bool {
		name, value, _ := strings.Cut(v, "=")
		if name == "PATH" {
			path = value
		}
		return slices.Contains(drop, name) || strings.HasPrefix(name, "RAY_")
	})
	return append(environ,
		"PATH="+strings.Join([]string{s.path(r.ID, "bin"), filepath.Dir(r.Interpreter), path}, string(os.PathListSeparator)),
		markName+"="+r.ID,
		"CUDA_VISIBLE_DEVICES=", // nodes with GPUs name theirs
		"RAY_ADDRESS="+r.GCS,    // else Ray looks for clusters among all processes, and finds others
		"RAY_AUTH_MODE=token", "RAY_AUTH_TOKEN="+r.Endpoint.Token,
		"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0", // node.py says why
		"RAY_DEDUP_LOGS=0", "RAY_COLOR_PREFIX=0", "RAY_USAGE_STATS_ENABLED=0",
		// A dashboard whose parts take longer to start, 30 seconds by default, ends
		// for good, and the cluster goes on without: seen on a busy machine.
		fmt.Sprintf("RAY_DASHBOARD_SUBPROCESS_MODULE_WAIT_READY_TIMEOUT=%.0f", startTimeout.Seconds()),
	)
}

// nodeEnviron is what the i-th node has beside the others.
func (s Store) nodeEnviron(r Record, i int) []string {
	environ := []string{"TRAINYARD_AWAIT=" + filepath.Join(r.nodeDir(headName), "session_latest", "sockets", "raylet")}
	if gpus := r.Layout.GPUs[i]; len(gpus) > 0 {
		environ = append(environ, "CUDA_VISIBLE_DEVICES="+strings.Join(gpus, ","))
	}
	if r.Layout.AsHosts {
		environ = append(environ, fmt.Sprintf("NCCL_HOSTID=%s-%d", r.ID, i))
	}
	return environ
}

// cpus is a node's share for work: one for each worker, and where GPUs do the
// work the others for loading data.
func cpus(l Layout) int {
	if l.TotalGPUs() == 0 {
		return l.WorkersPerNode
	}
	return max(l.WorkersPerNode, runtime.NumCPU()/l.Nodes())
}

// objectStoreBytes gives each of n nodes its part of the share of memory that
// Ray gives to objects on a whole machine, 30 %.
func objectStoreBytes(n int) string {
	const smallest = 128 << 20 // Ray refuses less than 75 MB
	total := uint64(4 << 30)
	if vm, err := mem.VirtualMemory(); err == nil {
		total = vm.Total
	}
	return strconv.FormatUint(max(total*3/10/uint64(n), smallest), 10) //nolint:gosec // n is a small count
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails: crypto/rand
	return hex.EncodeToString(b)
}
