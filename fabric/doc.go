// Package fabric judges which network carried an NCCL job. It is pure: what is
// known goes in as [Evidence], a [Verdict] comes out.
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
// # What missing lines can and cannot do
//
// Taking lines away from the evidence of a job never makes a PASS, as long as
// each communicator, each process's network and each sign of loss still has a
// line that speaks of it: edges must be seen from both ends, every rank must be
// there and connected on every channel. A communicator of which every line is
// gone is as if it had never been, and so is a warning that lines were folded
// once that warning itself is gone; callers that know better say so in
// [Evidence.Ranks] and [LogFile.Truncated]. Taking lines away from a PASS
// leaves PASS or UNKNOWN, never FAIL.
//
// # Several communicators, restarts, and jobs that still run
//
// Each communicator is judged, and the worst counts; groups within one node do
// not, where others span nodes. An earlier attempt of a job that was restarted
// counts like any other. Where a process has several communicators, an edge
// line belongs to the only one that fits its ranks; edges that fit several can
// make a FAIL and never a PASS.
//
// A verdict on a job that still runs is a verdict on what it has shown so far:
// FAIL will not go away, UNKNOWN may.
package fabric
