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
// The lines of NCCL 2.4 to 2.30 and of the AWS OFI plugin, with or without time
// stamps, the prefixes and colours of Ray's driver log, carriage returns, and
// several records run together in one physical line. Everything else in a log
// is skipped.
//
// # Memory
//
// A Parser keeps facts, not lines: equal facts are stored once and counted. The
// size of a Log grows with the number of processes, communicators and edges,
// never with the number of lines, and every list has a limit; what no longer
// fits is counted in [Log.Dropped].
package nccllog
