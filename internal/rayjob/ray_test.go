package rayjob

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/wait"
)

// These tests need a running Ray with a head and at least two worker nodes of
// one CPU each:
//
//	TRAINYARD_TEST_RAY_ADDRESS=http://127.0.0.1:8265 TRAINYARD_TEST_RAY_TOKEN=… go test ./internal/rayjob
const (
	addressEnv = "TRAINYARD_TEST_RAY_ADDRESS"
	tokenEnv   = "TRAINYARD_TEST_RAY_TOKEN"
)

func rayAddress(t *testing.T) (address, token string) {
	t.Helper()
	address, token = os.Getenv(addressEnv), os.Getenv(tokenEnv)
	if address == "" {
		t.Skipf("needs a running Ray: %s is not set", addressEnv)
	}
	return address, token
}

func newRay(t *testing.T) *Client {
	t.Helper()
	address, token := rayAddress(t)
	return newClient(t, address, token)
}

func newClient(t *testing.T, address, token string) *Client {
	t.Helper()
	c, err := New(address, token, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// deadline bounds a test against a Ray that hangs.
func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// newZip writes a package with one program.
func newZip(t *testing.T, program string) (name, file string) {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	w, err := z.Create("job.py")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, program); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "package.zip")
	if err := os.WriteFile(file, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("_ray_pkg_%x.zip", sha256.Sum256(buf.Bytes()))[:41] + ".zip", file
}

var serial atomic.Int64

// submit starts a job and makes sure that it is gone after the test.
func submit(t *testing.T, c *Client, entrypoint string, env RuntimeEnv) string {
	t.Helper()
	id := fmt.Sprintf("test-%d-%d", time.Now().UnixNano(), serial.Add(1))
	if err := c.Submit(deadline(t), Submission{Entrypoint: entrypoint, ID: id, RuntimeEnv: env, Metadata: map[string]string{"test": t.Name()}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.Stop(ctx, id); IsNotFound(err) {
			return
		} else if err != nil {
			t.Error(err)
		}
		if _, err := c.WaitForEnd(ctx, id, nil); err != nil {
			t.Error(err)
		}
		if err := c.Delete(ctx, id); err != nil {
			t.Error(err)
		}
	})
	return id
}

// submitPython starts a job that runs the program.
func submitPython(t *testing.T, c *Client, program string) string {
	t.Helper()
	name, file := newZip(t, program)
	uri, _, err := c.Upload(deadline(t), name, file)
	if err != nil {
		t.Fatal(err)
	}
	return submit(t, c, "python job.py", RuntimeEnv{WorkingDir: uri, EnvVars: map[string]string{"RAY_DEDUP_LOGS": "0"}})
}

// driverLog waits for the job's end and returns what its driver printed.
func driverLog(t *testing.T, c *Client, id string) string {
	t.Helper()
	log := collect(t, Collector{Client: c, SubmissionID: id}).files[driverFile(id)]
	if log == nil {
		return ""
	}
	return log.String()
}

func TestRayVersionAndNodes(t *testing.T) {
	c := newRay(t)
	v, err := c.Version(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	if v.Ray == "" || v.Session == "" {
		t.Errorf("version %+v", v)
	}
	nodes, err := c.Nodes(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	heads, cpus := 0, 0.0
	for _, n := range nodes {
		if n.Alive() {
			cpus += n.Resources["CPU"]
		}
		if n.IsHead {
			heads++
		}
		if n.ID == "" || n.IP == "" {
			t.Errorf("node without id or address: %+v", n)
		}
	}
	if heads != 1 || cpus < 2 {
		t.Errorf("%d heads and %v CPUs in %+v", heads, cpus, nodes)
	}
}

func TestRayWrongToken(t *testing.T) {
	address, token := rayAddress(t)
	if token == "" {
		t.Skipf("needs a Ray with token authentication: %s is not set", tokenEnv)
	}
	for _, test := range []struct{ token, status string }{{"wrong-" + token, "403"}, {"", "401"}} {
		_, err := newClient(t, address, test.token).Version(deadline(t))
		if err == nil || !strings.Contains(err.Error(), test.status) || strings.Contains(err.Error(), token) {
			t.Errorf("error %v, want status %s and no token", err, test.status)
		}
		if hints := fault.HintsOf(err); len(hints) != 1 || !strings.Contains(hints[0], "RAY_AUTH_TOKEN") {
			t.Errorf("hints %q", hints)
		}
	}
}

func TestRayOutcomes(t *testing.T) {
	c := newRay(t)
	const raising = "import ray\n@ray.remote\ndef f(rank):\n  assert rank != 1, 'rank one is tired'\nray.get([f.remote(i) for i in range(2)])\n"
	name, file := newZip(t, raising)
	uri, _, err := c.Upload(deadline(t), name, file)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, entrypoint string
		env              RuntimeEnv
		status           Status
		exit             int // -1: the driver has none
		errorType, says  string
	}{
		{"ok", "echo well $WHO", RuntimeEnv{EnvVars: map[string]string{"WHO": "done"}}, Succeeded, 0, "", "well done"},
		{"fails", "echo bad; exit 7", RuntimeEnv{}, Failed, 7, "JOB_ENTRYPOINT_COMMAND_ERROR", "bad"},
		{"command not found", "no-such-command --x", RuntimeEnv{}, Failed, 127, "JOB_ENTRYPOINT_COMMAND_ERROR", "no-such-command: not found"},
		{"one rank raises", "python job.py", RuntimeEnv{WorkingDir: uri}, Failed, 1, "JOB_ENTRYPOINT_COMMAND_ERROR", "rank one is tired"},
		{"set-up fails", "true", RuntimeEnv{WorkingDir: "gcs://_ray_pkg_none.zip"}, Failed, -1, "RUNTIME_ENV_SETUP_FAILURE", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			id := submit(t, c, test.entrypoint, test.env)
			lines := driverLog(t, c, id)
			job, err := c.WaitForEnd(deadline(t), id, nil)
			if err != nil {
				t.Fatal(err)
			}
			exit := -1
			if job.DriverExitCode != nil {
				exit = *job.DriverExitCode
			}
			if job.Status != test.status || exit != test.exit || job.ErrorType != test.errorType {
				t.Errorf("status %s, exit code %d, error type %q, message %q", job.Status, exit, job.ErrorType, job.Message)
			}
			if test.status == Failed && job.Message == "" {
				t.Error("no message")
			}
			if !strings.Contains(lines, test.says) {
				t.Errorf("log %q does not hold %q", lines, test.says)
			}
		})
	}
}

func TestRayStop(t *testing.T) {
	c := newRay(t)
	id := submit(t, c, "echo started; sleep 600", RuntimeEnv{})
	var log strings.Builder
	var stop sync.Once
	collector := Collector{Client: c, SubmissionID: id, Emit: func(chunk Chunk) {
		log.Write(chunk.Data)
		if !strings.Contains(log.String(), "started\n") {
			return
		}
		stop.Do(func() {
			if err := c.Stop(t.Context(), id); err != nil {
				t.Error(err)
			}
		})
	}}
	if err := collector.Run(deadline(t)); err != nil {
		t.Fatal(err)
	}
	job, err := c.Job(deadline(t), id)
	if err != nil || job.Status != Stopped {
		t.Errorf("status %s, error %v; log %q", job.Status, err, log.String())
	}
}

// TestRayPlacement has a job ask for more than there is, in each of the ways that
// Ray tells of, and for what there is.
func TestRayPlacement(t *testing.T) {
	c := newRay(t)
	tests := []struct {
		name, program string
		want          Placement
	}{
		{
			"placement group",
			`ray.util.placement_group([{"CPU": 1}] * 4); time.sleep(600)`,
			Placement{Waiting: []Resources{{"CPU": 1}, {"CPU": 1}, {"CPU": 1}, {"CPU": 1}}},
		},
		{
			"actor",
			`A = ray.remote(num_gpus=3)(type("A", (), {})); a = A.remote(); time.sleep(600)`,
			Placement{Waiting: []Resources{{"CPU": 1, "GPU": 3}}},
		},
		{
			"room",
			`A = ray.remote(num_cpus=1)(type("A", (), {})); a = A.remote(); b = ray.util.placement_group([{"CPU": 9}]); time.sleep(600)`,
			Placement{Placed: true, Waiting: []Resources{{"CPU": 9}}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx := deadline(t)
			name, file := newZip(t, "import ray, time\nray.init()\n"+test.program)
			uri, _, err := c.Upload(ctx, name, file)
			if err != nil {
				t.Fatal(err)
			}
			id := submit(t, c, "python job.py", RuntimeEnv{WorkingDir: uri})
			err = wait.For(ctx, wait.Options{Interval: 200 * time.Millisecond, Timeout: time.Minute}, func(ctx context.Context) (bool, string, error) {
				job, err := c.Job(ctx, id)
				if err != nil || job.ID == "" {
					return false, string(job.Status), err
				}
				got, err := c.Placement(ctx, job.ID)
				return reflect.DeepEqual(got, test.want), fmt.Sprintf("%+v", got), err
			})
			if err != nil {
				t.Errorf("%v, want %+v", err, test.want)
			}
			if err := c.Stop(ctx, id); err != nil {
				t.Fatal(err)
			}
			if _, err := c.WaitForEnd(ctx, id, nil); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestRayOutput(t *testing.T) {
	c := newRay(t)
	id := submit(t, c, "echo one; echo two >&2", RuntimeEnv{})
	if _, err := c.WaitForEnd(deadline(t), id, nil); err != nil {
		t.Fatal(err)
	}
	output, err := c.Output(deadline(t), id)
	if err != nil || !strings.Contains(output, "one\n") || !strings.Contains(output, "two\n") {
		t.Errorf("Output = %q, %v, want both lines", output, err)
	}
	if _, err := c.Output(deadline(t), "no-such-job"); !IsNotFound(err) {
		t.Errorf("output of a job that is not there: %v, want not found", err)
	}
}

func TestRayDelete(t *testing.T) {
	c := newRay(t)
	id := submit(t, c, "true", RuntimeEnv{})
	if _, err := c.WaitForEnd(deadline(t), id, nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Delete(deadline(t), id); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.Job(deadline(t), id); !IsNotFound(err) {
		t.Errorf("error %v, want not found", err)
	}
}

func TestRaySubmissionIDTaken(t *testing.T) {
	c := newRay(t)
	id := submit(t, c, "true", RuntimeEnv{})
	err := c.Submit(deadline(t), Submission{Entrypoint: "false", ID: id})
	if err == nil || !strings.Contains(err.Error(), "already exists") || strings.Contains(err.Error(), "Traceback") {
		t.Errorf("error %v", err)
	}
}

// TestRaySubmitTwice: where the answer to the first was lost, the second finds
// the job there.
func TestRaySubmitTwice(t *testing.T) {
	c := newRay(t)
	id := submit(t, c, "true", RuntimeEnv{})
	if err := c.Submit(deadline(t), Submission{Entrypoint: "true", ID: id}); err != nil {
		t.Errorf("the second time: %v", err)
	}
}

func TestRayUploadTwice(t *testing.T) {
	c := newRay(t)
	name, file := newZip(t, fmt.Sprintf("# %d\n", time.Now().UnixNano()))
	var existed [2]bool
	for i := range existed {
		var err error
		if _, existed[i], err = c.Upload(deadline(t), name, file); err != nil {
			t.Fatal(err)
		}
	}
	if want := [2]bool{false, true}; existed != want {
		t.Errorf("existed %v, want %v", existed, want)
	}
}

// TestRayUploadLimit holds pack.MaxZipBytes: what Ray takes and what not.
func TestRayUploadLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 100 MiB")
	}
	c := newRay(t)
	file := filepath.Join(t.TempDir(), "large.zip")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 100<<20+1); err != nil {
		t.Fatal(err)
	}
	_, _, err := c.Upload(deadline(t), "_ray_pkg_too_large.zip", file)
	if err == nil || !strings.Contains(err.Error(), "413") {
		t.Errorf("error %v, want status 413", err)
	}
}

func TestDashboardDown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := New(address, "secret-token", Options{Patience: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Version(t.Context())
	if err == nil || !strings.Contains(err.Error(), "connection refused (tried for 1s)") || strings.Contains(err.Error(), "secret-token") {
		t.Errorf("error %v", err)
	}
}

// TestRayLargeDriverLog has a driver print 20 MB as fast as it can.
func TestRayLargeDriverLog(t *testing.T) {
	c := newRay(t)
	id := submitPython(t, c, "for i in range(200_000): print(f'line {i} ' + 'x'*90)\n")
	next := 0
	for line := range strings.Lines(driverLog(t, c, id)) {
		if !strings.HasPrefix(line, "line ") {
			continue
		}
		if want := fmt.Sprintf("line %d ", next); !strings.HasPrefix(line, want) {
			t.Fatalf("line %q, want %q", line, want)
		}
		next++
	}
	if next != 200_000 {
		t.Errorf("%d lines, want 200000", next)
	}
}

// cuttingProxy passes connections on to Ray and cuts each after some bytes:
// first few, then twice as many each time, so that all gets through in the end.
type cuttingProxy struct {
	target string
	budget atomic.Int64
	cuts   atomic.Int64
}

func newCuttingProxy(t *testing.T, address string, first int64) (*cuttingProxy, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &cuttingProxy{target: strings.TrimPrefix(address, "http://")}
	p.budget.Store(first)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() { _ = l.Close() })
	return p, "http://" + l.Addr().String()
}

func (p *cuttingProxy) serve(client net.Conn) {
	defer client.Close()
	ray, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer ray.Close()
	go func() {
		_, _ = io.Copy(ray, client)
		_ = ray.Close()
	}()
	budget := p.budget.Load()
	if n, _ := io.CopyN(client, ray, budget); n == budget {
		p.cuts.Add(1)
		p.budget.CompareAndSwap(budget, 2*budget)
	}
}
