// Package nccllog reads what NCCL prints and returns it as data: processes,
// communicators, the edges between ranks and the network each edge uses, the
// steps by which NCCL chose that network, and what went wrong.
//
// A [Parser] is an [io.Writer]. Bytes may arrive in pieces of any size, cut
// anywhere, while the job still runs; [Parser.Log] may be asked at any time.
//
//	p := nccllog.NewParser("worker-1.out")
//	if _, err := io.Copy(p, file); err != nil {
//		return err
//	}
//	p.Close()
//	for _, process := range p.Log().Processes {
//		// process.Edges, process.Providers, ...
//	}
//
// The package says what the lines say and concludes nothing: a loaded plugin is
// not a used one, and an edge over Libfabric is not an edge over EFA. The
// conclusions are drawn in package fabric.
//
// # What is understood
//
// The lines of NCCL 2.4 to 2.30, of RCCL, and of the AWS OFI plugin 1.1 to 1.21,
// with or without time stamps, the prefixes and colours of Ray's driver log,
// carriage returns, and several records run together in one physical line.
// Beside them PyTorch's errors of NCCL and its watchdog, libfabric's warnings and
// the tables of nccl-tests. Everything else in a log is skipped.
//
// # Whose edge it is
//
// NCCL's lines about edges name no communicator, and since 2.22 they come at its
// first collective, long after it was initialised. [Edge.Comm] is set where the
// log leaves no doubt. Where a process has several communicators that it may be,
// [Edge.Setup] still tells which edges belong together.
//
// # Memory
//
// A Parser keeps facts, not lines: equal facts are stored once and counted. The
// size of a Log grows with the number of processes, communicators and edges,
// never with the number of lines, and every list has a limit; what no longer
// fits is counted in [Log.Dropped].
package nccllog
