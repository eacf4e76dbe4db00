package layers

// The layers of trainyard, from the top down. Everything that says what may
// import what is in this file: the test reads it, and so does the linter,
// whose depguard rules in .golangci.yml are written from it
// (go test ./test/layers -update).
//
// The order is the order of a run: the command line turns words into values,
// the workflow tells the story with them, each domain package knows one thing
// about the world, and the ground is what all of them stand on. Values travel
// between domain packages through the workflow, never by one importing
// another; that keeps each of them readable, and testable, alone.
var layers = []layer{
	{
		name:     "command",
		packages: []string{"cmd/trainyard"},
		imports:  []string{"cli"},
		why:      "main is a doorway: signals, one Run, the exit code",
	},
	{
		name:     "cli",
		packages: []string{"internal/cli"},
		imports:  []string{"workflow", "domain", "library", "ground"},
		why:      "the only place that knows flags, the environment and exit codes",
	},
	{
		name:     "workflow",
		packages: []string{"internal/workflow"},
		imports:  []string{"domain", "library", "ground"},
		why:      "ordered steps over the domain packages; it takes values, never flags",
	},
	{
		name: "domain",
		packages: []string{
			"internal/addons",
			"internal/awsapi",
			"internal/capacity",
			"internal/config",
			"internal/evidence",
			"internal/instancetype",
			"internal/kube",
			"internal/logfiles",
			"internal/pack",
			"internal/pyenv",
			"internal/raycluster",
			"internal/rayjob",
			"internal/registry",
			"internal/report",
			"internal/runs",
			"internal/target",
		},
		imports: []string{"library", "ground"},
		why:     "one concern each; the workflow passes values from one to another",
	},
	{
		name:         "library",
		packages:     []string{"fabric", "nccllog", "train"},
		standardOnly: true,
		why:          "others import these: the standard library is all they may cost",
	},
	{
		name:     "ground",
		packages: []string{"internal/fault", "internal/process", "internal/shell", "internal/spelling", "internal/ui", "internal/wait"},
		why:      "everything stands on these, so they stand on nothing of ours",
	},
}

// sideways lists the imports between packages of one layer, each with its
// reason. A new line here is a decision about the design: argue it in the
// commit.
var sideways = []edge{
	{"fabric", "nccllog", "a verdict is a judgement of what nccllog read"},
	{"internal/addons", "internal/kube", "an add-on is objects that kube applies and pods that it waits for"},
	{"internal/capacity", "internal/awsapi", "capacity is what AWS answers to calls that awsapi names"},
	{"internal/capacity", "internal/instancetype", "an instance type's vCPUs count against a quota, and its GPUs are what is looked for"},
	{"internal/evidence", "internal/rayjob", "evidence is made of the pieces of log that Ray hands out"},
	{"internal/target", "internal/instancetype", "what a node should offer is what its type has"},
	{"internal/target", "internal/kube", "a target in a cluster is objects that kube applies and a port that it forwards"},
	{"internal/raycluster", "internal/instancetype", "a worker pod is as large as its instance type"},
	{"internal/target", "internal/raycluster", "what became of a RayCluster is read by the labels that it was made with"},
	{"internal/target", "internal/rayjob", "a cluster is up when Ray itself says how many nodes are alive"},
	{"internal/target", "internal/target", "each target is a folder below the interface that they share"},
}

// outside lists what is not part of the program: it may import any package,
// and no package may import it.
var outside = []string{"bench", "examples", "test"}

// vague lists package names that say nothing about what is inside, so that
// everything ends up there.
var vague = []string{"base", "common", "helper", "helpers", "misc", "shared", "util", "utils"}
