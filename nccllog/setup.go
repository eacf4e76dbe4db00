package nccllog

import "bytes"

// thread is what is known of one thread: lines that name no communicator mean
// the one that the thread is busy with.
type thread struct {
	tid  int
	comm *Comm // the communicator that the thread named last
	// unnamed is a communicator that is being initialised and has not been named
	// yet: some of its lines come before its name, before NCCL 2.18 nearly all.
	unnamed struct {
		open           bool
		network        Value
		channels, nvls int
	}
	run run
}

// run is a run of connection set-up: what one thread connects for one
// communicator.
//
// Since NCCL 2.22 collectives are connected at the first one that needs them,
// and a line such as "Connected all rings" ends that; before, it is part of the
// initialisation. Connections for point-to-point calls are made at the first
// call, peer after peer, and nothing ends them: there each peer is a run of its
// own, unless the communicator is known. So are SHM edges that begin a run, as
// they do not tell which of the two they are for.
// Source: NCCL src/group.cc, src/transport.cc, src/transport/generic.cc.
type run struct {
	id     int   // 0: none is open
	start  int   // where its edges begin in the process's list
	comm   *Comm // nil while it is not known
	pinned bool  // the communicator was named for this run
	loose  bool  // nothing will end the run
	first  edgeID
	// own is the rank that connects, peer the other one of the first edge, top
	// the highest rank of all.
	own, conn, peer, top int
}

// edgeID is an edge without the way that it takes.
type edgeID struct {
	channel, from, to int
	direction         Direction
}

func (e *parsedEdge) id() edgeID { return edgeID{e.Channel, e.From, e.To, e.Direction} }

// loose tells that the edge may be one of point-to-point calls.
func (e *parsedEdge) loose() bool { return !e.indexed || e.Conn != 0 }

// setups numbers the runs of a process.
type setups struct {
	runs int
	of   map[*Comm]int // the run of each communicator that was known at once
}

// initialising returns the communicator whose initialisation is going on in the
// thread, nil where there is none or it has no name yet.
func (t *thread) initialising() *Comm {
	if t.comm == nil || t.unnamed.open || t.comm.Completed.Seen() || t.comm.Done.Seen() {
		return nil
	}
	return t.comm
}

// begins takes a line that is printed during initialisation only.
func (t *thread) begins() {
	if t.initialising() == nil && !t.unnamed.open {
		t.unnamed.open, t.run = true, run{}
	}
}

// count takes the number of channels of the communicator being initialised.
func (t *thread) count(channels, nvls int) {
	c := t.initialising()
	if c == nil {
		u := &t.unnamed
		u.channels, u.nvls = max(u.channels, channels), max(u.nvls, nvls)
		return
	}
	c.Channels, c.NVLSChannels = max(c.Channels, channels), max(c.NVLSChannels, nvls)
}

// named gives the communicator what came before its name. A split has its
// parent's network until it says otherwise.
func (ps *process) named(t *thread, c *Comm) {
	t.comm = c
	u := &t.unnamed
	fresh := !c.Started.Seen() && !c.Sized.Seen() && !c.Completed.Seen()
	if !c.Network.Seen() || fresh && u.network.Seen() {
		c.Network = u.network
	}
	ps.claim(u.network)
	c.Channels, c.NVLSChannels = max(c.Channels, u.channels), max(c.NVLSChannels, u.nvls)
	u.open, u.network, u.channels, u.nvls = false, Value{}, 0, 0
}

// completed ends the initialisation. Where the name comes last, the run that is
// open is the communicator's.
func (ps *process) completed(t *thread, c *Comm) {
	if t.run.id != 0 && t.run.comm == nil && t.run.own == c.Rank && t.run.top < c.NRanks {
		ps.settle(t.run, c)
	}
	t.run = run{}
}

// place gives the edge its run, and its communicator where that is clear.
func (ps *process) place(t *thread, e *parsedEdge) {
	c := ps.owner(t, e)
	switch {
	case t.run.goesOn(t, e):
		if c != nil {
			ps.settle(t.run, c)
			t.run.comm = c
		}
	case c == nil:
		ps.runs++
		t.run = run{
			id: ps.runs, start: len(ps.Edges), loose: e.loose(), first: e.id(),
			own: e.Own(), conn: e.Conn, peer: e.Peer(),
		}
	case t.run.comm != c:
		t.run = run{id: ps.runOf(c), comm: c, start: len(ps.Edges)}
	}
	t.run.top = max(t.run.top, e.From, e.To)
	e.Setup = t.run.id
	if c != nil {
		e.Comm = c.Ptr
	}
}

// goesOn tells whether the edge is surely of the run, which has no known
// communicator.
func (r *run) goesOn(t *thread, e *parsedEdge) bool {
	switch {
	case r.id == 0 || r.comm != nil || r.own != e.Own():
		return false
	case t.unnamed.open:
		return true
	case r.first == e.id(): // it begins again
		return false
	case r.loose:
		return e.loose() && r.conn == e.Conn && r.peer == e.Peer()
	}
	return e.Conn == 0
}

// owner returns the communicator of the edge where it is clear at once: the line
// names it, its initialisation is open in the thread, or no other has the ranks.
func (ps *process) owner(t *thread, e *parsedEdge) *Comm {
	if e.named != nil && e.named.ptr != 0 {
		return ps.findComm(e.named)
	}
	if t.unnamed.open {
		return nil
	}
	if c := t.initialising(); c != nil {
		if c.has(e.Own(), e.Peer()) {
			return c
		}
		return nil
	}
	if t.run.pinned && t.run.comm.has(e.Own(), e.Peer()) {
		return t.run.comm
	}
	return ps.only(e.Own(), e.Peer(), "")
}

func (c *Comm) has(own, peer int) bool { return c.Rank == own && peer < c.NRanks }

// only returns the one living communicator that has the ranks and is not yet
// connected in the manner, nil where there are none or several.
func (ps *process) only(own, peer int, kind string) *Comm {
	var found *Comm
	for _, c := range ps.Comms {
		if c.Done.Seen() || !c.has(own, peer) || kind != "" && ps.isConnected(c, kind) {
			continue
		}
		if found != nil {
			return nil
		}
		found = c
	}
	return found
}

func (ps *process) isConnected(c *Comm, kind string) bool {
	for _, done := range ps.Connected {
		if done.Comm == c.Ptr && done.Kind == kind {
			return true
		}
	}
	return false
}

// runOf returns the number of the communicator's own run.
func (ps *process) runOf(c *Comm) int {
	if ps.of == nil {
		ps.of = map[*Comm]int{}
	}
	id := ps.of[c]
	if id == 0 {
		ps.runs++
		id = ps.runs
		ps.of[c] = id
	}
	return id
}

// settle gives the run to the communicator.
func (ps *process) settle(r run, c *Comm) {
	for _, e := range ps.Edges[r.start:] {
		if e.Setup == r.id {
			e.Comm = c.Ptr
		}
	}
	for i := range ps.Connected {
		if done := &ps.Connected[i]; done.Setup == r.id {
			done.Comm = c.Ptr
		}
	}
}

// connected takes "Connected all rings", "Connected all trees" and their like,
// which end a run outside of initialisation.
func (ps *process) connected(r *record) bool {
	_, rest, ok := bytes.Cut(r.msg, []byte("Connected "))
	if !ok {
		return false
	}
	kind := connectedKind(rest)
	if kind == "" {
		return true
	}
	t := r.thread
	done := Connected{Kind: kind, Setup: t.run.id, Fact: Fact{Line: r.line}}
	c := ps.connecting(t, kind)
	if c != nil {
		done.Comm = c.Ptr
	}
	if t.run.id != 0 && t.run.comm == nil && c != nil {
		ps.settle(t.run, c)
	}
	if !t.unnamed.open && t.initialising() == nil {
		t.run = run{}
	}
	for _, seen := range ps.Connected {
		if seen.Comm == done.Comm && seen.Kind == done.Kind && seen.Setup == done.Setup {
			return true
		}
	}
	done.Fact = r.fact()
	ps.Connected = keep(ps, ps.Connected, done)
	return true
}

// connecting returns the communicator that a line at the end of a run means,
// nil where it is not clear.
func (ps *process) connecting(t *thread, kind string) *Comm {
	switch {
	case t.run.comm != nil:
		return t.run.comm
	case t.unnamed.open:
		return nil
	case t.run.id != 0:
		return ps.only(t.run.own, t.run.top, kind)
	case t.initialising() != nil:
		return t.initialising()
	case len(ps.Comms) == 1 && !ps.Comms[0].Done.Seen():
		return ps.Comms[0]
	}
	return nil
}

func connectedKind(rest []byte) string {
	for _, kind := range [...]struct{ words, name string }{
		{"all rings", "rings"},
		{"all trees", "trees"},
		{"binomial trees", "binomial trees"},
		{"NVLS tree", "nvls trees"},
		{"Collnet", "collnet"},
		{"CollNet", "collnet"},
		{"collnet", "collnet"},
	} {
		if hasPrefix(rest, kind.words) {
			return kind.name
		}
	}
	return ""
}

// nvls takes "NVLS comm 0x7f ...", which names the communicator whose NVLS
// trees the thread connects next.
func (ps *process) nvls(r *record) bool {
	s := scanner{r.msg}
	if !s.skip("NVLS comm ") {
		return false
	}
	ptr, _ := s.hex()
	if c := ps.living(ptr); c != nil && r.thread.initialising() == nil && !r.thread.unnamed.open {
		r.thread.run = run{id: ps.runOf(c), comm: c, pinned: true, start: len(ps.Edges)}
	}
	return true
}

// living returns the communicator that has the pointer now.
func (ps *process) living(ptr uint64) *Comm {
	for i := len(ps.Comms) - 1; i >= 0; i-- {
		if c := ps.Comms[i]; c.Ptr == ptr && !c.Done.Seen() {
			return c
		}
	}
	return nil
}
