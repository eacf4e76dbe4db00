package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// patience is how long a test waits for what takes seconds on a quiet machine.
const patience = 3 * time.Minute

// program is this program with a cluster, started as others start it.
type program struct {
	cmd        *exec.Cmd
	stdin      io.WriteCloser
	kubeconfig string
	control    string // URL
	image      string // with real nodes
	mounts     []string
}

// build builds this program and returns its path.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "cluster")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	return binary
}

// start runs argv, which is this program without a command, or runs it.
func start(t *testing.T, argv ...string) *program {
	t.Helper()
	p := &program{cmd: exec.Command(argv[0], argv[1:]...)} // its end is part of the tests
	p.cmd.Stderr = os.Stderr
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("reading the variables: %v", err)
	}
	for _, field := range strings.Fields(line) {
		switch name, value, _ := strings.Cut(field, "="); name {
		case "TRAINYARD_TEST_KUBECONFIG":
			p.kubeconfig = value
		case "TRAINYARD_TEST_CONTROL":
			p.control = value
		case "TRAINYARD_TEST_IMAGE":
			p.image = value
		case "TRAINYARD_TEST_MOUNTS":
			p.mounts = filepath.SplitList(value)
		}
	}
	return p
}

// end closes standard input and waits for the program.
func (p *program) end(t *testing.T) {
	t.Helper()
	if err := p.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
}

// post calls the control interface and returns the answer.
func (p *program) post(t *testing.T, path string, body any) []byte {
	t.Helper()
	content, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.control+path, bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		t.Fatalf("POST %s: %s: %s", path, response.Status, answer)
	}
	return answer
}

// config is the administrator's access.
func (p *program) config(t *testing.T) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// processes returns the command lines that name the cluster's folder, of one
// program or of all.
func (p *program) processes(t *testing.T, name string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		content, err := os.ReadFile(file)
		line := strings.ReplaceAll(string(content), "\x00", " ")
		if err == nil && strings.Contains(line, filepath.Dir(p.kubeconfig)+"/") && strings.Contains(line, name) {
			found = append(found, line)
		}
	}
	return found
}

// eventually waits until look returns "", or fails with what it returned last.
func eventually(t *testing.T, look func(context.Context) string) {
	t.Helper()
	var last string
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		last = look(ctx)
		return last == "", nil
	})
	if err != nil {
		t.Fatalf("%v: %s", err, last)
	}
}
