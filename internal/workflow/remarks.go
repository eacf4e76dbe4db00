package workflow

import (
	"bytes"
	"slices"
)

// What Ray 2.58 says of itself, told from what the job says.

// isStartRemark knows what a driver's log begins with: Ray's own log lines,
// "2026-11-29 22:41:22,389	INFO worker.py:1683 -- …", and the job's command.
func isStartRemark(text []byte) bool {
	if bytes.HasPrefix(text, []byte("Running entrypoint for job ")) {
		return true
	}
	_, rest, ok := bytes.Cut(text, []byte("\tINFO "))
	return ok && beginsWith(rest, "job_manager.py:", "worker.py:", "packaging.py:")
}

// isTrainRemark knows what Ray Train says in workers of what it was asked to do.
func isTrainRemark(text []byte) bool {
	return beginsWith(text, "Setting up process group for: ", "Moving model to device: ", "Wrapping provided model in ")
}

// isReportRemark knows what Ray Train says in each rank of a ray.train.report.
func isReportRemark(text []byte) bool {
	return beginsWith(text, "Reporting training result ", "Checkpoint successfully created at: ")
}

// isPlacementRemark knows what Ray Train's controller says between its request
// for resources, which is worth knowing while there are none, and the ranks. The
// last is an error only by its level, and comes with every job.
func isPlacementRemark(text []byte) bool {
	return beginsWith(text, "Attempting to start training worker group ", "Started training worker group ") ||
		bytes.Contains(text, []byte("] core_worker.cc:")) && bytes.Contains(text, []byte("'PreemptionWatcher'"))
}

// isSignalTrace knows the stack that Ray's C++ side prints, twice, when it is
// asked to end: signal, program counter, frames.
func isSignalTrace(text []byte) bool {
	if _, rest, ok := bytes.Cut(text, []byte("] logging.cc:")); ok {
		_, text, _ = bytes.Cut(rest, []byte(": "))
	}
	return beginsWith(bytes.TrimLeft(text, " "), "*** SIGTERM received at ", "PC: @ ", "@    ")
}

// isDeathRemark knows what Ray says in the driver of a worker process that died.
func isDeathRemark(text []byte) bool {
	return beginsWith(text, "(raylet") && bytes.Contains(text, []byte(") A worker died or was killed "))
}

func beginsWith(text []byte, beginnings ...string) bool {
	return slices.ContainsFunc(beginnings, func(s string) bool { return bytes.HasPrefix(text, []byte(s)) })
}
