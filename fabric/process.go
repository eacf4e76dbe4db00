package fabric

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/nccllog"
)

// process is one process of the job, seen through the file that says most of it.
type process struct {
	*nccllog.Process
	log   LogFile
	views []view // in all files
	name  string // where it is not its own view that tells
	// place is equal for processes that NCCL takes to be on one host, and empty
	// where not known.
	place    string
	net      []*nccllog.Edge // the edges over a network
	runsOver *Transport      // libfabric's provider, made when needed
	ends     map[end][]*run  // theirs, made when needed

	groups map[*nccllog.Comm]*communicator // of all processes

	// What attribute finds out.
	runs    []*run
	owned   map[*nccllog.Comm][]*nccllog.Edge
	kinds   map[*nccllog.Comm][]string
	counted []*nccllog.Comm // their edges are known by counting only
	adopted int             // runs of point-to-point calls
}

// view is a process as one file shows it.
type view struct {
	*nccllog.Process
	log LogFile
}

// collect lists the processes of all logs, each once: what a worker writes to
// its own file appears in the driver's log again.
func collect(logs []LogFile) []*process {
	type id struct {
		host string
		pid  int
	}
	var all []*process
	named := map[id][]int{} // where in all
	for _, log := range logs {
		for _, p := range log.Processes {
			next := &process{Process: p, log: log, views: []view{{p, log}}}
			key := id{p.Host, p.PID}
			at := slices.IndexFunc(named[key], func(i int) bool { return all[i].same(next) })
			if at < 0 {
				named[key] = append(named[key], len(all))
				all = append(all, next)
				continue
			}
			i := named[key][at]
			views := append(all[i].views, next.views...)
			if next.better(all[i]) {
				all[i] = next
			}
			all[i].views = views
		}
	}
	for _, p := range all {
		p.place = place(p.Process)
		p.net = slices.DeleteFunc(slices.Clone(p.Edges), not(isNet))
	}
	return all
}

// place: NCCL tells hosts apart by their name and boot, or by NCCL_HOSTID. Names
// repeat where containers choose them, so the address has to be equal too.
func place(p *nccllog.Process) string {
	if id, ok := p.Setting("NCCL_HOSTID"); ok {
		return "id " + id.Value
	}
	return address(p)
}

// address is the host's name and address, empty where one of them is not known.
func address(p *nccllog.Process) string {
	if p.Host == "" || p.Bootstrap.Address == "" {
		return ""
	}
	return p.Host + " " + p.Bootstrap.Address
}

// same tells whether two views of equal host and pid show one process. Host
// names and pids repeat across containers; a communicator in which the rank is
// the same decides.
func (p *process) same(o *process) bool {
	if p.log.Log == o.log.Log {
		return false
	}
	if a, b := p.Bootstrap.Address, o.Bootstrap.Address; a != "" && b != "" && a != b {
		return false
	}
	if len(p.Comms) == 0 || len(o.Comms) == 0 {
		return p.log.Node == o.log.Node || p.log.Node == "" || o.log.Node == ""
	}
	for _, a := range p.Comms {
		if slices.ContainsFunc(o.Comms, func(b *nccllog.Comm) bool { return sameComm(a, b) }) {
			return true
		}
	}
	return false
}

func sameComm(a, b *nccllog.Comm) bool {
	return a.Ptr == b.Ptr && a.Rank == b.Rank && a.NRanks == b.NRanks && sameID(a.ID, b.ID)
}

// sameID compares ids of which one may be lost: Ray's driver log folds the line
// that tells it.
func sameID(a, b string) bool { return a == b || a == "" || b == "" }

// better prefers the view without losses, then the one that shows more.
func (p *process) better(o *process) bool {
	if len(p.Comms) != len(o.Comms) {
		return len(p.Comms) > len(o.Comms)
	}
	if (p.loss() == "") != (o.loss() == "") {
		return p.loss() == ""
	}
	if len(p.Edges) != len(o.Edges) {
		return len(p.Edges) > len(o.Edges)
	}
	return p.Info > o.Info
}

// loss says what makes the view incomplete, if anything does.
func (p *process) loss() Cause {
	switch {
	case p.log.Truncated, p.log.Cut.Count > 0, p.log.Dropped > 0:
		return LogTruncated
	case p.log.Repeated.Count > 0:
		return LogsDeduplicated
	case p.log.Unparsed.Count > 0:
		return EdgesUnreadable
	}
	return ""
}

// transport tells what a network of that name is in this process. Libfabric is
// whatever its provider is, and unknown where the provider is or is not clear.
func (p *process) transport(net string) Transport {
	switch name := strings.ToLower(net); {
	case name == "socket", name == "fastsocket":
		return TransportSocket
	case name == "ib", strings.HasPrefix(name, "ibext"):
		return TransportIB
	case isLibfabric(name):
		return p.provider()
	default:
		return Transport("net-" + name)
	}
}

// isNetwork tells whether the name is one that NCCL's own networks and the OFI
// plugin have. "Using network" may be cut in the middle of the word, so an
// unknown name there says nothing; on an edge it is followed by the device.
func isNetwork(net string) bool {
	switch name := strings.ToLower(net); name {
	case "socket", "ib", "libfabric", "aws libfabric", "ofi":
		return true
	default:
		return strings.HasPrefix(name, "ibext")
	}
}

// provider is what libfabric runs over in this process.
func (p *process) provider() Transport {
	if p.runsOver == nil {
		t := TransportUnknown
		if p.providerEachTime() {
			t = p.providerNamed()
		}
		p.runsOver = &t
	}
	return *p.runsOver
}

// providerEachTime tells whether the provider is known for all that share the
// process's host and id: after each start of NCCL that led to edges over
// Libfabric, and for each rank of a communicator that cannot be here.
func (p *process) providerEachTime() bool {
	for i := range len(p.Starts) + 1 {
		from, to := p.life(i - 1)
		within := func(line int64) bool { return from <= line && line < to }
		if slices.ContainsFunc(p.net, func(e *nccllog.Edge) bool { return isLibfabric(e.Net) && within(e.Line) }) &&
			!slices.ContainsFunc(p.Providers, func(o nccllog.Provider) bool { return within(o.Line) }) {
			return false
		}
	}
	return p.crowd() <= max(1, len(p.Starts))
}

// life returns where the i-th start of NCCL begins and where the next one does;
// -1 is what came before the first, as where the head of a log is lost.
func (p *process) life(i int) (from, to int64) {
	if i >= 0 {
		from = p.Starts[i].Line
	}
	if i+1 < len(p.Starts) {
		return from, p.Starts[i+1].Line
	}
	return from, p.Last + 1
}

// crowd is the number of ranks of one communicator that the process has, where
// one machine cannot have so many or two have one GPU: several processes look
// like one.
func (p *process) crowd() int {
	type comm struct {
		id   string
		size int
	}
	ranks, gpus, local := map[comm]map[int]bool{}, map[comm]map[uint64]bool{}, map[comm]int{}
	for _, c := range p.Comms {
		if c.Parent != 0 {
			continue
		}
		id := comm{c.ID, c.NRanks}
		if ranks[id] == nil {
			ranks[id], gpus[id] = map[int]bool{}, map[uint64]bool{}
		}
		ranks[id][c.Rank], gpus[id][c.BusID] = true, true
		local[id] = max(local[id], c.LocalRanks)
	}
	most := 0
	for id, members := range ranks {
		if n := len(members); n > max(1, local[id]) || n > len(gpus[id]) {
			most = max(most, n)
		}
	}
	return most
}

func isLibfabric(net string) bool {
	switch strings.ToLower(net) {
	case "libfabric", "aws libfabric", "ofi":
		return true
	}
	return false
}

// providerNamed needs a whole line, or the whole name of a provider that is
// known: half of one must not count as another.
func (p *process) providerNamed() Transport {
	if len(p.Providers) == 0 {
		return TransportUnknown
	}
	last := p.Providers[len(p.Providers)-1].Base()
	for _, other := range p.Providers {
		if other.Base() != last || other.NICs == 0 && !slices.Contains(providers(), last) {
			return TransportUnknown
		}
	}
	if last == "efa" {
		return TransportEFA
	}
	return libfabric(last)
}

func providers() []string {
	return []string{"efa", "tcp", "sockets", "udp", "verbs", "psm2", "psm3", "opx", "cxi", "gni", "shm"}
}

// used is the transport of the process's edges over a network.
func (p *process) used() Transport {
	var seen transports
	last := ""
	for _, e := range p.net {
		if e.Net != last {
			last = e.Net
			seen.add(p.transport(e.Net))
		}
	}
	return seen.one(TransportNone)
}

// transports is a small set.
type transports []Transport

func (s *transports) add(t Transport) {
	if !slices.Contains(*s, t) {
		*s = append(*s, t)
	}
}

// known leaves out what could be anything.
func (s transports) known() transports {
	return slices.DeleteFunc(slices.Clone(s), func(t Transport) bool { return t == TransportUnknown })
}

// differ tells whether ranks that use the set cannot talk to each other. What
// is not known of Libfabric is its provider: it still is not NCCL's sockets.
func (s transports) differ() bool {
	if len(s.known()) > 1 {
		return true
	}
	return slices.Contains(s, TransportUnknown) && slices.ContainsFunc(s, func(t Transport) bool {
		return t != TransportUnknown && t != TransportEFA && !strings.HasPrefix(string(t), "libfabric-")
	})
}

// one names the set: its only member, mixed for several, otherwise none.
func (s transports) one(none Transport) Transport {
	switch known := s.known(); {
	case len(known) > 1:
		return TransportMixed
	case len(s) == 0:
		return none
	case len(known) < len(s):
		return TransportUnknown
	default:
		return known[0]
	}
}

// rank is the process's rank in its largest communicator.
func (p *process) rank() int {
	rank, size := -1, 0
	for _, c := range p.Comms {
		if c.NRanks > size {
			rank, size = c.Rank, c.NRanks
		}
	}
	return rank
}

// label names the process for people.
func (p *process) label() string {
	if p.name != "" {
		return p.name
	}
	where := "on " + p.machine()
	if p.machine() == "" { // no host that could be read
		where = "in " + p.log.Source
	}
	if r := p.rank(); r >= 0 {
		return fmt.Sprintf("rank %d %s", r, where)
	}
	return fmt.Sprintf("process %d %s", p.PID, where)
}

// row is the process's part of a verdict.
func (p *process) row(expect Expectation) Process {
	row := Process{
		Node: p.log.Node, Host: p.Host, PID: p.PID, Rank: p.rank(), File: p.log.Source,
		Networks: []string{}, Transport: p.used(), Causes: []Cause{},
	}
	if v := p.Version; v.Seen() {
		row.NCCL = fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
	}
	for _, n := range p.Networks {
		row.Networks = append(row.Networks, n.Name)
	}
	if n := len(p.Providers); n > 0 {
		row.Provider, row.NICs = p.Providers[n-1].Name, p.Providers[n-1].NICs
	}
	devices := map[int]bool{}
	for _, e := range p.net {
		row.NetEdges++
		devices[e.Device] = true
		if e.GDR {
			row.GDREdges++
		}
	}
	row.Devices = len(devices)
	for _, why := range explain(p, expect) {
		row.Causes = append(row.Causes, why.cause)
	}
	return row
}
