package fabric

import (
	"strings"

	"github.com/trainyard/trainyard/nccllog"
)

// Version is the version of a [Verdict]'s JSON form. Fields may be added
// within a version, never removed or given another meaning.
const Version = 1

// Outcome is the judgement itself.
type Outcome string

// The outcomes.
const (
	Pass    Outcome = "PASS"
	Fail    Outcome = "FAIL"
	Unknown Outcome = "UNKNOWN"
)

// severity orders outcomes: of several the worst counts.
func (o Outcome) severity() int {
	switch o {
	case Fail:
		return 2
	case Unknown:
		return 1
	}
	return 0
}

// Transport is the network that carried the edges between nodes.
type Transport string

// The transports. Two kinds have open ends: libfabric-<provider> for the OFI
// plugin over another provider than EFA, and net-<name> for plugins of others.
const (
	TransportEFA    Transport = "efa"
	TransportIB     Transport = "ib"
	TransportSocket Transport = "socket"
	// TransportMNNVL is NVLink between machines, as GB200 NVL72 has it: no network
	// is used then.
	TransportMNNVL   Transport = "mnnvl"
	TransportMixed   Transport = "mixed"
	TransportNone    Transport = "none"
	TransportUnknown Transport = "unknown"
)

func libfabric(provider string) Transport {
	return Transport("libfabric-" + strings.ToLower(provider))
}

// words names the transport in a sentence.
func (t Transport) words() string {
	switch t {
	case TransportEFA:
		return "EFA"
	case TransportIB:
		return "InfiniBand or RoCE"
	case TransportSocket:
		return "TCP sockets"
	case TransportMNNVL:
		return "NVLink between machines"
	case TransportUnknown:
		return "a network that is not known"
	case TransportMixed:
		return "several networks"
	}
	if provider, ok := strings.CutPrefix(string(t), "libfabric-"); ok {
		return "libfabric's " + provider + " provider"
	}
	if name, ok := strings.CutPrefix(string(t), "net-"); ok {
		return "NET/" + name
	}
	return string(t)
}

// Verdict is the judgement on a job.
type Verdict struct {
	Version     int         `json:"version"`
	Verdict     Outcome     `json:"verdict"`
	Expectation Expectation `json:"expectation"`
	Transport   Transport   `json:"transport"`
	// Cause is empty for PASS.
	Cause   Cause  `json:"cause"`
	Summary string `json:"summary"`
	Remedy  string `json:"remedy"`

	Ranks         Coverage       `json:"ranks"`
	Processes     []Process      `json:"processes"`
	Communicators []Communicator `json:"communicators"`
	Edges         []EdgeCount    `json:"edges"`
	// Evidence holds the lines that decide, in the order of the files.
	Evidence []Quote `json:"evidence"`
	// Warnings do not change the verdict.
	Warnings []Warning `json:"warnings"`
	// Attempts are earlier attempts of the job, oldest first; the verdict is on
	// the last one.
	Attempts []Attempt `json:"attempts"`
	// Reasoning tells step by step how the verdict came about.
	Reasoning []Step `json:"reasoning"`
}

// Warning is what people should know beside the verdict.
type Warning struct {
	// Cause is empty for warnings that have no page of their own.
	Cause    Cause   `json:"cause"`
	Text     string  `json:"text"`
	Evidence []Quote `json:"evidence"`
}

// Attempt is an attempt of a job that was restarted later.
type Attempt struct {
	Ranks     Coverage  `json:"ranks"`
	Verdict   Outcome   `json:"verdict"`
	Transport Transport `json:"transport"`
	Cause     Cause     `json:"cause"`
	Summary   string    `json:"summary"`
}

// StepKind tells what a [Step] rests on.
type StepKind string

// The kinds of steps.
const (
	// Seen: a line says it; the step has a quote, or counts lines.
	Seen StepKind = "seen"
	// Inferred: it follows from lines that are there and others that are not.
	Inferred StepKind = "inferred"
	// Given: the caller says it: the expectation, the cluster's facts.
	Given StepKind = "given"
	// Concluded: a rule of this package, applied to the steps before.
	Concluded StepKind = "concluded"
)

// Step is a step of the reasoning.
type Step struct {
	Kind     StepKind `json:"kind"`
	Text     string   `json:"text"`
	Evidence []Quote  `json:"evidence"`
}

// Report is a verdict on each of several jobs. Its own fields are those of the
// worst one: FAIL, then UNKNOWN, then PASS, and the first of equals.
type Report struct {
	Verdict
	Jobs []Job `json:"jobs"`
}

// Job is a verdict and the files that it is on.
type Job struct {
	Name  string   `json:"name"`
	Files []string `json:"files"`
	Verdict
}

// Blocks tells whether the verdict should fail a command: it is not PASS, and
// the expectation demands something.
func (v Verdict) Blocks() bool { return v.Expectation.Demands() && v.Verdict != Pass }

// Coverage compares what a job has with what was seen of it. Expected is 0
// where not known.
type Coverage struct {
	Expected int `json:"expected"`
	Seen     int `json:"seen"`
}

// Process is one process's part. Rank is its rank in the largest communicator,
// -1 where it has none.
type Process struct {
	Node     string   `json:"node"`
	Host     string   `json:"host"`
	PID      int      `json:"pid"`
	Rank     int      `json:"rank"`
	File     string   `json:"file"`
	NCCL     string   `json:"nccl"`
	Networks []string `json:"networks"`
	// Transport is that of its edges between nodes; none where it has none.
	Transport Transport `json:"transport"`
	Provider  string    `json:"provider"`
	NICs      int       `json:"nics"`
	// Devices counts the network devices that its edges use.
	Devices int `json:"devices"`
	// NetEdges counts edges over the network seen from this end, GDREdges those
	// of them with GPUDirect RDMA.
	NetEdges int `json:"net_edges"`
	GDREdges int `json:"gdr_edges"`
	// Causes say why it does not use what a cluster with RDMA would, the
	// decisive one first.
	Causes []Cause `json:"causes"`
}

// Communicator is one communicator over all its ranks. ID is NCCL's commId
// where there is one, otherwise made up.
type Communicator struct {
	ID        string    `json:"id"`
	Ranks     Coverage  `json:"ranks"`
	Nodes     int       `json:"nodes"`
	Verdict   Outcome   `json:"verdict"`
	Transport Transport `json:"transport"`
	Cause     Cause     `json:"cause"`
}

// Scope tells whether an edge leaves the machine, as NCCL sees machines.
type Scope string

// The scopes.
const (
	InterNode Scope = "inter-node"
	IntraNode Scope = "intra-node"
)

// EdgeCount counts the distinct edges of one kind, each once however many ends
// of it were seen. Transport is a network for edges over one, otherwise mnnvl
// (between hosts), p2p or shm. Edges that could be of several communicators are
// left out.
type EdgeCount struct {
	Transport Transport `json:"transport"`
	Scope     Scope     `json:"scope"`
	Count     int       `json:"count"`
	// GDR counts those of them that use GPUDirect RDMA at each end that was seen.
	GDR int `json:"gdr"`
}

// Quote is a line of a log.
type Quote struct {
	File string `json:"file"`
	Line int64  `json:"line"`
	Text string `json:"text"`
}

func quote(log LogFile, f nccllog.Fact) Quote {
	return Quote{File: log.Source, Line: f.Line, Text: f.Text}
}
