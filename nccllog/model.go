package nccllog

// Log is what one file has shown so far. It holds plain data only.
type Log struct {
	// Source names the file in quoted evidence.
	Source string
	// Lines and Bytes count the whole input, NCCL's or not.
	Lines, Bytes int64
	// Info and Warn count NCCL's own lines by level.
	Info, Warn int64
	// Banner is the version line without a prefix that NCCL prints where its
	// debug level is VERSION or WARN; Line is 0 where there was none.
	Banner Version
	// Version is NCCL's version as PyTorch tells it in an error; Line is 0 where
	// it does not.
	Version Version
	// Processes are in the order of their first line.
	Processes []*Process
	// Errors are what the programs around NCCL say of it, each distinct one
	// once: PyTorch's exceptions and watchdog, libfabric's own warnings.
	Errors []Event
	// Tests are the tables that nccl-tests printed.
	Tests []BandwidthTest

	// Repeated counts NCCL lines that stand for several: Ray's driver log folds
	// lines that differ only in numbers, so the others of the kind are lost.
	Repeated Tally
	// Cut counts NCCL lines that were longer than [MaxLine]; only the head was read.
	Cut Tally
	// Unparsed counts channel lines that fit no known form, as half lines do.
	Unparsed Tally
	// Dropped counts processes, communicators, edges and steps that no longer
	// fitted into their lists.
	Dropped int64
}

// Fact is a line that can be quoted.
type Fact struct {
	// Line is the number of the physical line, from 1; 0 means "not seen".
	Line int64
	// Text is NCCL's message without its prefix, shortened to [MaxText] bytes;
	// warnings keep the words NCCL WARN.
	Text string
}

// Seen tells whether the fact was in the log.
func (f Fact) Seen() bool { return f.Line > 0 }

// Tally counts lines of one kind and keeps the first. Host and PID are those of
// the process that printed it, where the line tells them.
type Tally struct {
	Count int64
	First Fact
	Host  string
	PID   int
}

// Process is one process that printed NCCL lines. Host is NCCL's word for the
// machine (the pod in Kubernetes), cut at the first dot; it is empty, and PID 0,
// for lines that carried no prefix.
type Process struct {
	Host string
	PID  int
	// RayIP is the address in Ray's prefix where the line had one.
	RayIP string
	// Info and Warn count the process's lines by level, First and Last are the
	// numbers of its first and last line.
	Info, Warn  int64
	First, Last int64

	// Starts are the lines with which NCCL began, one each time: there are more
	// than one where several processes share host and id, as containers of one
	// name do, or one that is started anew.
	Starts    []Fact
	Version   Version
	Bootstrap Interface
	// Env lists variables that NCCL says it took from the environment or from
	// its configuration file.
	Env []Setting
	// Steps are the moves by which the network was chosen, in order, each
	// distinct one once.
	Steps []Step
	// Providers are libfabric providers the OFI plugin selected, in order, each
	// distinct one once a start.
	Providers []Provider
	// OFIVersion, Libfabric, Platform, Protocol and Instance (the EC2 instance
	// type) are the OFI plugin's words.
	OFIVersion, Libfabric, Platform, Protocol, Instance Value
	// Devices are the network devices that NCCL's own networks list; those of a
	// network that is not used too.
	Devices []Device
	// NICGroups counts the groups into which the OFI plugin's RDMA protocol puts
	// network cards, each one network device of NCCL; 0 where it lists none. The
	// plugin may take another protocol after that.
	NICGroups int
	// NoGDR are lines that say that GPUDirect RDMA is not used, one of each kind.
	NoGDR []Fact

	Comms []*Comm
	Edges []*Edge
	// Networks lists the distinct networks named by "Using network".
	Networks []Value
	// Unclaimed are the "Using network" lines after which no line named the
	// communicator that was being made.
	Unclaimed []Value
	// Connected lists "Connected all rings" and its like.
	Connected []Connected
	// Events are warnings and network errors, each distinct one once.
	Events []Event
}

// Value is a word taken from a line.
type Value struct {
	Name string
	Fact
}

// Version is NCCL's version, 2.28.9 say.
type Version struct {
	Major, Minor, Patch int
	Fact
}

// AtLeast compares versions. An unknown version is not at least anything.
func (v Version) AtLeast(major, minor, patch int) bool {
	if !v.Seen() {
		return false
	}
	if v.Major != major {
		return v.Major > major
	}
	if v.Minor != minor {
		return v.Minor > minor
	}
	return v.Patch >= patch
}

// Interface is the network interface of NCCL's bootstrap, which is always TCP
// and says nothing of the network that carries data.
type Interface struct {
	Name, Address string
	Fact
}

// Setting is a variable and its value as NCCL read it.
type Setting struct {
	Name, Value string
	Fact
}

// StepKind names a move in the choice of the network.
type StepKind string

// The moves, in about the order in which they happen.
const (
	// StepNotFound: the plugin's library is not there.
	StepNotFound StepKind = "not-found"
	// StepLoadError: the library is there and cannot be loaded.
	StepLoadError StepKind = "load-error"
	// StepSymbolMissing: the library lacks one version of the interface; normal
	// while an older version is found.
	StepSymbolMissing StepKind = "symbol-missing"
	// StepUnsupported: the library lacks every version that this NCCL speaks.
	StepUnsupported StepKind = "unsupported"
	// StepLoaded: the library is loaded. This is not use.
	StepLoaded StepKind = "loaded"
	// StepNoProvider: libfabric offered nothing. A later attempt may succeed.
	StepNoProvider StepKind = "no-provider"
	// StepNoGDR: the OFI plugin gives up because GPUDirect RDMA is not to be had.
	StepNoGDR StepKind = "no-gdr"
	// StepNoDevice: the network looked for its devices and found none.
	StepNoDevice StepKind = "no-device"
	// StepTried: NCCL tried the network, whatever came of it.
	StepTried StepKind = "tried"
	// StepDevices: the network lists devices that it would use.
	StepDevices StepKind = "devices"
	// StepInitialized: the network is ready. It may still not be chosen.
	StepInitialized StepKind = "initialized"
	// StepInitFailed: the network could not be initialised.
	StepInitFailed StepKind = "init-failed"
	// StepForced: NCCL says that the program asked for the network, or that
	// NCCL_NET overrides what it asked for. NCCL_NET alone is not told.
	StepForced StepKind = "forced"
	// StepAssigned: the network was given to a communicator.
	StepAssigned StepKind = "assigned"
	// StepNone: no network could be initialised; the communicator failed.
	StepNone StepKind = "none"
)

// Step is one move in the choice of the network. Name is the network or
// library, Count how often it was seen, Last the number of its last line.
type Step struct {
	Kind  StepKind
	Name  string
	Count int64
	Last  int64
	Fact
}

// Provider is the libfabric provider that the OFI plugin selected. Name may
// carry layers ("verbs;ofi_rxm"); see [Provider.Base].
type Provider struct {
	Name, Fabric string
	// NICs is the number of network cards found; 0 where the line does not say.
	NICs int
	Fact
}

// Device is a network device that NCCL's IB or Socket network lists.
type Device struct {
	// Net is IB or Socket, Name the device (mlx5_0:1, eth0), Link the link layer
	// where the line tells it (IB, RoCE).
	Net, Name, Link string
	Fact
}

// BandwidthTest is one table of nccl-tests.
type BandwidthTest struct {
	// Name is the program's (all_reduce_perf); empty where not printed.
	Name string
	// Ranks is the number of ranks it lists; 0 where it lists none.
	Ranks int
	Rows  []BandwidthRow
	// AvgBusBW is in GB/s; 0 where the table was cut off.
	AvgBusBW float64
	Fact
}

// BandwidthRow is one message size of a BandwidthTest.
type BandwidthRow struct {
	Bytes, Count        int64
	OutOfPlace, InPlace Bandwidth
	Line                int64
}

// Bandwidth is one measurement: time in microseconds, bandwidths in GB/s as
// nccl-tests defines them. Wrong is -1 where results were not checked.
type Bandwidth struct {
	TimeUS, AlgBW, BusBW float64
	Wrong                int64
}

// Comm is one rank's communicator. Ptr is NCCL's pointer, unique only within
// the process and until the communicator is destroyed; ID is equal on all
// ranks, and empty where NCCL prints none (splits since 2.23, all before 2.16).
type Comm struct {
	Ptr          uint64
	ID           string
	Rank, NRanks int
	// NNodes, LocalRanks and Channels are 0 where the line was not seen.
	NNodes, LocalRanks, Channels int
	// MNNVL tells that ranks of several hosts share NVLink, NVLSChannels how
	// many channels use NVLink SHARP within it.
	MNNVL        bool
	NVLSChannels int
	// Parent is the pointer of the communicator this one was split from, Child
	// the count of splits before it; Parent is 0 for others.
	Parent       uint64
	Child, Color int
	// BusID is the GPU's place in its machine; 0 where not seen.
	BusID uint64
	// Aborted says that Done is the end of a communicator that broke.
	Aborted bool
	// Network is the "Using network" line of this communicator.
	Network                         Value
	Started, Completed, Sized, Done Fact
}

// Transport is the kind of an edge as NCCL prints it.
type Transport string

// The kinds of edges.
const (
	NET Transport = "NET" // over a network
	P2P Transport = "P2P" // between GPUs, NVLink or PCIe
	SHM Transport = "SHM" // through the host's memory
)

// Direction tells which end of a NET edge printed the line. P2P and SHM edges
// are printed by the sender alone.
type Direction string

// The directions.
const (
	Send    Direction = "send"
	Receive Direction = "receive"
)

// Edge is one direction of one channel between two ranks of a communicator,
// seen from one end.
type Edge struct {
	// Comm is the pointer of the communicator where the log makes it clear (its
	// initialisation was open in the thread, the line names it, or no other has
	// the ranks), otherwise 0; see [Process.CommOf].
	Comm uint64
	// Setup numbers the process's runs of connection set-up from 1: the edges of
	// one run belong to one communicator. All edges of a communicator that is
	// clear at once are one run. Of others each "Connected ..." line ends one, so
	// that rings and trees are two, and runs without such a line (point-to-point
	// calls, SHM edges before any other) are one a peer. An edge that two runs
	// have is listed twice.
	Setup int
	// Conn is 0 for collectives and 1 for point-to-point calls.
	Channel, Conn, From, To int
	Direction               Direction
	Transport               Transport
	// Net is the network's name for NET, otherwise the manner (CUMEM, IPC, direct).
	Net string
	// Device numbers NCCL's network devices; Proxy is the rank whose card is
	// borrowed (PXN), or -1. Both are meant for NET only.
	Device, Proxy int
	GDR, Shared   bool
	Count         int64
	// Text is kept for the first edge of each look in a process only.
	Fact
}

// Own returns the rank that printed the edge, and Peer the other one.
func (e *Edge) Own() int {
	if e.Direction == Receive {
		return e.To
	}
	return e.From
}

// Peer returns the rank at the other end of the edge.
func (e *Edge) Peer() int {
	if e.Direction == Receive {
		return e.From
	}
	return e.To
}

// Connected says that an algorithm's connections are complete. Comm is 0 where
// it was not clear which communicator is meant.
type Connected struct {
	Comm uint64
	// Setup is the run of connection set-up that the line belongs to, see [Edge];
	// 0 where no edge came before it.
	Setup int
	Kind  string // rings, trees, binomial trees, nvls trees or collnet
	Fact
}

// EventKind sorts warnings and errors.
type EventKind string

// The kinds of events.
const (
	// EventWarn is a warning of no special meaning here; many are harmless.
	EventWarn EventKind = "warn"
	// EventBootstrap: the ranks could not find each other over TCP. A connection
	// that is given up counts as this up to the process's first edge.
	EventBootstrap EventKind = "bootstrap"
	// EventForeignPeer: a socket was spoken to by something that is not NCCL's
	// socket network, as happens where ranks use different networks.
	EventForeignPeer EventKind = "foreign-peer"
	// EventRetry: a TCP connection was refused and is tried again, as is normal in
	// the first moments of a job.
	EventRetry EventKind = "retry"
	// EventNetwork: the network failed while it was used or set up.
	EventNetwork EventKind = "network"
	// EventMismatch: ranks found that they differ in network devices or versions.
	EventMismatch EventKind = "mismatch"
	// EventTimeout: PyTorch's watchdog gave up waiting for a collective.
	EventTimeout EventKind = "timeout"
	// EventTorch: PyTorch raised an error of NCCL's.
	EventTorch EventKind = "torch"
	// EventLibfabric: libfabric itself warned.
	EventLibfabric EventKind = "libfabric"
)

// Event is a warning or an error, counted. Last is the number of its last line.
type Event struct {
	Kind  EventKind
	Count int64
	Last  int64
	Fact
}

// CommOf returns the communicator that an edge belongs to: the one it was
// printed for, else the only one in which the printing rank has that number.
// It returns nil where that is not clear.
func (p *Process) CommOf(e *Edge) *Comm {
	var found *Comm
	for _, c := range p.Comms {
		if e.Comm != 0 && c.Ptr != e.Comm || !c.has(e.Own(), e.Peer()) {
			continue
		}
		if found != nil {
			if e.Comm == 0 {
				return nil
			}
			if c.Started.Line > e.Line || !c.Started.Seen() && !found.endedBefore(e) {
				continue // the pointer was used again later
			}
		}
		found = c
	}
	return found
}

func (c *Comm) endedBefore(e *Edge) bool { return c.Done.Seen() && c.Done.Line < e.Line }

// Step returns the first step of that kind, for any network where name is empty.
func (p *Process) Step(kind StepKind, name string) (Step, bool) {
	for _, s := range p.Steps {
		if s.Kind == kind && (name == "" || s.Name == name) {
			return s, true
		}
	}
	return Step{}, false
}

// Setting returns the value of a variable that NCCL says it read.
func (p *Process) Setting(name string) (Setting, bool) {
	for _, s := range p.Env {
		if s.Name == name {
			return s, true
		}
	}
	return Setting{}, false
}
