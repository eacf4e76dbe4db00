package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// programs are those that a script has started.
type programs struct {
	dir    string // where their output goes
	byName map[string]*program
}

type programsKey struct{}

type program struct {
	cmd            *exec.Cmd
	stdout, stderr string // files
	ended          chan error
}

func (p *program) printed() []byte {
	out, _ := os.ReadFile(p.stdout)
	text, _ := os.ReadFile(p.stderr)
	return append(out, text...)
}

func programsOf(ts *testscript.TestScript) *programs {
	return ts.Value(programsKey{}).(*programs)
}

func programOf(ts *testscript.TestScript, name string) *program {
	p := programsOf(ts).byName[name]
	if p == nil {
		ts.Fatalf("no program %q was started", name)
	}
	return p
}

func start(ts *testscript.TestScript, args []string) {
	all := programsOf(ts)
	name := args[0]
	p := &program{stdout: filepath.Join(all.dir, name+".out"), stderr: filepath.Join(all.dir, name+".err"), ended: make(chan error, 1)}
	path, err := lookPath(args[1], ts.Getenv("PATH"))
	ts.Check(err)
	p.cmd = exec.Command(path, args[2:]...)
	p.cmd.Env = environ(ts)
	p.cmd.Dir = ts.MkAbs(".")
	out, err := os.Create(p.stdout)
	ts.Check(err)
	defer out.Close()
	text, err := os.Create(p.stderr)
	ts.Check(err)
	defer text.Close()
	p.cmd.Stdout, p.cmd.Stderr = out, text
	ts.Check(p.cmd.Start())
	go func() { p.ended <- p.cmd.Wait() }()
	all.byName[name] = p
}

// lookPath finds a program in the folders of the script's own PATH.
func lookPath(name, path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if full, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return full, nil
		}
	}
	return exec.LookPath(name)
}

// environ asks for the script's environment, which testscript does not give
// away, the way a script would.
func environ(ts *testscript.TestScript) []string {
	ts.Check(ts.Exec("env", "-0"))
	return strings.Split(strings.TrimSuffix(ts.ReadFile("stdout"), "\x00"), "\x00")
}

func shows(ts *testscript.TestScript, args []string) {
	p := programOf(ts, args[0])
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	deadline := time.Now().Add(patience)
	for !pattern.Match(p.printed()) {
		select {
		case err := <-p.ended:
			p.ended <- err
			if !pattern.Match(p.printed()) {
				ts.Fatalf("%s ended (%v) and did not show %q:\n%s", args[0], err, args[1], p.printed())
			}
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s did not show %q within %s:\n%s", args[0], args[1], patience, p.printed())
		}
	}
}

func sendSignal(ts *testscript.TestScript, args []string) {
	number := unix.SignalNum("SIG" + args[1])
	if number == 0 {
		ts.Fatalf("no signal is called %q", args[1])
	}
	ts.Check(programOf(ts, args[0]).cmd.Process.Signal(number))
}

func ends(ts *testscript.TestScript, args []string) {
	p := programOf(ts, args[0])
	var err error
	select {
	case err = <-p.ended:
		p.ended <- err
	case <-time.After(patience):
		ts.Fatalf("%s does not end:\n%s", args[0], p.printed())
	}
	out, _ := os.ReadFile(p.stdout)
	text, _ := os.ReadFile(p.stderr)
	_, _ = ts.Stdout().Write(out)
	_, _ = ts.Stderr().Write(text)
	if state, _ := endOf(err); state != args[1] {
		ts.Fatalf("%s ended with %s, want %s", args[0], state, args[1])
	}
}
