package workflow

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/internal/runs"
	"github.com/trainyard/trainyard/train"
)

// settings is a configuration with these lines below train: in the run file.
func settings(t *testing.T, lines ...string) *config.Config {
	t.Helper()
	file := "version: 1\ntrain:\n"
	for _, line := range lines {
		file += "  " + line + "\n"
	}
	cfg, err := config.Load(config.Sources{File: []byte(file), FileName: config.FileName})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestCommandOfBuiltInTraining(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"book.txt", "run/step-000100/manifest.json", "qwen/config.json"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const start = "python -m trainyard.train --model "
	tests := []struct {
		name     string
		settings []string
		want     string
	}{
		{"nothing asked for", nil, start + "tiny --checkpoint-dir /r/checkpoints"},
		{"defaults in the file", []string{"seed: 42", "steps: 0", "parallel: auto"}, start + "tiny --checkpoint-dir /r/checkpoints"},
		{"a preset", []string{"model: qwen2.5-1.5b"}, start + "qwen2.5-1.5b --checkpoint-dir /r/checkpoints"},
		{"an id", []string{"model: Qwen/Qwen2.5-7B"}, start + "Qwen/Qwen2.5-7B --checkpoint-dir /r/checkpoints"},
		{"a folder", []string{"model: qwen", "tokenizer: ./qwen"}, start + here + "/qwen --checkpoint-dir /r/checkpoints --tokenizer " + here + "/qwen"},
		{"a hook", []string{"model: mymodel:build"}, start + "mymodel:build --checkpoint-dir /r/checkpoints"},
		{
			"paths and URIs",
			[]string{"data: book.txt", "evalData: s3://b/held", "resume: run", "export: out", "checkpointDir: ckpt"},
			start + "tiny --data " + here + "/book.txt --eval-data s3://b/held --checkpoint-dir " + here + "/ckpt --resume " + here + "/run --export " + here + "/out",
		},
		{
			"numbers and words",
			[]string{"steps: 20", "learningRate: 2e-5", "warmupSteps: 0", "evalEvery: 5", "keep: 1", "activationCheckpointing: on", "maxFailures: -1", "data: random"},
			start + "tiny --checkpoint-dir /r/checkpoints --data random --steps 20 --learning-rate 2e-05 --warmup-steps 0 --eval-every 5 --activation-checkpointing on --max-failures -1 --keep 1",
		},
	}
	for _, test := range tests {
		got, err := command(settings(t, test.settings...), localPaths{"/r"})
		if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", test.name, err, diff)
		}
	}
}

func TestResume(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	for _, dir := range []string{"runs/20261130-aaaa", "plain"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("runs/20261130-aaaa/run.json", []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := here + "/runs/20261130-aaaa/checkpoints"
	for name, want := range map[string]string{"20261130-aaaa": want, "runs/20261130-aaaa": want, "plain": here + "/plain"} {
		got, err := command(settings(t, "resume: "+name), localPaths{here + "/runs/new"})
		if err != nil || got[len(got)-1] != want {
			t.Errorf("--resume %s: %q, %v; want %s", name, got, err, want)
		}
	}
}

func TestCommandNamesAllThatIsMissing(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := command(settings(t, "model: ./mine", "data: book.txt", "resume: nowhere"), localPaths{})
	want := `looking for "./mine": no such file or directory
looking for "book.txt": no such file or directory
looking for "nowhere": no such file or directory`
	if err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
	if fault.CodeOf(err) != fault.Usage {
		t.Errorf("code = %d, want a usage error", fault.CodeOf(err))
	}
}

func TestCommandInPods(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("mine", 0o700); err != nil {
		t.Fatal(err)
	}
	got, err := command(settings(t, "model: Qwen/Qwen2.5-7B", "data: /fsx/books", "export: s3://b/out"), podPaths{"20261130-aaaa"})
	want := "python -m trainyard.train --model Qwen/Qwen2.5-7B --checkpoint-dir /tmp/trainyard/20261130-aaaa --keep 0 --data /fsx/books --export s3://b/out"
	if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	_, err = command(settings(t, "model: mine", "data: book.txt", "resume: 20261130-bbbb", "checkpointDir: here"), podPaths{"20261130-aaaa"})
	for _, name := range []string{"mine", "book.txt", "20261130-bbbb", "here"} {
		if err == nil || !strings.Contains(err.Error(), strconv.Quote(name)+": pods do not see") {
			t.Errorf("error = %v, want it to name %q", err, name)
		}
	}
}

// TestTheTrainingKnowsEveryFlag: what is passed on, the training must take, and
// what is not, it must default to.
func TestTheTrainingKnowsEveryFlag(t *testing.T) {
	source, err := fs.ReadFile(train.Package(), "trainyard/config.py")
	if err != nil {
		t.Fatal(err)
	}
	defaults := map[string]string{}
	for _, m := range regexp.MustCompile(`(?s)add\(\s*"(--[a-z-]+)"(?:[^()"]*?default=([^,)]+))?`).FindAllStringSubmatch(string(source), -1) {
		defaults[m[1]] = strings.Trim(m[2], `"`)
	}
	for _, m := range regexp.MustCompile(`_choice\(add, "([a-z_]+)", "([a-z0-9]+)"`).FindAllStringSubmatch(string(source), -1) {
		defaults["--"+strings.ReplaceAll(m[1], "_", "-")] = m[2]
	}
	cfg, err := config.Load(config.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	for v := range cfg.Values() {
		if !strings.HasPrefix(v.Key, "train.") {
			continue
		}
		standard, known := defaults[optionOf(v.Key)]
		if !known {
			t.Errorf("%s: the training has no flag %s", v.Key, optionOf(v.Key))
		}
		ours, _ := strconv.ParseFloat(v.Text, 64)
		theirs, err := strconv.ParseFloat(standard, 64)
		if err == nil && ours != theirs || err != nil && standard != "" && standard != v.Text {
			t.Errorf("%s: the default is %q here and %q in the training", v.Key, v.Text, standard)
		}
	}
}

func TestPackedWithAModelOfTheUsers(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mymodel.py"), []byte("def build(): ..."), 0o600); err != nil {
		t.Fatal(err)
	}
	alone, err := packed(t.Context(), settings(t))
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close()
	cfg := settings(t, "model: mymodel:build")
	cfg.Job.WorkingDir = dir
	hooked, err := packed(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer hooked.Close()
	if hooked.Files != alone.Files+1 {
		t.Errorf("%d files with the user's model, %d without", hooked.Files, alone.Files)
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
		"NCCL_DEBUG": "WARN", "MINE": "1", "TRAINYARD_METRICS": "json", "RAY_TRAIN_ENABLE_PRINT_PATCH": "0", "RAY_LOG_TO_DRIVER": "0",
	}
	if diff := cmp.Diff(want, s.RuntimeEnv.EnvVars); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	if s.Entrypoint != "python 'x y'" || s.RuntimeEnv.WorkingDir != "gcs://p.zip" || termsOf(rayjob.Job{Metadata: s.Metadata}).Run != "20261130-abcd" {
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
