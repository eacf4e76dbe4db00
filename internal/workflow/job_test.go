package workflow

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/runs"
)

func TestShellJoin(t *testing.T) {
	for want, args := range map[string][]string{
		"python -m trainyard.train --learning-rate 2e-5": {"python", "-m", "trainyard.train", "--learning-rate", "2e-5"},
		"python t.py --name 'a b' ''":                    {"python", "t.py", "--name", "a b", ""},
		`sh -c 'echo $HOME; it'\''s'`:                    {"sh", "-c", "echo $HOME; it's"},
		"x '*.py' '~' 'a\nb'":                            {"x", "*.py", "~", "a\nb"},
	} {
		if got := shellJoin(args); got != want {
			t.Errorf("shellJoin(%q) = %s, want %s", args, got, want)
		}
	}
}

func TestCommandOfBuiltInTraining(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("book.txt", []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := &config.Config{Train: config.Train{
		Model: "tiny", Steps: 20, LearningRate: 2e-5, NumWorkers: 2, Data: "book.txt",
	}}
	got, err := command(cfg, "/runs/x/checkpoints")
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	want := "python -m trainyard.train --model tiny --steps 20 --seed 0 --max-failures 0 --checkpoint-dir " +
		"/runs/x/checkpoints --learning-rate 2e-05 --num-workers 2 --data " + here + "/book.txt"
	if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
		t.Errorf("command (-want +got):\n%s", diff)
	}

	cfg.Train.Data = "stdlib"
	cfg.Train.Resume = "nowhere"
	_, err = command(cfg, "/runs/x/checkpoints")
	if want := `looking for "nowhere": no such file or directory`; err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
	if fault.CodeOf(err) != fault.Usage {
		t.Errorf("code = %d, want a usage error", fault.CodeOf(err))
	}
}

func TestCheckCommand(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	for _, file := range []string{"bin/python3.11", "bin/torchrun", "program/run.sh", "program/train.py", "else/tool"} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o700)
		if strings.HasSuffix(file, ".py") {
			mode = 0o600
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		command string
		problem string
	}{
		{"", ""},
		{"python train.py --lr 1", ""},
		{"python -m package", ""},
		{"python -c 1", ""},
		{"torchrun train.py", ""},
		{"tool", ""},
		{"./run.sh", ""},
		{"python tarin.py", `looking for script "tarin.py" in "` + dir + `/program": no such file`},
		{"torchrum train.py", `looking for command "torchrum": neither the Python environment nor PATH has it`},
		{"./train.py", `looking for command "` + dir + `/program/train.py": permission denied`},
		{"/no/such/file", `looking for command "/no/such/file": stat /no/such/file: no such file or directory`},
	}
	for _, test := range tests {
		job := config.Job{Command: strings.Fields(test.command), WorkingDir: filepath.Join(dir, "program")}
		err := checkCommand(job, filepath.Join(bin, "python3.11"), filepath.Join(dir, "else"))
		got := ""
		if err != nil {
			got = err.Error()
			if fault.CodeOf(err) != fault.Usage {
				t.Errorf("checkCommand(%q): code %d, want a usage error", test.command, fault.CodeOf(err))
			}
		}
		if got != test.problem {
			t.Errorf("checkCommand(%q) = %q, want %q", test.command, got, test.problem)
		}
	}
}

func TestSubmission(t *testing.T) {
	cfg := &config.Config{Job: config.Job{Env: map[string]string{"NCCL_DEBUG": "WARN", "MINE": "1"}}}
	run := &runs.Run{Info: runs.Info{ID: "20261130-abcd", SubmissionID: "trainyard-20261130-abcd"}}
	unset := func(string) (string, bool) { return "", false }
	s := submission(cfg, run, []string{"python", "x y"}, "gcs://p.zip", unset)
	want := map[string]string{
		"NCCL_DEBUG": "WARN", "MINE": "1", "TRAINYARD_METRICS": "json", "RAY_TRAIN_ENABLE_PRINT_PATCH": "0",
	}
	if diff := cmp.Diff(want, s.RuntimeEnv.EnvVars); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	if s.Entrypoint != "python 'x y'" || s.RuntimeEnv.WorkingDir != "gcs://p.zip" || s.Metadata["trainyard_run"] != "20261130-abcd" {
		t.Errorf("submission = %+v", s)
	}

	// The user's own choice in the environment is inherited by the cluster.
	set := func(string) (string, bool) { return "TRACE", true }
	cfg.Job = config.Job{Command: []string{"x"}}
	if got := submission(cfg, run, nil, "", set).RuntimeEnv.EnvVars; got["NCCL_DEBUG"] != "" || got["TRAINYARD_METRICS"] != "" {
		t.Errorf("variables = %v, want neither NCCL_DEBUG nor TRAINYARD_METRICS", got)
	}
}

func TestAddPackages(t *testing.T) {
	caller := func(name string) (string, bool) {
		return map[string]string{"PYTHONPATH": "/caller"}[name], name == "PYTHONPATH"
	}
	nobody := func(string) (string, bool) { return "", false }
	tests := []struct {
		name      string
		dir       string
		lookup    func(string) (string, bool)
		env, want map[string]string
	}{
		{"none", "", caller, map[string]string{"A": "1"}, map[string]string{"A": "1"}},
		{"alone", "/p", nobody, map[string]string{}, map[string]string{"PYTHONPATH": "/p", "PATH": "/p/bin:${PATH}"}},
		{"the caller's", "/p", caller, map[string]string{}, map[string]string{"PYTHONPATH": "/p:/caller", "PATH": "/p/bin:${PATH}"}},
		{
			"the job's own", "/p", caller,
			map[string]string{"PYTHONPATH": "src", "PATH": "/own"},
			map[string]string{"PYTHONPATH": "/p:src", "PATH": "/p/bin:/own"},
		},
		{
			"the job's own is empty", "/p", caller,
			map[string]string{"PYTHONPATH": ""},
			map[string]string{"PYTHONPATH": "/p", "PATH": "/p/bin:${PATH}"},
		},
	}
	for _, test := range tests {
		addPackages(test.env, test.dir, test.lookup)
		if diff := cmp.Diff(test.want, test.env); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestSubmissionID: two folders may come to the same run id.
func TestSubmissionID(t *testing.T) {
	first, second := submissionID("20261130-abcd"), submissionID("20261130-abcd")
	if first == second || !strings.HasPrefix(first, "trainyard-20261130-abcd-") {
		t.Errorf("submission ids %q and %q", first, second)
	}
}
