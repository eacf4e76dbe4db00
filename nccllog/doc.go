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
// with or without time stamps and hosts. Beside them PyTorch's errors of NCCL and
// its watchdog, libfabric's warnings and the tables of nccl-tests. Everything
// else in a log is skipped.
//
// What other programs put around a line is peeled off:
//
//   - launchers: Ray's driver log with its colours and its note on repeated
//     lines, torchrun, mpirun --tag-output, srun --label, pdsh, hydra;
//   - container runtimes: the CRI's log files and Docker's JSON, whose cut lines
//     are joined again, and kubectl logs with --prefix or --timestamps;
//   - log shippers: JSON with the text under any key, within another string too,
//     one line or several; syslog, CloudWatch's tables, GitHub Actions;
//   - consoles and files: carriage returns, escape sequences, NUL bytes, a byte
//     order mark, UTF-16, HTML entities, JSON escapes left in plain text.
//
// Several records in one physical line are read one by one. A record that another
// one cut off is not read but counted in [Log.Unparsed]; so is one that ends
// within a word that matters. NCCL 2.2's lines, which lack the word NCCL, are
// skipped.
//
// # What a process is
//
// Lines with the same host and process id belong to one process, unless what is
// around them tells two apart: the pod, the address in Ray's prefix, the rank of
// the launcher. Containers often have one name and nearly always one process id,
// so that matters where the logs of a job are gathered in one file. Lines that
// lack such a mark, and may be of either process, are counted in [Log.Unparsed].
//
// # Whose edge it is
//
// NCCL's lines about edges name no communicator, and since 2.22 they come at its
// first collective, long after it was initialised. [Edge.Comm] is set where the
// log leaves no doubt. Where a process has several communicators that it may be,
// [Edge.Setup] still tells which edges belong together.
//
// # Speed and memory
//
// Text without NCCL's lines is skipped some gigabytes a second at a time; a line
// of NCCL's costs a fraction of a microsecond and, once its fact is known, no
// allocation. Of a line, [MaxLine] bytes are looked at; longer ones are counted
// in [Log.Cut].
//
// A Parser keeps facts, not lines: equal facts are stored once and counted. The
// size of a Log grows with the number of processes, communicators and edges,
// never with the number of lines, and every list has a limit; what no longer
// fits is counted in [Log.Dropped]. What a Parser needs beside the Log, at most
// some tens of megabytes for tens of thousands of processes, it lets go of in
// [Parser.Close].
package nccllog
