package e2e

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/test/kubetest"
)

// TestKubernetesInterrupted ends train and down at the first request of each kind
// that they make, of Kubernetes and of Ray: by Ctrl-C at all of them, by kill -9 at
// those that change something. No job is left by a Ctrl-C, the next command goes on
// with what there is, and down leaves nothing.
func TestKubernetesInterrupted(t *testing.T) {
	ray, token := os.Getenv("TRAINYARD_TEST_RAY_ADDRESS"), os.Getenv("TRAINYARD_TEST_RAY_TOKEN")
	if ray == "" {
		t.Skip("SKIPPED: needs a Kubernetes and a Ray: make test-cluster")
	}
	l := &interrupting{Lab: kubetest.New(t), T: t, ray: ray, token: token, dir: t.TempDir(), home: t.TempDir()}
	fakeNodes(l.Lab)
	l.Empty()
	l.gates(t)
	l.write()
	for _, line := range [][]string{{"train", "--", "python", "job.py"}, {"down", "--force"}} {
		l.must(0, line...)
	}
	apiKinds, rayKinds := l.api.kinds(), l.jobs.kinds()
	if len(apiKinds) < 15 || len(rayKinds) < 6 {
		t.Fatalf("only these requests were seen:\n%s", strings.Join(append(apiKinds, rayKinds...), "\n"))
	}
	for _, of := range []struct {
		gate  *gate
		kinds []string
	}{{l.api, apiKinds}, {l.jobs, rayKinds}} {
		for _, kind := range of.kinds {
			t.Run(kind, func(t *testing.T) {
				l := l.with(t)
				l.interrupted(of.gate, kind)
				if !strings.HasPrefix(kind, http.MethodGet) {
					l.killed(of.gate, kind)
				}
			})
		}
	}
}

// interrupting is what a test of interruptions has: a namespace, and a gate before
// each of its servers.
type interrupting struct {
	*kubetest.Lab
	*testing.T
	ray, token string
	api, jobs  *gate
	dir, home  string // of the run, and of its user
}

// with is the same for a part of the test.
func (l *interrupting) with(t *testing.T) *interrupting {
	part, lab := *l, *l.Lab
	lab.TB = t
	part.Lab, part.T = &lab, t
	return &part
}

func (l *interrupting) gates(t *testing.T) {
	config, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig)
	l.Must(err)
	config.NextProtos = []string{"http/1.1"}
	transport, err := rest.TransportFor(config)
	l.Must(err)
	api, err := url.Parse(config.Host)
	l.Must(err)
	jobs, err := url.Parse(l.ray)
	l.Must(err)
	l.api = newGate(t, api, transport, kindOf)
	l.jobs = newGate(t, jobs, http.DefaultTransport, kindOf)
	leadToRay(l.Lab, l.jobs.URL, l.token)
	for path, content := range map[string]string{
		l.dir + "/trainyard.yaml": strings.ReplaceAll(fakeRunFile, "NAMESPACE", l.Namespace),
		l.home + "/kubeconfig": "current-context: here\ncontexts: [{name: here, context: {cluster: c, user: u}}]\n" +
			"clusters: [{name: c, cluster: {server: " + l.api.URL + "}}]\nusers: [{name: u, user: {}}]\n",
	} {
		l.Must(os.WriteFile(path, []byte(content), 0o600))
	}
}

// varies are the parts of a path that are others in each run.
var varies = regexp.MustCompile(`/namespaces/test-\w+|(ray-head|worker)-\w+|trainyard-\d{8}-\w+-\w+|\b[0-9a-f]{8,}\b|_ray_pkg_\w+`)

// kindOf is what a request is about, the same in each run.
func kindOf(r *http.Request) string {
	kind := r.Method + " " + varies.ReplaceAllString(r.URL.Path, "$1")
	if r.URL.Query().Get("watch") != "" {
		kind += " watch"
	}
	return kind
}

// write makes another program to run, which Ray does not have yet.
func (l *interrupting) write() {
	l.Must(os.WriteFile(filepath.Join(l.dir, "job.py"), fmt.Appendf(nil, "print('done', %d)\n", time.Now().UnixNano()), 0o600))
}

// program is trainyard with a command line.
func (l *interrupting) program(line ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.CommandContext(l.T.Context(), "trainyard", line...)
	cmd.Dir = l.dir
	cmd.Env = []string{"HOME=" + l.home, "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + l.home + "/kubeconfig"}
	out := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out
}

// must runs trainyard and wants an exit code.
func (l *interrupting) must(code int, line ...string) {
	l.T.Helper()
	cmd, out := l.program(line...)
	if got := codeOf(cmd.Run()); got != code {
		l.T.Fatalf("trainyard %s ended with %d, want %d:\n%s", strings.Join(line, " "), got, code, out)
	}
}

// codeOf is an exit code; -1 after a signal.
func codeOf(err error) int {
	exit := new(exec.ExitError)
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	default:
		return -2
	}
}

// at sends a signal to the command that makes a request of a kind, train or else
// down, while the request waits, and returns how it ended.
func (l *interrupting) at(gate *gate, kind string, signal syscall.Signal) (code int, line, said string) {
	l.T.Helper()
	l.write()
	for _, line := range [][]string{{"train", "--", "python", "job.py"}, {"down", "--force"}} {
		reached, open := gate.hold(kind)
		defer open()
		cmd, out := l.program(line...)
		l.Must(cmd.Start())
		ended := waiting(cmd)
		deadline := time.After(patience)
		select {
		case <-reached:
			l.Must(cmd.Process.Signal(signal))
			if signal == syscall.SIGINT { // what tidies up may ask the same server
				time.AfterFunc(100*time.Millisecond, open)
			}
		case <-ended.ended:
			open()
			if code := codeOf(ended.err); code != 0 {
				l.T.Fatalf("%s ended with %d before %q:\n%s", line[0], code, kind, out)
			}
			continue
		case <-deadline:
			l.T.Fatalf("%s neither ends nor makes request %q:\n%s", line[0], kind, out)
		}
		return codeOf(ended.wait()), line[0], out.String()
	}
	l.T.Fatalf("no command makes request %q any longer", kind)
	return 0, "", ""
}

// interrupted presses Ctrl-C. A job that ended by itself meanwhile is done.
func (l *interrupting) interrupted(gate *gate, kind string) {
	l.T.Helper()
	code, line, said := l.at(gate, kind, syscall.SIGINT)
	if code != 130 && (code != 0 || !strings.Contains(said, "python job.py in ")) {
		l.T.Errorf("%s ended with %d, want 130:\n%s", line, code, said)
	}
	if running := l.running(); running != "" {
		l.T.Errorf("job %s is left by %s:\n%s", running, line, said)
	}
	l.nothingAfterDown()
}

// killed kills, and gives the same command again.
func (l *interrupting) killed(gate *gate, kind string) {
	l.T.Helper()
	code, line, said := l.at(gate, kind, syscall.SIGKILL)
	if code != -1 {
		l.T.Errorf("%s ended with %d: the test shows nothing:\n%s", line, code, said)
	}
	l.must(0, "train", "--", "python", "job.py")
	l.nothingAfterDown()
}

func (l *interrupting) nothingAfterDown() {
	l.T.Helper()
	l.must(0, "down", "--force")
	var clusters rayv1.RayClusterList
	l.Must(l.List(l.T.Context(), &clusters, client.InNamespace(l.Namespace)))
	for _, c := range clusters.Items {
		l.T.Errorf("RayCluster %s is left", c.Name)
	}
	stopJobs(l.T, l.ray, l.token) // which the head of a real cluster takes with it
}

// running names a job that runs.
func (l *interrupting) running() string {
	l.T.Helper()
	ray, err := rayjob.New(l.ray, l.token, rayjob.Options{})
	l.Must(err)
	jobs, err := ray.Jobs(l.T.Context())
	l.Must(err)
	for _, job := range jobs {
		if job.SubmissionID != "" && !job.Status.Terminal() {
			return fmt.Sprintf("%s, %s", job.SubmissionID, cmp.Or(job.Entrypoint, "?"))
		}
	}
	return ""
}
