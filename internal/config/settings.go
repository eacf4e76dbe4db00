package config

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// setting is one row of the table: everything that is known about a key.
type setting struct {
	key      string            // path in the run file
	flag     string            // without dashes; empty: none
	arg      string            // what a flag's help calls its value; empty for a bool
	plain    string            // the reference example's name in the environment; empty: none
	standard string            // the default, as a flag would take it
	doc      string            // one line, for flag help, template, schema and docs
	field    func(*Config) any // pointer to the field
	rule     rule
	whole    bool // a list that a stronger source replaces instead of adding to
}

// env is the setting's own name in the environment: every setting that holds
// a single value has one, made from its flag.
func (s *setting) env() string {
	if s.flag == "" || s.collection() {
		return ""
	}
	return "TRAINYARD_" + strings.ToUpper(strings.ReplaceAll(s.flag, "-", "_"))
}

// collection reports whether the setting is a list or a map.
func (s *setting) collection() bool {
	switch s.field(new(Config)).(type) {
	case *[]string, *map[string]string:
		return true
	}
	return false
}

// group is a top-level key of the run file with the title of its flags.
type group struct{ name, title, doc string }

var groups = []group{
	{"target", "Target", ""},
	{"python", "Python", "the Python environment of the job"},
	{"cluster", "Cluster", "the shape of the Ray cluster"},
	{"job", "Job", "the program to run and what it needs"},
	{"train", "Built-in training", "the built-in training, which runs when there is no job.command"},
	{"verify", "Transport check", "what must be proven about the network that carried the job"},
}

// settings is the table, in the order of the run file.
var settings = []setting{
	{
		key: "version", standard: strconv.Itoa(Version), doc: "version of the run file",
		field: func(c *Config) any { return &c.Version },
		rule:  exactly(Version),
	},
	{
		key: "target", flag: "target", arg: "NAME", standard: TargetLocal, doc: "where the job runs",
		field: func(c *Config) any { return &c.Target },
		rule:  oneOf(TargetLocal),
	},

	{
		key: "python.interpreter", flag: "python", arg: "PATH", doc: "Python with Ray to use; empty: trainyard makes an environment",
		field: func(c *Config) any { return &c.Python.Interpreter },
		rule:  text(),
	},
	{
		key: "python.torchIndex", flag: "torch-index", arg: "URL", doc: "package index to take PyTorch from instead, such as a CPU one",
		field: func(c *Config) any { return &c.Python.TorchIndex },
		rule:  indexURL(),
	},

	{
		key: "cluster.nodes", flag: "nodes", arg: "N", standard: "2", doc: "Ray worker nodes, without the head",
		field: func(c *Config) any { return &c.Cluster.Nodes },
		rule:  between(1, 64),
	},
	{
		key: "cluster.workersPerNode", flag: "workers-per-node", arg: "N", standard: "0", doc: "training workers a node; 0: one, or one a GPU",
		field: func(c *Config) any { return &c.Cluster.WorkersPerNode },
		rule:  atLeast(0),
	},
	{
		key: "cluster.asHosts", flag: "as-hosts", standard: "false", doc: "make each node a host of its own to NCCL, to use the network",
		field: func(c *Config) any { return &c.Cluster.AsHosts },
		rule:  trueOrFalse(),
	},
	{
		key: "cluster.keep", flag: "keep", standard: "false", doc: "leave the cluster running for the next run",
		field: func(c *Config) any { return &c.Cluster.Keep },
		rule:  trueOrFalse(),
	},

	{
		key: "job.command", doc: "program to run, such as [python, train.py]; empty: the built-in training",
		field: func(c *Config) any { return &c.Job.Command },
		rule:  elements("a list such as [python, train.py]", "text", anything),
		whole: true,
	},
	{
		key: "job.workingDir", flag: "working-dir", arg: "DIR", standard: ".", doc: "folder whose files a command gets",
		field: func(c *Config) any { return &c.Job.WorkingDir },
		rule:  nonEmpty("a folder"),
	},
	{
		key: "job.env", flag: "env", arg: "NAME=VALUE", doc: "variables of the job, added to the file's; Ray expands $NAME in them",
		field: func(c *Config) any { return &c.Job.Env },
		rule:  variables(),
	},
	{
		key: "job.pip", flag: "pip", arg: "PACKAGE", doc: "Python packages that the job needs; flags add to the file's",
		field: func(c *Config) any { return &c.Job.Pip },
		rule:  elements("a list such as [datasets]", "a package such as datasets==4.0.0", requirement),
	},
	{
		key: "job.timeout", flag: "timeout", arg: "DURATION", standard: "0s", doc: "end the job after this long, such as 30m; 0: never",
		field: func(c *Config) any { return &c.Job.Timeout },
		rule:  duration(),
	},
	{
		key: "job.includeSecrets", flag: "include-secrets", standard: "false", doc: "pack files too that look like keys or .env files",
		field: func(c *Config) any { return &c.Job.IncludeSecrets },
		rule:  trueOrFalse(),
	},

	{
		key: "train.model", flag: "model", arg: "NAME", plain: "MODEL_ID", standard: "tiny", doc: "preset, Hugging Face id, folder, or your own module:function",
		field: func(c *Config) any { return &c.Train.Model },
		rule:  nonEmpty("the name of a model"),
	},
	{
		key: "train.tokenizer", flag: "tokenizer", arg: "NAME", doc: "Hugging Face id, folder, or bytes; empty: the model's own",
		field: func(c *Config) any { return &c.Train.Tokenizer },
		rule:  text(),
	},
	{
		key: "train.data", flag: "data", arg: "SOURCE", doc: "stdlib, random, or a path, s3:// or hf:// of text; empty: the model's own",
		field: func(c *Config) any { return &c.Train.Data },
		rule:  text(),
	},
	{
		key: "train.evalData", flag: "eval-data", arg: "SOURCE", doc: "data to evaluate on; empty: a part of the data is held back",
		field: func(c *Config) any { return &c.Train.EvalData },
		rule:  text(),
	},
	{
		key: "train.brokenLines", flag: "broken-lines", arg: "POLICY", standard: "skip", doc: "JSONL lines that cannot be read: skip or fail",
		field: func(c *Config) any { return &c.Train.BrokenLines },
		rule:  oneOf("skip", "fail"),
	},
	{
		key: "train.steps", flag: "steps", arg: "N", plain: "STEPS", standard: "0", doc: "training steps, resumed ones included; 0: the model's own",
		field: func(c *Config) any { return &c.Train.Steps },
		rule:  atLeast(0),
	},
	{
		key: "train.seqLen", flag: "seq-len", arg: "TOKENS", plain: "SEQ_LEN", standard: "0", doc: "length of a sequence in tokens; 0: the model's own",
		field: func(c *Config) any { return &c.Train.SeqLen },
		rule:  atLeast(0),
	},
	{
		key: "train.batchSize", flag: "batch-size", arg: "N", plain: "BATCH_SIZE", standard: "0", doc: "sequences a worker and forward pass; 0: the model's own",
		field: func(c *Config) any { return &c.Train.BatchSize },
		rule:  atLeast(0),
	},
	{
		key: "train.accumulate", flag: "accumulate", arg: "N", standard: "1", doc: "forward passes a step",
		field: func(c *Config) any { return &c.Train.Accumulate },
		rule:  atLeast(1),
	},
	{
		key: "train.learningRate", flag: "learning-rate", arg: "RATE", plain: "LEARNING_RATE", standard: "0", doc: "highest learning rate such as 2e-5; 0: the model's own",
		field: func(c *Config) any { return &c.Train.LearningRate },
		rule:  number(),
	},
	{
		key: "train.schedule", flag: "schedule", arg: "NAME", standard: "constant", doc: "learning rate after the warm-up: constant, cosine or wsd",
		field: func(c *Config) any { return &c.Train.Schedule },
		rule:  oneOf("constant", "cosine", "wsd"),
	},
	{
		key: "train.warmupSteps", flag: "warmup-steps", arg: "N", standard: "-1", doc: "steps of rising learning rate; -1: the model's own",
		field: func(c *Config) any { return &c.Train.WarmupSteps },
		rule:  atLeast(-1),
	},
	{
		key: "train.weightDecay", flag: "weight-decay", arg: "RATE", standard: "0.1", doc: "AdamW's weight decay of matrices",
		field: func(c *Config) any { return &c.Train.WeightDecay },
		rule:  number(),
	},
	{
		key: "train.clip", flag: "clip", arg: "NORM", standard: "1", doc: "largest norm of the gradients; 0: any",
		field: func(c *Config) any { return &c.Train.Clip },
		rule:  number(),
	},
	{
		key: "train.seed", flag: "seed", arg: "N", standard: "42", doc: "seed of weights and order of the data",
		field: func(c *Config) any { return &c.Train.Seed },
		rule:  between(0, 1<<32-1),
	},
	{
		key: "train.evalEvery", flag: "eval-every", arg: "N", standard: "-1", doc: "steps between evaluations; 0: never, -1: the model's own",
		field: func(c *Config) any { return &c.Train.EvalEvery },
		rule:  atLeast(-1),
	},
	{
		key: "train.numWorkers", flag: "num-workers", arg: "N", plain: "NUM_WORKERS", standard: "0", doc: "training workers in all; 0: all that the cluster has",
		field: func(c *Config) any { return &c.Train.NumWorkers },
		rule:  atLeast(0),
	},
	{
		key: "train.parallel", flag: "parallel", arg: "MODE", standard: "auto", doc: "how the model is spread: auto, ddp, fsdp or hsdp",
		field: func(c *Config) any { return &c.Train.Parallel },
		rule:  oneOf("auto", "ddp", "fsdp", "hsdp"),
	},
	{
		key: "train.precision", flag: "precision", arg: "TYPE", standard: "bf16", doc: "large matrix products on GPUs: bf16 or fp8",
		field: func(c *Config) any { return &c.Train.Precision },
		rule:  oneOf("bf16", "fp8"),
	},
	{
		key: "train.compile", flag: "compile", arg: "WHEN", standard: "auto", doc: "torch.compile: auto (on GPUs), on or off",
		field: func(c *Config) any { return &c.Train.Compile },
		rule:  oneOf("auto", "on", "off"),
	},
	{
		key: "train.activationCheckpointing", flag: "activation-checkpointing", arg: "WHEN", standard: "auto", doc: "compute activations twice to save memory: auto, on or off",
		field: func(c *Config) any { return &c.Train.ActivationCheckpointing },
		rule:  oneOf("auto", "on", "off"),
	},
	{
		key: "train.maxFailures", flag: "max-failures", arg: "N", standard: "3", doc: "lost workers to survive before the job fails; -1: no limit",
		field: func(c *Config) any { return &c.Train.MaxFailures },
		rule:  atLeast(-1),
	},
	{
		key: "train.checkpointDir", flag: "checkpoint-dir", arg: "PATH", doc: "folder that all nodes share, or s3://; empty: in the run's folder",
		field: func(c *Config) any { return &c.Train.CheckpointDir },
		rule:  text(),
	},
	{
		key: "train.checkpointEvery", flag: "checkpoint-every", arg: "N", standard: "-1", doc: "steps between checkpoints; 0: at the end, -1: the model's own",
		field: func(c *Config) any { return &c.Train.CheckpointEvery },
		rule:  atLeast(-1),
	},
	{
		key: "train.keep", flag: "keep-checkpoints", arg: "N", standard: "2", doc: "checkpoints to keep; 0: save none",
		field: func(c *Config) any { return &c.Train.Keep },
		rule:  atLeast(1),
	},
	{
		key: "train.resume", flag: "resume", arg: "PATH", doc: "run, checkpoint or folder of them to go on from; empty: start anew",
		field: func(c *Config) any { return &c.Train.Resume },
		rule:  text(),
	},
	{
		key: "train.export", flag: "export", arg: "PATH", doc: "where to save a Hugging Face model at the end; empty: nowhere",
		field: func(c *Config) any { return &c.Train.Export },
		rule:  text(),
	},

	{
		key: "verify.expect", flag: "expect", arg: "TRANSPORT", standard: ExpectAny, doc: "transport that must be proven: efa, rdma, ib, socket or any",
		field: func(c *Config) any { return &c.Verify.Expect },
		rule:  oneOf(ExpectAny, ExpectEFA, ExpectRDMA, ExpectIB, ExpectSocket),
	},
	{
		key: "verify.failFast", flag: "fail-fast", standard: "false", doc: "stop the job as soon as another transport is proven",
		field: func(c *Config) any { return &c.Verify.FailFast },
		rule:  trueOrFalse(),
	},
}

// rule is what a setting allows, once for people, once for the loader and
// once for editors.
type rule struct {
	wants      string                   // follows "must be" in a message
	allows     func(p any) bool         // p as setting.field gives it; of a list each element, of a map each name
	schema     func(*jsonschema.Schema) // narrows the schema of the field's type
	collection string                   // what the list or map must be as a whole
}

// allow makes a rule's function for fields of one type.
func allow[T any](ok func(T) bool) func(p any) bool {
	return func(p any) bool {
		v, fits := p.(*T)
		return fits && ok(*v)
	}
}

func everything(any) bool { return true }

func noSchema(*jsonschema.Schema) {}

func exactly(n int) rule {
	return rule{
		wants:  fmt.Sprintf("the number %d", n),
		allows: allow(func(v int) bool { return v == n }),
		schema: func(s *jsonschema.Schema) { s.Const = n },
	}
}

func between(lo, hi int) rule {
	return rule{
		wants:  fmt.Sprintf("an integer from %d to %d", lo, hi),
		allows: allow(func(v int) bool { return lo <= v && v <= hi }),
		schema: func(s *jsonschema.Schema) {
			s.Minimum, s.Maximum = json.Number(strconv.Itoa(lo)), json.Number(strconv.Itoa(hi))
		},
	}
}

func atLeast(lo int) rule {
	return rule{
		wants:  fmt.Sprintf("an integer >= %d", lo),
		allows: allow(func(v int) bool { return v >= lo }),
		schema: func(s *jsonschema.Schema) { s.Minimum = json.Number(strconv.Itoa(lo)) },
	}
}

func number() rule {
	return rule{
		wants:  "a number >= 0, such as 2e-5",
		allows: allow(func(v float64) bool { return v >= 0 }),
		schema: func(s *jsonschema.Schema) { s.Minimum = "0" },
	}
}

func trueOrFalse() rule {
	return rule{wants: "true or false", allows: everything, schema: noSchema}
}

// duration takes Go's notation. A bare 0 needs no unit; any other bare number
// is refused, since nobody can tell seconds from minutes.
func duration() rule {
	return rule{
		wants:  "0 or a duration such as 90s, 30m or 2h",
		allows: everything, // the parser takes no negative one
		schema: func(s *jsonschema.Schema) {
			s.Type = ""
			s.AnyOf = []*jsonschema.Schema{
				{Type: "string", Pattern: `^\+?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`},
				{Type: "integer", Enum: []any{0}},
			}
		},
	}
}

func text() rule {
	return rule{wants: "text", allows: everything, schema: noSchema}
}

func nonEmpty(wants string) rule {
	one := uint64(1)
	return rule{
		wants:  wants,
		allows: allow(func(v string) bool { return v != "" }),
		schema: func(s *jsonschema.Schema) { s.MinLength = &one },
	}
}

func oneOf(names ...string) rule {
	wants := "one of " + strings.Join(names, ", ")
	if len(names) == 1 {
		wants = names[0] + " (all there is so far)"
	}
	return rule{
		wants:  wants,
		allows: allow(func(v string) bool { return slices.Contains(names, v) }),
		schema: func(s *jsonschema.Schema) {
			for _, name := range names {
				s.Enum = append(s.Enum, name)
			}
		},
	}
}

// elements is the rule for each string of a list: any text, or text that
// matches a pattern.
func elements(collection, wants string, pattern *regexp.Regexp) rule {
	return rule{
		wants:      wants,
		allows:     allow(func(v string) bool { return isText(v) && pattern.MatchString(v) }),
		schema:     func(s *jsonschema.Schema) { s.Items = scalarSchema(pattern) },
		collection: collection,
	}
}

// variables is the rule for the names of a map.
func variables() rule {
	return rule{
		wants:  "letters, digits and _",
		allows: allow(variableName.MatchString),
		schema: func(s *jsonschema.Schema) {
			s.PropertyNames = &jsonschema.Schema{Pattern: variableName.String()}
			s.AdditionalProperties = scalarSchema(anything)
		},
		collection: "names with values",
	}
}

// scalarSchema takes a scalar of any type where the text that was written
// counts: --lr 1e-4, DEBUG: 1.
func scalarSchema(pattern *regexp.Regexp) *jsonschema.Schema {
	s := &jsonschema.Schema{Extras: map[string]any{"type": []string{"string", "number", "boolean"}}}
	if pattern != anything {
		s.Pattern = pattern.String()
	}
	return s
}

var anything = regexp.MustCompile(``)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// requirement is one line that is not blank.
var requirement = regexp.MustCompile(`^[^\n\r]*\S[^\n\r]*$`)

// indexPattern has no place for credentials: they would show in listings, run
// folders and the arguments of processes.
var indexPattern = regexp.MustCompile(`^$|^(https?://[^@/?#]+([/?#].*)?|file:///.*)$`)

func indexURL() rule {
	return rule{
		wants: "an http, https or file URL without credentials",
		allows: allow(func(v string) bool {
			u, err := url.Parse(v)
			return err == nil && indexPattern.MatchString(v) && (v == "" || u.Scheme == "file" || u.Hostname() != "")
		}),
		schema: func(s *jsonschema.Schema) { s.Pattern = indexPattern.String() },
	}
}

var userinfo = regexp.MustCompile(`//[^/@]*@`)

// show returns text as a message may quote it: short, and without the
// credentials of a URL.
func show(text string) string {
	const most = 40
	text = userinfo.ReplaceAllString(text, "//...@")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "..."
	}
	return strconv.Quote(text)
}
