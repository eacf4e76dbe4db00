// Package fabric judges which network carried an NCCL job. It is pure: what is
// known goes in as [Evidence], a [Verdict] comes out. [Judge] takes the evidence
// on one job, [JudgeAll] sorts logs into jobs first.
//
// # The rules
//
//   - PASS needs positive proof, from both ends, for every edge over the network
//     in every communicator that spans nodes, and at least one such edge.
//   - FAIL needs positive proof of something else than expected.
//   - All else is UNKNOWN, with what to do about it.
//
// Proof is an edge line ("Channel 00/0 : 1[1] -> 0[0] [receive] via NET/...").
// A loaded plugin, a network that was initialised, or a device that was found
// prove nothing, and an edge over Libfabric proves EFA only where the same
// process said that libfabric's provider is efa.
//
// # What an edge proof is
//
// All ranks of the communicator are there, and each edge over a network was
// printed by both of its ends. Beyond that it depends on what was connected,
// which all ranks must have said:
//
//   - rings: on every channel a ring can lead through all ranks. A connection
//     without its reverse is the ring's own, so a tree cannot make up for what
//     is lost from a ring;
//   - trees: on every channel every rank is connected, and each connection has
//     its reverse;
//   - the tree between NVLink SHARP's heads: on every channel each node has one;
//   - point-to-point calls, of which NCCL never says that they are complete:
//     every rank talks to somebody, and all pairs have as many channels.
//
// NCCL before 2.8 does not say that it is connected: the end of the
// initialisation counts there. A communicator that no collective has used yet
// shows no edge, and is UNKNOWN.
//
// # Several communicators
//
// Each communicator is judged, and the worst counts; those within one node, or
// within the machines that NVLink joins, do not where others use a network. A
// channel line does not name its communicator. What a process connects in one go
// belongs to one, and is given to the only one that fits: the rank's number and
// its peers', the network, the number of channels, the count of nodes, the
// places of the peers, the time between its making and its end. One whose edges
// or rings are clear is ruled out for the same ones again. Where several fit
// still, those count in which the peers have most of the other ends, and for an
// algorithm's only run those that connected it elsewhere. Two steps lead on, and
// the reasoning marks them as inferred:
//
//   - by counting: an edge that was connected as often as there are
//     communicators that it could be of is an edge of each;
//   - point-to-point connections are given to the only communicator that has
//     no others.
//
// Edges that remain without an owner can make a FAIL, never a PASS.
//
// # NVLink between machines
//
// Edges over NVLink between hosts (MNNVL) use no network. Where a job has no
// others the transport is mnnvl, which [Any] and [RDMA] accept; an expectation
// of one network is then UNKNOWN with the cause mnnvl-only.
//
// # Processes
//
// A process that prints lines of NCCL and shows no communicator, a choice of
// network after which no communicator is named, a start of NCCL that leads to
// none, and a file with NCCL's version alone (since 2.22) leave a job without
// PASS. What several files say of a process counts all: edges that one has and
// the fullest lacks can make a FAIL, never a PASS.
//
// Where several processes look like one, as containers of one name and those that
// are started anew do, libfabric's provider must be named after each start of
// NCCL, and for each rank that one machine cannot have.
//
// Ranks are counted by communicators and GPUs, not by processes, and nodes as
// NCCL counts them.
//
// # Attempts
//
// The last attempt of a job that was restarted counts, and the earlier ones are
// in [Verdict.Attempts]. Groups of processes are taken for attempts on proof
// only:
//
//   - in one file the later began, on a host of the earlier, after that had shown
//     that it failed (a communicator aborted, a network error, a timeout); or
//   - both have all ranks, and in every rank's own file the later process begins
//     after the last line of the earlier, which did not destroy its communicators:
//     it was killed; or
//   - [Evidence.Ranks] is known, each group has so many, and whoever launched them
//     numbers them ([LogFile.Attempt]).
//
// Within a process a communicator of the world's size replaces one that broke
// before. One that was destroyed in order did its work, and what follows is
// another job. The later attempt must have as many ranks as the earlier. Without
// such proof all are one attempt, and the worst counts.
//
// # Counters and facts
//
// Counters of network cards confirm a proof and never replace it: where the log
// proves edges over RDMA and a machine's cards counted nothing, or less than the
// job needs, the verdict is UNKNOWN. Counters that could not be read, or went
// back, change nothing. Cards that are missing and GPUDirect RDMA that is not
// used are warnings.
//
// # What missing lines can and cannot do
//
// Taking lines away from the evidence of a job never makes a PASS, as long as
// each process, each start of NCCL in it, each communicator, each process's
// network and each sign of loss still has a line that speaks of it. A
// communicator of which every line is gone is as if it had never been, and so is
// a pair's connection of which both ends are gone in a communicator of
// point-to-point calls, and a warning that lines were folded once that warning
// itself is gone. A life that was destroyed in order looks killed without the
// lines that say so, and NCCL before 2.16 names no run, so that ranks of two runs
// that say the same look like one. Callers that know better say so in
// [Evidence.Ranks] and [LogFile.Truncated]. Taking lines away from a PASS leaves
// PASS or UNKNOWN; where it takes a whole attempt away, the verdict is that on
// the attempt before.
//
// A verdict on a job that still runs is a verdict on what it has shown so far:
// FAIL will not go away unless the job is started anew, UNKNOWN may, and PASS
// becomes UNKNOWN while a new communicator has not connected yet.
package fabric
