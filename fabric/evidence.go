package fabric

import "github.com/trainyard/trainyard/nccllog"

// Evidence is all that is known of a job.
type Evidence struct {
	Expectation Expectation
	Logs        []LogFile

	// Ranks is the job's world size and Nodes the number of its machines; 0
	// where not known.
	Ranks, Nodes int
	// GPUs is the number of GPUs that the cluster has; -1 where not known. 0
	// means that there are none.
	GPUs int
	// Machines is what the cluster says of its machines; nil where there is none
	// to ask.
	Machines []Machine
	// BytesPerNode is how much every machine must have sent over the network at
	// least, as the program itself reckons; 0 where it does not say.
	BytesPerNode uint64
}

// LogFile is a parsed log and what is known of its origin.
type LogFile struct {
	*nccllog.Log
	// Node is the machine whose processes wrote the file; empty where not known
	// and for files that hold the output of several machines.
	Node string
	// Job is a name that files of one job share and files of others do not; empty
	// where not known.
	Job string
	// Attempt numbers the attempts of a job that was restarted, from 1, as
	// whoever launched it says; 0 where not known.
	Attempt int
	// Truncated says that only the head of the file was read.
	Truncated bool
}

// Machine is one machine of the cluster.
type Machine struct {
	// Name is equal to the [LogFile.Node] of its files.
	Name string
	// InstanceType is EC2's; NICs is the number of RDMA network cards that the
	// type has. Empty and 0 where not known.
	InstanceType string
	NICs         int
	// Counters are the hardware counters of its network cards; nil where they
	// were not read.
	Counters []Counter
}

// Counter is what one network card had sent and received, in bytes, before and
// after the job.
type Counter struct {
	Device                        string
	Port                          int
	SentBefore, SentAfter         uint64
	ReceivedBefore, ReceivedAfter uint64
	// Problem says why the card could not be read; the numbers mean nothing then.
	Problem string
}
