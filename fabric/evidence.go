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
}

// LogFile is a parsed log and what is known of its origin.
type LogFile struct {
	*nccllog.Log
	// Node is the machine whose processes wrote the file; empty where not known
	// and for files that hold the output of several machines.
	Node string
	// Truncated says that only the head of the file was read.
	Truncated bool
}
