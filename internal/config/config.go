// Package config merges what a run is asked to do: the run file
// trainyard.yaml, the command line, the environment and the defaults, into one
// typed [Config] that remembers where each value came from.
//
// One table, settings, is the truth about every setting. The loader, the
// flags, the names in the environment, the listing of `trainyard config`, the
// template of `trainyard init`, the JSON Schema and docs/run-file.md are all
// made from it; a new setting is a field, a row and nothing else.
//
// The order is decided in one place, resolver.pick: a flag beats the
// setting's own variable TRAINYARD_X, which beats the plain name X of the
// reference example, which beats the file, which beats the default. The
// package reads no environment and no flag by itself: callers pass both in.
package config

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Version is the version of the run file that this trainyard reads.
const Version = 1

// MaxNodes is the most Ray worker nodes that a cluster can be asked to have.
const MaxNodes = 4096

// DefaultImage is the Ray Train Deep Learning Container as AWS publishes it,
// and DefaultRayVersion the Ray that is in it.
const (
	DefaultImage      = "public.ecr.aws/deep-learning-containers/ray:train-ml-cuda-v1.1"
	DefaultRayVersion = "2.58.0"
)

// The targets.
const (
	TargetLocal      = "local"      // this machine
	TargetKubernetes = "kubernetes" // a Kubernetes cluster, through KubeRay
)

// The transports that a run can be asked to prove, see [Verify].
const (
	ExpectAny    = "any"    // show what carried the job, demand nothing
	ExpectEFA    = "efa"    // AWS's Elastic Fabric Adapter
	ExpectRDMA   = "rdma"   // any RDMA transport: EFA, InfiniBand or RoCE
	ExpectIB     = "ib"     // NCCL's IB transport: InfiniBand or RoCE
	ExpectSocket = "socket" // NCCL's socket transport: TCP
)

// Config is a merged and valid configuration, made by [Load].
type Config struct {
	Version    int        `json:"version" jsonschema:"required"`
	Target     string     `json:"target"` // where the job runs
	Python     Python     `json:"python"`
	Cluster    Cluster    `json:"cluster"`
	Kubernetes Kubernetes `json:"kubernetes"`
	Job        Job        `json:"job"`
	Train      Train      `json:"train"`
	Verify     Verify     `json:"verify"`

	origins map[string]Origin // by the Key of a Value
}

// Python says which Python runs the job.
type Python struct {
	Interpreter string `json:"interpreter"` // path; empty: trainyard makes an environment
	TorchIndex  string `json:"torchIndex"`  // URL of a package index; empty: the locked PyTorch
}

// Cluster is the shape of the Ray cluster.
type Cluster struct {
	Nodes          int  `json:"nodes"`          // Ray worker nodes, without the head
	WorkersPerNode int  `json:"workersPerNode"` // 0: one, or as many as there are GPUs
	AsHosts        bool `json:"asHosts"`        // each node a host of its own to NCCL
	Keep           bool `json:"keep"`           // leave the cluster for the next run

	PendingTimeout time.Duration `json:"pendingTimeout"` // how long pods and workers may wait for room; 0: for ever

	Name        string `json:"name"`        // of the RayCluster; empty: from the user's name
	Image       string `json:"image"`       // of head and workers
	RayVersion  string `json:"rayVersion"`  // in the image
	NodeType    string `json:"nodeType"`    // AWS instance type; empty: none of AWS's
	GPUsPerNode int    `json:"gpusPerNode"` // 0: as the type has
	EFAPerNode  int    `json:"efaPerNode"`  // interfaces; -1: as the type has
}

// Kubernetes is how the pods of a RayCluster are made and placed.
type Kubernetes struct {
	Context         string            `json:"context"`         // of the kubeconfig; empty: its current one
	Kubeconfig      string            `json:"kubeconfig"`      // path, or a list of them as KUBECONFIG has; empty: KUBECONFIG's
	Namespace       string            `json:"namespace"`       // empty: the context's
	Zone            string            `json:"zone"`            // empty: any, but one
	NodeSelector    map[string]string `json:"nodeSelector"`    // labels of nodes for workers
	Tolerations     []JSON            `json:"tolerations"`     // each a Toleration, of workers
	HeadOnGPU       bool              `json:"headOnGPU"`       // the head may take a node with GPUs
	Queue           string            `json:"queue"`           // Kueue's local queue; empty: none
	Gang            bool              `json:"gang"`            // all pods at once, by KubeRay's batch scheduler
	PriorityClass   string            `json:"priorityClass"`   // empty: the cluster's default
	WorkerCPU       string            `json:"workerCPU"`       // quantity; empty: by the type
	WorkerMemory    string            `json:"workerMemory"`    // quantity; empty: by the type
	HugePages       string            `json:"hugePages"`       // quantity of 2 MiB pages; empty: by the type
	Resources       map[string]string `json:"resources"`       // further ones of a worker, such as rdma/hca
	Volumes         []JSON            `json:"volumes"`         // each a mountPath with a VolumeSource
	ServiceAccount  string            `json:"serviceAccount"`  // empty: the namespace's default
	Secrets         []string          `json:"secrets"`         // names of Secrets that become variables
	ImagePullPolicy string            `json:"imagePullPolicy"` // empty: Always for tags, IfNotPresent for digests
	Patches         []JSON            `json:"patches"`         // strategic merge patches of the RayCluster
}

// Job is the user's program and what surrounds it.
type Job struct {
	Command        []string          `json:"command"` // empty: the built-in training
	WorkingDir     string            `json:"workingDir"`
	Env            map[string]string `json:"env"`
	Pip            []string          `json:"pip"`
	Timeout        time.Duration     `json:"timeout"` // 0: none
	IncludeSecrets bool              `json:"includeSecrets"`
}

// Train is the built-in training. It means nothing where Job.Command is set.
// What the model decides is empty, 0 or, where 0 means something, -1.
type Train struct {
	Model                   string  `json:"model"`     // preset, Hugging Face id, folder or module:function
	Tokenizer               string  `json:"tokenizer"` // empty: the model's
	Data                    string  `json:"data"`      // empty: the model's
	EvalData                string  `json:"evalData"`  // empty: a part of Data is held back
	BrokenLines             string  `json:"brokenLines"`
	Steps                   int     `json:"steps"`        // 0: the model's
	SeqLen                  int     `json:"seqLen"`       // tokens; 0: the model's
	BatchSize               int     `json:"batchSize"`    // sequences a worker and forward pass; 0: the model's
	Accumulate              int     `json:"accumulate"`   // forward passes a step
	LearningRate            float64 `json:"learningRate"` // 0: the model's
	Schedule                string  `json:"schedule"`
	WarmupSteps             int     `json:"warmupSteps"` // -1: the model's
	WeightDecay             float64 `json:"weightDecay"`
	Clip                    float64 `json:"clip"` // largest gradient norm; 0: any
	Seed                    int     `json:"seed"`
	EvalEvery               int     `json:"evalEvery"`  // steps; 0: never, -1: the model's
	NumWorkers              int     `json:"numWorkers"` // 0: all that the cluster has
	Parallel                string  `json:"parallel"`
	Precision               string  `json:"precision"`
	Compile                 string  `json:"compile"`
	ActivationCheckpointing string  `json:"activationCheckpointing"`
	MaxFailures             int     `json:"maxFailures"`     // restarts after a lost worker; -1: no limit
	CheckpointDir           string  `json:"checkpointDir"`   // path or URI; empty: the run's folder
	CheckpointEvery         int     `json:"checkpointEvery"` // steps; 0: at the end, -1: the model's
	Keep                    int     `json:"keep"`            // checkpoints
	Resume                  string  `json:"resume"`          // a checkpoint or a folder of them; empty: from the start
	Export                  string  `json:"export"`          // where to save the trained model; empty: nowhere
}

// Verify says what must be proven about the transport.
type Verify struct {
	Expect   string `json:"expect"`   // one of the Expect constants
	FailFast bool   `json:"failFast"` // a FAIL ends the job
}

// Sources is everything a configuration is made from. Its zero value gives
// the defaults.
type Sources struct {
	File     []byte                      // content of the run file; nil: there is none
	FileName string                      // its name in messages and origins
	Env      func(string) (string, bool) // looks a variable up; nil: there are none
	Flags    *pflag.FlagSet              // parsed, with flags of AddFlags; may be nil
	Command  []string                    // what followed "--" on the command line
	Remote   bool                        // the command is about a cluster elsewhere, whatever the target
	Target   string                      // the target where nothing names one; "" means local
}

// Value is one setting as it ended up. Lists and maps that hold something
// give one Value for each of their elements.
type Value struct {
	Key    string // path in the run file: train.steps, job.pip[0], job.env.HF_HOME
	Text   string // as a flag would take it
	Origin Origin
}

// Values yields every setting with its origin, in the order of the run file.
func (c *Config) Values() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		for i := range settings {
			for _, v := range c.values(&settings[i]) {
				if !yield(v) {
					return
				}
			}
		}
	}
}

func (c *Config) values(s *setting) []Value {
	one := func(key, text string) Value { return Value{key, text, c.Origin(key)} }
	switch p := s.field(c).(type) {
	case *[]string:
		if len(*p) == 0 || s.whole {
			return []Value{one(s.key, flow(*p))}
		}
		var all []Value
		for i, text := range *p {
			all = append(all, one(elementKey(s.key, i), text))
		}
		return all
	case *[]JSON:
		if len(*p) == 0 {
			return []Value{one(s.key, "[]")}
		}
		var all []Value
		for i, object := range *p {
			all = append(all, one(elementKey(s.key, i), string(object)))
		}
		return all
	case *map[string]string:
		if len(*p) == 0 {
			return []Value{one(s.key, "{}")}
		}
		var all []Value
		for name, text := range sorted(*p) {
			all = append(all, one(s.key+"."+name, text))
		}
		return all
	default:
		return []Value{one(s.key, format(p))}
	}
}

// Changed returns the values of a section that are not their defaults, in the
// order of the run file. Lists and maps are left out.
func (c *Config) Changed(name string) []Value {
	var changed []Value
	for i := range settings {
		s := &settings[i]
		if section(s.key) == name && !s.collection() && format(s.field(c)) != s.standard {
			changed = append(changed, c.values(s)...)
		}
	}
	return changed
}

// Origin says where the value with this key, as in [Value], came from.
func (c *Config) Origin(key string) Origin { return c.origins[key] }

// PlainValues returns the values that came from plain names of the
// environment, such as STEPS. Such names may be set for other reasons, so a
// command that used one should say so.
func (c *Config) PlainValues() []Value {
	return slices.DeleteFunc(slices.Collect(c.Values()), func(v Value) bool {
		return v.Origin.Kind != FromPlainEnv
	})
}

func elementKey(key string, index int) string {
	return key + "[" + strconv.Itoa(index) + "]"
}

// section returns the first word of a setting's key.
func section(key string) string {
	name, _, _ := strings.Cut(key, ".")
	return name
}
