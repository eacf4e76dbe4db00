package config

import (
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"

	"github.com/trainyard/trainyard/internal/fault"
)

var update = flag.Bool("update", false, "rewrite golden files and generated documents")

// golden compares got with a file, or rewrites the file with -update.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (make it with go test ./internal/config -update)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs, rewrite it with -update if that is meant (-want +got):\n%s", path, diff)
	}
}

// files returns the names of the test files with this prefix.
func files(t *testing.T, prefix string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", prefix+"*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no testdata/%s*.yaml: %v", prefix, err)
	}
	return paths
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// load loads a run file with flags, variables and a command.
func load(t *testing.T, file []byte, args []string, env map[string]string, command ...string) (*Config, error) {
	t.Helper()
	return Load(sources(t, file, args, env, command...))
}

func sources(t *testing.T, file []byte, args []string, env map[string]string, command ...string) Sources {
	t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	return Sources{File: file, FileName: FileName, Env: lookup, Flags: fs, Command: command}
}

// report is an error as a user gets to see it, with its hints.
func report(err error) string {
	lines := []string{err.Error()}
	for _, hint := range fault.HintsOf(err) {
		lines = append(lines, "hint: "+hint)
	}
	return strings.Join(lines, "\n") + "\n"
}

func TestLoadValid(t *testing.T) {
	for _, path := range files(t, "valid-") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			c, err := load(t, read(t, path), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(path, ".yaml")+".golden", c.YAML())
			checkRoundTrip(t, c)
		})
	}
}

func TestLoadInvalid(t *testing.T) {
	for _, path := range files(t, "invalid-") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			c, err := load(t, read(t, path), nil, nil)
			if err == nil {
				t.Fatalf("loaded:\n%s", c.YAML())
			}
			if code := fault.CodeOf(err); code != fault.Usage {
				t.Errorf("exit code %d, want %d", code, fault.Usage)
			}
			golden(t, strings.TrimSuffix(path, ".yaml")+".golden", report(err))
		})
	}
}

func TestLoadFull(t *testing.T) {
	got, err := load(t, read(t, "testdata/valid-full.yaml"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Version: 1,
		Target:  "local",
		Python:  Python{Interpreter: "/usr/bin/python3.11", TorchIndex: "https://wheels.example.com/cpu"},
		Cluster: Cluster{
			Nodes: 4, WorkersPerNode: 2, AsHosts: true, Keep: true, Name: "mine", Image: "registry.example.com:5000/ray/train:v1@sha256:" + strings.Repeat("0123456789abcdef", 4),
			RayVersion: "2.59.1", NodeType: "p5.48xlarge", GPUsPerNode: 8, EFAPerNode: 32, PendingTimeout: 30 * time.Minute,
		},
		Kubernetes: Kubernetes{
			Context: "prod", Kubeconfig: "/etc/kube/config",
			Namespace: "ray-train", Zone: "us-east-1a", NodeSelector: map[string]string{"role": "gpu-worker", "example.com/pool": "1"},
			Tolerations: []JSON{`{"effect":"NoSchedule","key":"dedicated","operator":"Equal","value":"training"}`},
			HeadOnGPU:   true, Queue: "team-a", Gang: true, PriorityClass: "high", WorkerCPU: "160", WorkerMemory: "1500Gi", HugePages: "5Gi",
			Resources: map[string]string{"rdma/hca": "8"},
			Volumes: []JSON{
				`{"mountPath":"/data","name":"fsx","persistentVolumeClaim":{"claimName":"fsx"},"readOnly":true}`,
				`{"csi":{"driver":"s3.csi.example.com","volumeAttributes":{"bucketName":"b","mode":"0755"}},"mountPath":"/bucket"}`,
			},
			ServiceAccount: "trainer", Secrets: []string{"wandb", "hf.token"}, ImagePullPolicy: "Never",
			Patches: []JSON{`{"spec":{"headGroupSpec":{"enableIngress":false,"template":{"spec":{"terminationGracePeriodSeconds":5}}},"upgradeStrategy":null}}`},
		},
		Job: Job{
			Command:    []string{"python", "train.py", "--lr", "1e-4", "--epochs", "3", "--amp", "true"},
			WorkingDir: "examples/mnist",
			Env: map[string]string{
				"NCCL_DEBUG": "INFO", "OMP_NUM_THREADS": "4", "TOKENIZERS_PARALLELISM": "false",
				"START": "2026-11-29", "MOTTO": "two\nlines # and a hash", "ON": "yes",
			},
			Pip:            []string{"datasets==4.0.0", "accelerate>=1.0,<2"},
			Timeout:        90 * time.Minute,
			IncludeSecrets: true,
		},
		Train: Train{
			Model: "qwen2.5-0.5b", Tokenizer: "Qwen/Qwen2.5-0.5B", Data: "./corpus", EvalData: "./held-back.jsonl",
			BrokenLines: "fail", Steps: 1000, SeqLen: 512, BatchSize: 8, Accumulate: 4, LearningRate: 2e-5,
			Schedule: "wsd", WarmupSteps: 0, WeightDecay: 0, Clip: 0.5, Seed: 17, EvalEvery: 0, NumWorkers: 8,
			Parallel: "hsdp", Precision: "fp8", Compile: "off", ActivationCheckpointing: "on", MaxFailures: -1,
			CheckpointDir: "s3://bucket/run", CheckpointEvery: 250, Keep: 5, Resume: "./checkpoints/last", Export: "./model",
		},
		Verify: Verify{Expect: "socket", FailFast: true},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Config{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// The file is only a test of every field if it leaves none at its default.
	standard, err := Load(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range settings {
		s := &settings[i]
		if s.key != "version" && s.key != "target" && cmp.Equal(s.field(got), s.field(standard)) {
			t.Errorf("%s has its default, so nothing shows that it was read", s.key)
		}
	}
}

func TestDefaults(t *testing.T) {
	got, err := Load(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Version: 1, Target: "local",
		Cluster:    Cluster{Nodes: 2, Image: DefaultImage, RayVersion: "2.58.0", NodeType: "g6.12xlarge", EFAPerNode: -1, PendingTimeout: 15 * time.Minute},
		Kubernetes: Kubernetes{NodeSelector: map[string]string{}, Resources: map[string]string{}},
		Job:        Job{WorkingDir: ".", Env: map[string]string{}},
		Train: Train{
			Model: "tiny", BrokenLines: "skip", Accumulate: 1, Schedule: "constant", WarmupSteps: -1, WeightDecay: 0.1,
			Clip: 1, Seed: 42, EvalEvery: -1, Parallel: "auto", Precision: "bf16", Compile: "auto", ActivationCheckpointing: "auto",
			MaxFailures: 3, CheckpointEvery: -1, Keep: 2,
		},
		Verify: Verify{Expect: "any"},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Config{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for v := range got.Values() {
		if v.Origin != (Origin{}) {
			t.Errorf("%s comes from %s, want default", v.Key, v.Origin)
		}
	}
}

// sampleValues holds four valid values of each setting of one value that
// differ from each other and from the default.
var sampleValues = map[string][4]string{
	"python.interpreter":            {"/a/python", "/b/python", "/c/python", "/d/python"},
	"python.torchIndex":             {"http://a/b", "https://b", "file:///c", "https://d:8080/e"},
	"cluster.nodes":                 {"1", "64", "3", "4"},
	"cluster.workersPerNode":        {"1", "2", "3", "4"},
	"cluster.name":                  {"a", "b", "c", "d"},
	"cluster.image":                 {"a", "b:1", "c/d", "e:5000/f:v1"},
	"cluster.rayVersion":            {"2.59.0", "2.60.1", "3.0.0", "2.58.0rc1"},
	"cluster.nodeType":              {"g6.xlarge", "p5.48xlarge", "p4d.24xlarge", "x"},
	"cluster.gpusPerNode":           {"1", "2", "4", "8"},
	"cluster.efaPerNode":            {"0", "1", "4", "32"},
	"kubernetes.context":            {"a", "b", "c", "d"},
	"kubernetes.kubeconfig":         {"a", "b", "c", "d"},
	"kubernetes.namespace":          {"a", "b", "c", "d"},
	"kubernetes.zone":               {"us-east-1a", "us-east-1b", "us-east-1c", "use1-az4"},
	"cluster.pendingTimeout":        {"1m0s", "2m0s", "3m0s", "4m0s"},
	"kubernetes.queue":              {"a", "b", "c", "d"},
	"kubernetes.priorityClass":      {"a", "b", "c", "d"},
	"kubernetes.workerCPU":          {"1", "1500m", "2.5", "40"},
	"kubernetes.workerMemory":       {"1Gi", "2G", "3Ti", "500Mi"},
	"kubernetes.hugePages":          {"0", "5Gi", "5120Mi", "1Gi"},
	"kubernetes.serviceAccount":     {"a", "b", "c", "d"},
	"kubernetes.imagePullPolicy":    {"Always", "IfNotPresent", "Never", "Always"},
	"job.workingDir":                {"a", "b", "c", "d"},
	"job.timeout":                   {"1s", "2m0s", "3h0m0s", "4ms"},
	"train.model":                   {"a", "b", "c", "d"},
	"train.tokenizer":               {"a", "b", "c", "d"},
	"train.data":                    {"a", "b", "c", "d"},
	"train.evalData":                {"a", "b", "c", "d"},
	"train.brokenLines":             {"fail", "skip", "fail", "fail"},
	"train.steps":                   {"1", "2", "3", "4"},
	"train.seqLen":                  {"1", "2", "3", "4"},
	"train.batchSize":               {"1", "2", "3", "4"},
	"train.accumulate":              {"2", "3", "4", "5"},
	"train.learningRate":            {"0.1", "2e-05", "3", "4.5"},
	"train.schedule":                {"cosine", "wsd", "cosine", "wsd"},
	"train.warmupSteps":             {"0", "1", "2", "3"},
	"train.weightDecay":             {"0", "0.2", "0.3", "0.4"},
	"train.clip":                    {"0", "0.5", "2", "3"},
	"train.seed":                    {"1", "2", "3", "4294967295"},
	"train.evalEvery":               {"0", "1", "2", "3"},
	"train.numWorkers":              {"1", "2", "3", "4"},
	"train.parallel":                {"ddp", "fsdp", "hsdp", "ddp"},
	"train.precision":               {"fp8", "bf16", "fp8", "bf16"},
	"train.compile":                 {"on", "off", "on", "off"},
	"train.activationCheckpointing": {"on", "off", "on", "off"},
	"train.maxFailures":             {"0", "1", "2", "-1"},
	"train.checkpointDir":           {"a", "b", "c", "d"},
	"train.checkpointEvery":         {"0", "1", "2", "3"},
	"train.keep":                    {"1", "3", "4", "5"},
	"train.resume":                  {"a", "b", "c", "d"},
	"train.export":                  {"a", "b", "c", "d"},
	"verify.expect":                 {"efa", "rdma", "ib", "socket"},
}

// samplesOf returns one valid value each for flag, own variable, plain
// variable and file. Where a type has only two values or the rule only one,
// neighbours in that order still differ as far as they can.
func samplesOf(t *testing.T, s *setting) [4]string {
	t.Helper()
	if _, isBool := s.field(new(Config)).(*bool); isBool {
		return [4]string{"false", "true", "false", "true"}
	}
	if s.key == "target" {
		return [4]string{TargetLocal, TargetLocal, TargetLocal, TargetLocal}
	}
	samples, ok := sampleValues[s.key]
	if !ok {
		t.Fatalf("no sample values for %s: add them", s.key)
	}
	return samples
}

// TestPrecedence takes away one source after the other, strongest first.
func TestPrecedence(t *testing.T) {
	for i := range settings {
		s := &settings[i]
		if s.env() == "" {
			continue
		}
		t.Run(s.key, func(t *testing.T) {
			samples := samplesOf(t, s)
			file, line := fileWith(s.key, samples[3])
			var args []string
			if s.flag != "" {
				args = []string{"--" + s.flag + "=" + samples[0]}
			}
			env := map[string]string{s.env(): samples[1]}
			if s.plain != "" {
				env[s.plain] = samples[2]
			}
			check := func(wantText string, want Origin) {
				t.Helper()
				src := sources(t, file, args, env)
				src.Remote = true
				c, err := Load(src)
				if err != nil {
					t.Fatal(err)
				}
				if got := format(s.field(c)); got != wantText {
					t.Errorf("value %q from %s, want %q", got, c.Origin(s.key), wantText)
				}
				got := c.Origin(s.key)
				got.Column = 0
				if got != want {
					t.Errorf("origin %+v, want %+v", got, want)
				}
			}
			if s.flag != "" {
				check(samples[0], Origin{Kind: FromFlag, Name: "--" + s.flag})
			}
			args = nil
			check(samples[1], Origin{Kind: FromEnv, Name: s.env()})
			env[s.env()] = ""
			if s.plain != "" {
				check(samples[2], Origin{Kind: FromPlainEnv, Name: s.plain})
				env[s.plain] = ""
			}
			check(samples[3], Origin{Kind: FromFile, Name: FileName, Line: line})
			file = []byte("version: 1\n")
			check(s.standard, Origin{})
		})
	}
}

// fileWith is a run file that sets one key, and the line of its value.
func fileWith(key, text string) (file []byte, line int) {
	first, last, nested := strings.Cut(key, ".")
	if !nested {
		return []byte("version: 1\n" + key + ": " + text + "\n"), 2
	}
	return []byte("version: 1\n" + first + ":\n  " + last + ": " + text + "\n"), 3
}

// The names that the issue and the reference example promise.
func TestEnvironmentNames(t *testing.T) {
	var own, plain []string
	for i := range settings {
		if name := settings[i].env(); name != "" {
			own = append(own, name)
		}
		if settings[i].plain != "" {
			plain = append(plain, settings[i].plain)
		}
	}
	for _, name := range []string{
		"TRAINYARD_TARGET", "TRAINYARD_PYTHON", "TRAINYARD_TORCH_INDEX", "TRAINYARD_NODES",
		"TRAINYARD_WORKERS_PER_NODE", "TRAINYARD_WORKING_DIR", "TRAINYARD_RAY_VERSION", "TRAINYARD_WORKER_CPU", "TRAINYARD_TIMEOUT", "TRAINYARD_EXPECT",
	} {
		if !slices.Contains(own, name) {
			t.Errorf("no setting reads %s", name)
		}
	}
	want := []string{
		"GPU_NODE_COUNT", "RAY_CLUSTER_NAME", "DLC_IMAGE", "RAY_VERSION", "GPU_NODE_TYPE", "GPUS_PER_NODE", "NAMESPACE", "GPU_AZ",
		"MODEL_ID", "STEPS", "SEQ_LEN", "BATCH_SIZE", "LEARNING_RATE", "NUM_WORKERS",
	}
	if diff := cmp.Diff(want, plain); diff != "" {
		t.Errorf("plain names (-want +got):\n%s", diff)
	}
}

func TestCollectionsMerge(t *testing.T) {
	file := []byte(`version: 1
job:
  command: [python, old.py]
  env: {A: file, B: file}
  pip: [datasets]
`)
	args := []string{"--env=B=flag", "--env", "C=x=y", "--env=C=z=", "--pip=accelerate>=1,<2"}
	c, err := load(t, file, args, nil, "python", "new.py")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for v := range c.Values() {
		if strings.HasPrefix(v.Key, "job.") && v.Origin.Kind != FromDefault {
			got = append(got, v.Key+" = "+v.Text+" ("+v.Origin.String()+")")
		}
	}
	want := []string{
		"job.command = [python, new.py] (command line)",
		"job.env.A = file (trainyard.yaml:4)",
		"job.env.B = flag (flag --env)",
		"job.env.C = z= (flag --env)",
		"job.pip[0] = datasets (trainyard.yaml:5)",
		"job.pip[1] = accelerate>=1,<2 (flag --pip)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	checkRoundTrip(t, c)
}

func TestProblemsOfFlagsAndEnvironment(t *testing.T) {
	tests := []struct {
		name    string
		file    string
		args    []string
		env     map[string]string
		command []string
	}{
		{
			name: "everything-at-once",
			file: "version: 1\ncluster:\n  nodes: 9999\ntrain:\n  stepz: 3\n",
			args: []string{
				"--target=eks", "--workers-per-node=two", "--as-hosts=maybe", "--env=NAME", "--env=1A=x", "--pip=",
				"--timeout=90", "--expect=EFA", "--data=", "--torch-index=wheels.example.com/cpu",
			},
			env: map[string]string{"TRAINYARD_STEPS": "-1", "LEARNING_RATE": "fast", "TRAINYARD_SEED": "1.5"},
		},
		{
			name: "plain-name", file: "version: 1\n",
			env: map[string]string{"STEPS": "build,test", "NUM_WORKERS": "-1"},
		},
		{
			name: "settings-of-training-with-command", file: "version: 1\ntrain: {steps: 5}\n",
			args: []string{"--steps=5", "--seed=1", "--nodes=3"}, command: []string{"python", "train.py"},
		},
		{
			name: "settings-of-training-with-command-in-file",
			file: "version: 1\njob:\n  command: [python, train.py]\n",
			args: []string{"--steps=5"},
		},
		{name: "too-many-for-this-machine", args: []string{"--nodes=65"}},
		{name: "empty-program", command: []string{"", "x"}},
		{name: "not-utf8", args: []string{"--working-dir=a\xff", "--env=A=\xff"}, command: []string{"python", "\xff"}},
		{
			name: "credentials",
			args: []string{"--torch-index=https://user:hunter2@wheels.example.com/%zz"},
			env:  map[string]string{"TRAINYARD_TORCH_INDEX": "https://hunter2@wheels.example.com"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var file []byte
			if test.file != "" {
				file = []byte(test.file)
			}
			c, err := load(t, file, test.args, test.env, test.command...)
			if err == nil {
				t.Fatalf("loaded:\n%s", c.YAML())
			}
			got := report(err)
			if strings.Contains(got, "hunter2") {
				t.Errorf("a password shows:\n%s", got)
			}
			golden(t, filepath.Join("testdata", "problems", test.name+".golden"), got)
		})
	}
}

func TestCommandIgnoresPlainNames(t *testing.T) {
	env := map[string]string{"STEPS": "build", "MODEL_ID": "x"}
	for name, sources := range map[string]struct {
		file    string
		command []string
	}{
		"command line": {"version: 1\n", []string{"make"}},
		"file":         {"version: 1\njob: {command: [make]}\n", nil},
	} {
		c, err := load(t, []byte(sources.file), nil, env, sources.command...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := c.PlainValues(); len(got) > 0 {
			t.Errorf("%s: used %v", name, got)
		}
	}
}

// What may be set for other reasons must not keep a local run from starting.
func TestLocalIgnoresPlainNamesOfClusters(t *testing.T) {
	env := map[string]string{"NAMESPACE": "Not_A_Name", "RAY_VERSION": "latest", "GPU_NODE_TYPE": "x"}
	c, err := load(t, nil, nil, env)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.PlainValues(); len(got) > 0 || c.Cluster.NodeType != "g6.12xlarge" {
		t.Errorf("used %v, node type %q", got, c.Cluster.NodeType)
	}
	src := sources(t, nil, nil, env)
	src.Remote = true
	if _, err := Load(src); err == nil {
		t.Error("a command about a cluster took them too")
	}
}

func TestPlainValues(t *testing.T) {
	c, err := load(t, nil, []string{"--seq-len=7"}, map[string]string{"STEPS": "5", "SEQ_LEN": "9", "TRAINYARD_NODES": "3"})
	if err != nil {
		t.Fatal(err)
	}
	want := []Value{{"train.steps", "5", Origin{Kind: FromPlainEnv, Name: "STEPS"}}}
	if diff := cmp.Diff(want, c.PlainValues()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoadLargeFile(t *testing.T) {
	file := append([]byte("version: 1\n#"), slices.Repeat([]byte("x"), 10<<20)...)
	_, err := load(t, file, nil, nil)
	if err == nil {
		t.Fatal("10 MB loaded")
	}
	golden(t, "testdata/problems/large.golden", report(err))
	if _, err := load(t, file[:MaxFileSize], nil, nil); err != nil {
		t.Errorf("a file of the largest size: %v", err)
	}
}

func TestProblemsAreValues(t *testing.T) {
	_, err := load(t, []byte("version: 1\ncluster:\n  nodes: 0\n"), nil, nil)
	problem, ok := errors.AsType[*Problem](err)
	if !ok {
		t.Fatalf("no Problem in %v", err)
	}
	want := &Problem{
		Origin{Kind: FromFile, Name: FileName, Line: 3, Column: 10},
		"cluster.nodes is 0, must be an integer from 1 to 4096",
	}
	if diff := cmp.Diff(want, problem); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// checkRoundTrip loads the configuration's own YAML again.
func checkRoundTrip(t *testing.T, c *Config) {
	t.Helper()
	again, err := Load(Sources{File: []byte(c.YAML()), FileName: "again.yaml"})
	if err != nil {
		t.Fatalf("its own YAML does not load: %v\n%s", err, c.YAML())
	}
	if diff := cmp.Diff(c, again, cmpopts.IgnoreUnexported(Config{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("its own YAML gives another configuration (-want +got):\n%s\n%s", diff, c.YAML())
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	sub := filepath.Join(dir, "sub")
	must(t, os.Mkdir(sub, 0o755))
	if data, err := Find(dir); data != nil || err != nil {
		t.Errorf("empty folder: %q, %v", data, err)
	}
	must(t, os.WriteFile(filepath.Join(dir, "trainyard.yml"), nil, 0o644))
	if _, err := Find(dir); fault.CodeOf(err) != fault.Usage || len(fault.HintsOf(err)) != 1 {
		t.Errorf("trainyard.yml alone: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(dir, FileName), nil, 0o644))
	if data, err := Find(dir); data == nil || len(data) > 0 || err != nil {
		t.Errorf("empty file: %#v, %v, want no bytes that are not nil", data, err)
	}
	if data, err := Find(sub); data != nil || err != nil {
		t.Errorf("folder below: %q, %v, want nothing", data, err)
	}
	must(t, os.Mkdir(filepath.Join(sub, FileName), 0o755))
	if _, err := Find(sub); fault.CodeOf(err) != fault.Usage {
		t.Errorf("a folder of that name: %v", err)
	}
	if _, err := Read(filepath.Join(dir, "missing")); fault.CodeOf(err) != fault.Usage || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestNearest(t *testing.T) {
	for unknown, want := range map[string]string{
		"cluster.node":         "cluster.nodes",
		"train.nodes":          "cluster.nodes",
		"nodes":                "cluster.nodes",
		"clutser":              "cluster",
		"train.step":           "train.steps",
		"train.lr":             "",
		"job.python":           "python.interpreter",
		"train.NUM-WORKERS":    "train.numWorkers",
		"python.interperter":   "python.interpreter",
		"cluster.workers":      "",
		"training":             "",
		"train.model_id":       "train.model",
		"":                     "",
		strings.Repeat("é", 5): "",
	} {
		if got := nearest(unknown); got != want {
			t.Errorf("nearest(%q) = %q, want %q", unknown, got, want)
		}
	}
}

// Sections and flag groups come from the same names.
func TestGroupsCoverSettings(t *testing.T) {
	names := map[string]bool{}
	for _, g := range groups {
		names[g.name] = true
	}
	for key := range maps.Keys(names) {
		if len(keysOf(key)) == 0 && find(key) == nil {
			t.Errorf("group %q has no settings", key)
		}
	}
	for _, s := range settings {
		if s.key != "version" && !names[section(s.key)] {
			t.Errorf("%s is in no group, so it gets no flag", s.key)
		}
	}
}
