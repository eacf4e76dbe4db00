package e2e

import (
	"encoding/json"
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/trainyard/trainyard/test/leftover"
)

// patience is how long a script waits for something to show.
const patience = 3 * time.Minute

// commands are the words that scripts have beside testscript's own:
//
//	exits CODE PROGRAM [ARGUMENT...]
//	    Run a program that must end with this exit code. What it printed can
//	    be looked at with stdout, stderr and cmp.
//	start NAME PROGRAM [ARGUMENT...]
//	    Run a program in the background.
//	shows NAME PATTERN
//	    Wait until the program has printed a line that matches.
//	signal NAME SIGNAL
//	    Send it a signal: INT, HUP, KILL.
//	ends NAME CODE
//	    Wait for its end, with an exit code or by a signal. Then stdout and
//	    stderr are what it printed.
//	until PATTERN PROGRAM [ARGUMENT...]
//	    Run a program again and again, whether it succeeds or not, until its
//	    standard output matches.
//	newest VARIABLE
//	    Set a variable to the folder of the newest run.
//	json FILE KEY VALUE
//	    A JSON file has this value; a.b is key b of a, and a value that is not
//	    text is written as JSON. FILE may be stdout.
//	jsonlines FILE
//	    Every line of the file is a JSON object. FILE may be stdout or stderr.
//	random FILE MEGABYTES
//	    Write a file that cannot be compressed.
//	image VARIABLE
//	    Serve a container registry, and set a variable to an image in it.
//	nothingleft
//	    Nothing is left of the script's clusters, of which there was one or
//	    more. Every script is looked at so when it has ended; this is for the
//	    middle of one.
func commands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	all := map[string]struct {
		arguments int // or more
		do        func(ts *testscript.TestScript, args []string)
	}{
		"exits":       {2, exits},
		"start":       {2, start},
		"shows":       {2, shows},
		"signal":      {2, sendSignal},
		"ends":        {2, ends},
		"until":       {2, until},
		"newest":      {1, newest},
		"json":        {3, jsonValue},
		"jsonlines":   {1, jsonLines},
		"random":      {2, random},
		"image":       {1, image},
		"nothingleft": {0, nothingLeft},
	}
	cmds := make(map[string]func(ts *testscript.TestScript, neg bool, args []string), len(all))
	for name, cmd := range all {
		cmds[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) < cmd.arguments {
				ts.Fatalf("usage: see commands_test.go")
			}
			cmd.do(ts, args)
		}
	}
	return cmds
}

func exits(ts *testscript.TestScript, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	state, ran := endOf(err)
	if !ran {
		ts.Fatalf("running %q: %v", args[1], err)
	}
	if state != args[0] {
		ts.Fatalf("%s ended with %s, want %s", args[1], state, args[0])
	}
}

// endOf says how a program ended: its exit code, or the name of the signal
// that killed it. ran is false where it did not start.
func endOf(err error) (state string, ran bool) {
	exit := new(exec.ExitError)
	switch {
	case err == nil:
		return "0", true
	case !errors.As(err, &exit):
		return "", false
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return strings.TrimPrefix(unix.SignalName(status.Signal()), "SIG"), true
	}
	return strconv.Itoa(exit.ExitCode()), true
}

func until(ts *testscript.TestScript, args []string) {
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	deadline := time.Now().Add(patience)
	for {
		err := ts.Exec(args[1], args[2:]...) // what it looks at may be yet to come
		if pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("not within %s: %q; at last %s ended so: %v", patience, args[0], args[1], err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func newest(ts *testscript.TestScript, args []string) {
	files, err := filepath.Glob(ts.MkAbs(".trainyard/runs/*/run.json"))
	ts.Check(err)
	var found string
	var created time.Time
	for _, file := range files {
		var run struct{ Created time.Time }
		data, err := os.ReadFile(file)
		ts.Check(err)
		ts.Check(json.Unmarshal(data, &run))
		if run.Created.After(created) {
			found, created = filepath.Dir(file), run.Created
		}
	}
	if found == "" {
		ts.Fatalf("there is no run")
	}
	ts.Setenv(args[0], found)
}

func jsonValue(ts *testscript.TestScript, args []string) {
	var value any
	if err := json.Unmarshal([]byte(ts.ReadFile(args[0])), &value); err != nil {
		ts.Fatalf("%s is no JSON: %v", args[0], err)
	}
	for key := range strings.SplitSeq(args[1], ".") {
		value = at(value, key)
	}
	got, isText := value.(string)
	if !isText {
		data, err := json.Marshal(value)
		ts.Check(err)
		got = string(data)
	}
	if got != args[2] {
		ts.Fatalf("%s: %s is %s, want %s", args[0], args[1], got, args[2])
	}
}

// at is one step into a JSON value: a key of an object or an index of a list.
func at(value any, key string) any {
	switch v := value.(type) {
	case map[string]any:
		return v[key]
	case []any:
		if i, err := strconv.Atoi(key); err == nil && i < len(v) {
			return v[i]
		}
	}
	return nil
}

func jsonLines(ts *testscript.TestScript, args []string) {
	text := strings.TrimSuffix(ts.ReadFile(args[0]), "\n")
	for i, line := range strings.Split(text, "\n") {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			ts.Fatalf("line %d of %s is no JSON object: %v\n%s", i+1, args[0], err, line)
		}
	}
}

func random(ts *testscript.TestScript, args []string) {
	megabytes, err := strconv.Atoi(args[1])
	ts.Check(err)
	data := make([]byte, megabytes<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data) // never fails
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o600))
}

func image(ts *testscript.TestScript, args []string) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	ts.Defer(server.Close)
	reference := strings.TrimPrefix(server.URL, "http://") + "/ray:v1"
	tag, err := name.NewTag(reference)
	ts.Check(err)
	ts.Check(remote.Write(tag, empty.Image))
	ts.Setenv(args[0], reference)
}

func nothingLeft(ts *testscript.TestScript, _ []string) {
	w := ts.Value(watchKey{}).(*leftover.Watch)
	if w.Clusters() == 0 {
		ts.Fatalf("the script had no cluster: nothing can be left")
	}
	left, err := w.Left(false)
	ts.Check(err)
	if len(left) > 0 {
		ts.Fatalf("left:\n  %s", strings.Join(left, "\n  "))
	}
}
