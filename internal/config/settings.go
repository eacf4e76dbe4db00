package config

import (
	"regexp"
	"strconv"
	"strings"
)

// setting is one row of the table: everything that is known about a key.
type setting struct {
	key      string            // path in the run file
	flag     string            // without dashes; empty: none
	short    string            // the flag as one letter; empty: none
	arg      string            // what a flag's help calls its value; empty for a bool
	plain    string            // the reference example's name in the environment; empty: none
	standard string            // the default, as a flag would take it
	doc      string            // one line, for flag help, template, schema and docs
	field    func(*Config) any // pointer to the field
	rule     rule
	remote   bool // read only where the job does not run on this machine
	whole    bool // a list that a stronger source replaces instead of adding to
}

// env is the setting's own name in the environment: every setting that holds
// a single value has one, made from its flag or else from its key.
func (s *setting) env() string {
	_, last, nested := strings.Cut(s.key, ".")
	switch {
	case s.collection() || s.flag == "" && !nested:
		return ""
	case s.flag == "":
		return "TRAINYARD_" + strings.ToUpper(wordStart.ReplaceAllString(last, "${1}_$2"))
	default:
		return "TRAINYARD_" + strings.ToUpper(strings.ReplaceAll(s.flag, "-", "_"))
	}
}

// wordStart is where a word starts in a key: rayVersion, workerCPU.
var wordStart = regexp.MustCompile(`([a-z])([A-Z])`)

// collection reports whether the setting is a list or a map.
func (s *setting) collection() bool {
	switch s.field(new(Config)).(type) {
	case *[]string, *[]JSON, *map[string]string:
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
	{"kubernetes", "Kubernetes", "how the pods of a cluster on Kubernetes are made and placed"},
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
		rule:  oneOf(TargetLocal, TargetKubernetes),
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
		key: "cluster.nodes", flag: "nodes", arg: "N", plain: "GPU_NODE_COUNT", standard: "2", doc: "Ray worker nodes, without the head; the most, if fewer exist",
		field: func(c *Config) any { return &c.Cluster.Nodes },
		rule:  between(1, MaxNodes),
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
		key: "cluster.pendingTimeout", flag: "pending-timeout", arg: "DURATION", standard: "15m0s", doc: "how long pods and workers may wait for room; 0: for ever",
		field: func(c *Config) any { return &c.Cluster.PendingTimeout },
		rule:  duration(),
	},
	{
		key: "cluster.name", flag: "ray-cluster", arg: "NAME", plain: "RAY_CLUSTER_NAME", doc: "name of the RayCluster; empty: trainyard- and your user name",
		field:  func(c *Config) any { return &c.Cluster.Name },
		rule:   matching("a letter and more of a-z, 0-9 and -, at most 47 in all", clusterName, maxClusterName),
		remote: true,
	},
	{
		key: "cluster.image", flag: "image", arg: "IMAGE", plain: "DLC_IMAGE", standard: DefaultImage, doc: "image of all pods; a digest in it makes them alike for certain",
		field:  func(c *Config) any { return &c.Cluster.Image },
		rule:   matching("an image such as registry/name:tag or registry/name@sha256:...", imageReference, maxImage),
		remote: true,
	},
	{
		key: "cluster.rayVersion", plain: "RAY_VERSION", standard: DefaultRayVersion, doc: "version of Ray in the image",
		field:  func(c *Config) any { return &c.Cluster.RayVersion },
		rule:   matching("a version such as "+DefaultRayVersion, rayVersion, maxLabel),
		remote: true,
	},
	{
		key: "cluster.nodeType", flag: "node-type", arg: "TYPE", plain: "GPU_NODE_TYPE", standard: "g6.12xlarge", doc: "AWS instance type of the workers' nodes; empty: none of AWS's",
		field:  func(c *Config) any { return &c.Cluster.NodeType },
		rule:   text(),
		remote: true,
	},
	{
		key: "cluster.gpusPerNode", flag: "gpus-per-node", arg: "N", plain: "GPUS_PER_NODE", standard: "0", doc: "GPUs of a worker pod; 0: all that the type has",
		field:  func(c *Config) any { return &c.Cluster.GPUsPerNode },
		rule:   between(0, 64),
		remote: true,
	},
	{
		key: "cluster.efaPerNode", standard: "-1", doc: "EFA interfaces of a worker pod; -1: all that the type has",
		field: func(c *Config) any { return &c.Cluster.EFAPerNode },
		rule:  between(-1, 64),
	},

	{
		key: "kubernetes.context", flag: "context", arg: "NAME", doc: "context of the kubeconfig; empty: the current one",
		field:  func(c *Config) any { return &c.Kubernetes.Context },
		rule:   text(),
		remote: true,
	},
	{
		key: "kubernetes.kubeconfig", flag: "kubeconfig", arg: "PATH", doc: "kubeconfig to use; empty: KUBECONFIG's, or ~/.kube/config",
		field:  func(c *Config) any { return &c.Kubernetes.Kubeconfig },
		rule:   text(),
		remote: true,
	},
	{
		key: "kubernetes.namespace", flag: "namespace", short: "n", arg: "NAME", plain: "NAMESPACE", doc: "namespace of the RayCluster; empty: the context's",
		field:  func(c *Config) any { return &c.Kubernetes.Namespace },
		rule:   matching("a name of a-z, 0-9 and -", optionalLabel, maxLabel),
		remote: true,
	},
	{
		key: "kubernetes.zone", flag: "zone", arg: "ZONE", plain: "GPU_AZ", doc: "zone of all workers, such as us-east-1a; empty: one of any",
		field:  func(c *Config) any { return &c.Kubernetes.Zone },
		rule:   matching("the name of a zone", labelValue, maxLabel),
		remote: true,
	},
	{
		key: "kubernetes.nodeSelector", doc: "labels that the workers' nodes have",
		field: func(c *Config) any { return &c.Kubernetes.NodeSelector },
		rule:  named("labels with values", "a label such as role or example.com/role", qualifiedName, "the value of a label", labelValue),
	},
	{
		key: "kubernetes.tolerations", doc: "taints that workers tolerate beside nvidia.com/gpu",
		field: func(c *Config) any { return &c.Kubernetes.Tolerations },
		rule:  mappings("a list such as [{key: dedicated, operator: Exists}]", "a toleration such as {key: dedicated, operator: Exists}"),
	},
	{
		key: "kubernetes.headOnGPU", standard: "false", doc: "let the head run on a node with GPUs, where all have some",
		field: func(c *Config) any { return &c.Kubernetes.HeadOnGPU },
		rule:  trueOrFalse(),
	},
	{
		key: "kubernetes.queue", flag: "queue", arg: "NAME", doc: "local queue of Kueue to wait in; empty: none",
		field: func(c *Config) any { return &c.Kubernetes.Queue },
		rule:  matching("the name of a LocalQueue", optionalSubdomain, maxSubdomain),
	},
	{
		key: "kubernetes.gang", standard: "false", doc: "start all pods or none, by the operator's batch scheduler",
		field: func(c *Config) any { return &c.Kubernetes.Gang },
		rule:  trueOrFalse(),
	},
	{
		key: "kubernetes.priorityClass", doc: "PriorityClass of all pods; empty: the cluster's default",
		field: func(c *Config) any { return &c.Kubernetes.PriorityClass },
		rule:  matching("the name of a PriorityClass", optionalSubdomain, maxSubdomain),
	},
	{
		key: "kubernetes.workerCPU", flag: "worker-cpu", arg: "QUANTITY", doc: "CPUs of a worker pod; empty: 5/6 of the type's",
		field: func(c *Config) any { return &c.Kubernetes.WorkerCPU },
		rule:  amount("empty or a quantity such as 40 or 1500m"),
	},
	{
		key: "kubernetes.workerMemory", flag: "worker-memory", arg: "QUANTITY", doc: "memory of a worker pod; empty: 5/6 of the type's",
		field: func(c *Config) any { return &c.Kubernetes.WorkerMemory },
		rule:  amount("empty or a quantity such as 160Gi"),
	},
	{
		key: "kubernetes.hugePages", doc: "pages of 2 MiB for a worker pod; empty: as the type wants",
		field: func(c *Config) any { return &c.Kubernetes.HugePages },
		rule:  amount("empty or a quantity such as 5Gi or 0"),
	},
	{
		key: "kubernetes.resources", doc: "further resources of a worker pod, such as rdma/hca: 8",
		field: func(c *Config) any { return &c.Kubernetes.Resources },
		rule:  named("resources with quantities", "a resource such as rdma/hca", qualifiedName, "a quantity such as 8", someQuantity),
	},
	{
		key: "kubernetes.volumes", doc: "volumes of all pods: mountPath and a Kubernetes volume source",
		field: func(c *Config) any { return &c.Kubernetes.Volumes },
		rule: mappings("a list such as [{mountPath: /data, persistentVolumeClaim: {claimName: data}}]",
			"a volume such as {mountPath: /data, persistentVolumeClaim: {claimName: data}}"),
	},
	{
		key: "kubernetes.serviceAccount", doc: "ServiceAccount of all pods; empty: the namespace's default",
		field: func(c *Config) any { return &c.Kubernetes.ServiceAccount },
		rule:  matching("the name of a ServiceAccount", optionalSubdomain, maxSubdomain),
	},
	{
		key: "kubernetes.secrets", flag: "secret", arg: "NAME", doc: "Secrets whose keys become variables of all pods",
		field: func(c *Config) any { return &c.Kubernetes.Secrets },
		rule:  elements("a list such as [wandb]", "the name of a Secret", subdomain),
	},
	{
		key: "kubernetes.imagePullPolicy", doc: "empty: Always for a tag, IfNotPresent for a digest",
		field: func(c *Config) any { return &c.Kubernetes.ImagePullPolicy },
		rule:  matching("empty, Always, IfNotPresent or Never", pullPolicy, maxLabel),
	},
	{
		key: "kubernetes.patches", doc: "strategic merge patches of the RayCluster, the last word",
		field: func(c *Config) any { return &c.Kubernetes.Patches },
		rule:  mappings("a list such as [{metadata: {labels: {team: ml}}}]", "a patch such as {metadata: {labels: {team: ml}}}"),
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
