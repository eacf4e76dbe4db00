package fabric_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// sim describes a job with any number of communicators and writes what each of
// its ranks prints. Like all that is built here, the logs are SYNTHETIC.
type sim struct {
	nodes, perNode int
	version        string
	net            func(rank int) network // nil: EFA with GPUDirect RDMA
	groups         []group
	eager          bool // all communicators are made before the first is used
	pid            int
	dies           bool    // while the first communicator is made
	threads        bool    // a node's ranks are threads of one process
	plans          []*plan // drawn from groups
}

// draw lays out what the groups connect.
func (s *sim) draw() {
	s.plans = nil
	for _, g := range s.groups {
		s.plans = append(s.plans, s.plan(g))
	}
}

// network is what a rank uses between nodes.
type network struct {
	name, suffix string
	devices      int
	prelude      []string
}

// group is a communicator: its members' ranks in the world, in order.
type group struct {
	id       string // commId; empty for a split of the first group
	members  []int
	channels int
	does     []string // rings, trees, nvls, p2p; nothing: it is not used
	mnnvl    bool
	destroy  bool
}

func efaNet(nics int) network {
	return network{"Libfabric", "/GDRDMA", nics, efa("RDMA", nics)}
}

func socketNet() network {
	return network{"Socket", "", 1, []string{
		"NET/Plugin: Could not find: libnccl-net.so", "NET/IB : No device found.",
		"Failed to initialize NET plugin IB", "NET/Socket : Using [0]eth0:10.0.0.1<0>",
	}}
}

func ibNet(name, link string) network {
	return network{name, "/GDRDMA", 2, []string{
		"NET/Plugin: Could not find: libnccl-net.so",
		"NET/IB : Using [0]mlx5_0:1/" + link + " [1]mlx5_1:1/" + link + " [RO]; OOB eth0:10.0.0.1<0>",
		"Initialized NET plugin " + name, "Assigned NET plugin " + name + " to comm",
	}}
}

func (s sim) ranks() int { return s.nodes * s.perNode }

func (s sim) node(rank int) int { return rank / s.perNode }

func (s sim) network(rank int) network {
	if s.net == nil {
		return efaNet(4)
	}
	return s.net(rank)
}

// texts returns all ranks' logs by file name.
func (s sim) texts() map[string][]byte {
	all := map[string][]byte{}
	s.draw()
	for rank := range s.ranks() {
		name := fmt.Sprintf("rank%03d.log", rank)
		if s.threads { // they share their process's output
			name = fmt.Sprintf("rank%03d.log", s.node(rank)*s.perNode)
		}
		all[name] = append(all[name], s.log(rank)...)
	}
	return all
}

// printer writes the lines of one rank.
type printer struct {
	bytes.Buffer
	sim
	rank int
	net  network
}

func (s sim) log(rank int) []byte {
	p := &printer{sim: s, rank: rank, net: s.network(rank)}
	p.start()
	var mine []int
	for i := range s.groups {
		if _, member := s.plans[i].place[rank]; member {
			mine = append(mine, i)
		}
	}
	for _, i := range mine {
		p.init(i)
		if s.dies {
			return p.Bytes()
		}
		if !s.eager {
			p.use(i)
		}
	}
	for _, i := range mine {
		if s.eager {
			p.use(i)
		}
	}
	return p.Bytes()
}

func (p *printer) say(format string, args ...any) {
	local := p.rank % p.perNode
	fmt.Fprintf(&p.Buffer, "node%d:%d:%d [%d] NCCL INFO %s\n", p.node(p.rank), p.pid+100+local*b2i(!p.threads), p.pid+100+local, local, fmt.Sprintf(format, args...))
}

func (p *printer) old() bool { return strings.HasPrefix(p.version, "2.7.") }

// inInit: connections are made during the initialisation.
func (p *printer) inInit() bool { return p.old() || strings.HasPrefix(p.version, "2.18.") }

// start prints what NCCL says once a process.
func (p *printer) start() {
	if p.threads && p.rank%p.perNode > 0 {
		return // the process has said it
	}
	p.say("Bootstrap: Using eth0:10.0.0.%d<0>", 1+p.node(p.rank))
	switch {
	case !p.inInit():
		p.say("NCCL version %s+cuda13.0", p.version)
	case p.rank == 0:
		fmt.Fprintf(&p.Buffer, "NCCL version %s+cuda11.0\n", p.version)
	}
	for _, line := range p.net.prelude {
		p.say("%s", line)
	}
	if p.old() {
		p.say("Using network %s", p.net.name)
	}
}

// init prints the initialisation of the i-th group.
func (p *printer) init(i int) {
	g := p.groups[i]
	me := p.plans[i].place[p.rank]
	n, local := len(g.members), p.rank%p.perNode
	byNode := map[int]int{}
	for _, r := range g.members {
		byNode[p.node(r)]++
	}
	nodes, locals := len(byNode), byNode[p.node(p.rank)]
	if g.mnnvl {
		nodes, locals = 1, n
	}
	ptr := 0xa000 + 0x1000*i + p.rank
	if !p.old() {
		p.say("Using network %s", p.net.name)
	}
	name := fmt.Sprintf("comm 0x%x rank %d nranks %d cudaDev %d busId %d0", ptr, me, n, local, local+1)
	tail := " commId " + g.id + " "
	switch {
	case p.old():
		name, tail = fmt.Sprintf("comm 0x%x rank %d nranks %d cudaDev %d busId %d0", ptr, me, n, local, local+1), " "
	case g.id == "":
		name = "ncclCommSplit " + name + fmt.Sprintf(" parent 0x%x childCount %d color %d key %d", 0xa000+p.rank, i, g.members[0], me)
		tail = ""
	default:
		name = "ncclCommInitRankConfig " + name
	}
	if !p.old() {
		p.say("%s%s- Init START", name, tail)
	}
	if p.dies {
		return
	}
	if !p.inInit() {
		p.say("comm 0x%x rank %d nRanks %d nNodes %d localRanks %d localRank 0 MNNVL %d", ptr, me, n, nodes, locals, b2i(g.mnnvl))
	}
	if me == 0 {
		for c := range g.channels {
			p.say("Channel %02d/%02d : %s", c, g.channels, strings.Trim(fmt.Sprint(g.members), "[]"))
		}
	}
	p.say("%d coll channels, 0 collnet channels, %d nvls channels, 2 p2p channels, 2 p2p channels per peer", g.channels, b2i(slices.Contains(g.does, "nvls"))*g.channels)
	if p.inInit() {
		p.connect(i)
	}
	p.say("%s%s- Init COMPLETE", name, strings.TrimSuffix(tail, " ")+" ")
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (p *printer) use(i int) {
	if !p.inInit() {
		p.connect(i)
	}
	if p.groups[i].destroy {
		g := p.groups[i]
		p.say("comm 0x%x rank %d nranks %d cudaDev 0 busId 10 - Destroy COMPLETE", 0xa000+0x1000*i+p.rank, p.plans[i].place[p.rank], len(g.members))
	}
}

// hop is a connection between two ranks of the world.
type hop struct{ channel, conn, from, to int }

// phase is what a group connects in one go, and what it says then.
type phase struct {
	hops []hop
	done string
}

// plan is what a group connects, by rank, and where its ranks are in it.
type plan struct {
	phases []phase
	of     []map[int][]hop // of each phase, by rank
	place  map[int]int
}

func (s sim) plan(g group) *plan {
	p := &plan{place: map[int]int{}}
	for i, r := range g.members {
		p.place[r] = i
	}
	known := map[hop]bool{}
	for _, what := range g.does {
		ph := s.phase(g, what)
		of := map[int][]hop{}
		for _, h := range ph.hops {
			if h.from == h.to || known[h] {
				continue
			}
			known[h] = true
			of[h.from] = append(of[h.from], h)
			of[h.to] = append(of[h.to], h)
		}
		p.phases, p.of = append(p.phases, ph), append(p.of, of)
	}
	return p
}

func (s sim) phase(g group, what string) phase {
	ph := phase{done: map[string]string{"rings": "Connected all rings", "trees": "Connected all trees", "nvls": "Connected NVLS tree"}[what]}
	switch what {
	case "rings":
		for c := range g.channels {
			order := s.ring(g, c)
			for k, from := range order {
				ph.hops = append(ph.hops, hop{c, 0, from, order[(k+1)%len(order)]})
			}
		}
	case "trees", "nvls":
		for c := range g.channels {
			for _, pair := range s.tree(g, c, what == "nvls") {
				ph.hops = append(ph.hops, hop{c, 0, pair[0], pair[1]}, hop{c, 0, pair[1], pair[0]})
			}
		}
	case "alltoall":
		for _, a := range g.members {
			for _, b := range g.members {
				ph.hops = append(ph.hops, hop{0, 1, a, b}, hop{1, 1, a, b})
			}
		}
	case "p2p":
		for k := range len(g.members) - 1 {
			a, b := g.members[k], g.members[k+1]
			ph.hops = append(ph.hops, hop{0, 1, a, b}, hop{1, 1, a, b}, hop{0, 1, b, a}, hop{1, 1, b, a})
		}
	}
	return ph
}

// connect prints the connections of a group, each once.
func (p *printer) connect(i int) {
	for k, ph := range p.plans[i].phases {
		for _, h := range p.plans[i].of[k][p.rank] {
			p.edge(i, h)
		}
		if ph.done != "" && !p.old() {
			p.say("%s", ph.done)
		}
	}
}

// ring is the order of the ranks on a channel: each channel enters a node at
// another GPU.
func (s sim) ring(g group, channel int) []int {
	var order []int
	for _, local := range s.byNode(g) {
		at := 2 * channel % len(local)
		order = append(order, local[at:]...)
		order = append(order, local[:at]...)
	}
	return order
}

func (s sim) byNode(g group) [][]int {
	var nodes [][]int
	for _, r := range g.members {
		if n := len(nodes); n > 0 && s.node(nodes[n-1][0]) == s.node(r) {
			nodes[n-1] = append(nodes[n-1], r)
			continue
		}
		nodes = append(nodes, []int{r})
	}
	return nodes
}

// tree returns pairs of neighbours: a chain in each node and one over their
// heads, or the latter only.
func (s sim) tree(g group, channel int, headsOnly bool) [][2]int {
	var pairs [][2]int
	last := -1
	for _, local := range s.byNode(g) {
		head := local[channel%len(local)]
		if last >= 0 {
			pairs = append(pairs, [2]int{last, head})
		}
		last = head
		for k := 1; k < len(local) && !headsOnly; k++ {
			pairs = append(pairs, [2]int{local[k-1], local[k]})
		}
	}
	return pairs
}

// edge prints a connection as this rank sees it.
func (p *printer) edge(i int, h hop) {
	g, place := p.groups[i], p.plans[i].place
	from, to := h.from, h.to
	head := fmt.Sprintf("Channel %02d/%d : %d[%d] -> %d[%d]", h.channel, h.conn, place[from], from%p.perNode, place[to], to%p.perNode)
	if p.old() {
		head = fmt.Sprintf("Channel %02d : %d[%x0] -> %d[%x0]", h.channel, place[from], from%p.perNode+1, place[to], to%p.perNode+1)
	}
	if p.node(from) == p.node(to) || g.mnnvl {
		if p.rank == from {
			p.say("%s via P2P/%s", head, map[bool]string{true: "MNNVL", false: "CUMEM"}[g.mnnvl])
		}
		return
	}
	shared := strings.Repeat("/Shared", h.conn)
	device := h.channel % p.net.devices
	if p.rank == to {
		p.say("%s [receive] via NET/%s/%d%s%s", head, p.net.name, device, p.net.suffix, shared)
		return
	}
	via := fmt.Sprint(device)
	proxy := p.node(from)*p.perNode + 2*device // the GPU beside the card
	if at, ok := place[proxy]; ok && p.perNode == 8 && proxy != from && h.conn == 0 {
		via = fmt.Sprintf("%d(%d)", device, at)
	}
	p.say("%s [send] via NET/%s/%s%s%s", head, p.net.name, via, p.net.suffix, shared)
}

// sequence returns from, from+step, ... n times.
func sequence(from, step, n int) []int {
	var all []int
	for i := range n {
		all = append(all, from+i*step)
	}
	return all
}

// hsdp: the world, a shard group in each node and a replicate group over each
// GPU's place in the nodes, as PyTorch makes them.
func hsdp(nodes, perNode int, worldDoes ...string) sim {
	s := sim{nodes: nodes, perNode: perNode, version: "2.27.3"}
	s.groups = append(s.groups, group{id: "0xfeed", members: sequence(0, 1, nodes*perNode), channels: 4, does: worldDoes})
	for n := range nodes {
		s.groups = append(s.groups, group{id: fmt.Sprintf("0x5a%d", n), members: sequence(n*perNode, 1, perNode), channels: 8, does: []string{"rings"}})
	}
	for l := range perNode {
		s.groups = append(s.groups, group{id: fmt.Sprintf("0x4e%d", l), members: sequence(l, perNode, nodes), channels: 2, does: []string{"rings"}})
	}
	return s
}

// pipeline: the world, and a pair of ranks for each two neighbouring stages,
// one stage a rank.
func pipeline(nodes, perNode int) sim {
	s := sim{nodes: nodes, perNode: perNode, version: "2.28.9"}
	s.groups = append(s.groups, group{id: "0xfeed", members: sequence(0, 1, nodes*perNode), channels: 4, does: []string{"rings"}})
	for r := range nodes*perNode - 1 {
		s.groups = append(s.groups, group{id: fmt.Sprintf("0xb%d", r), members: []int{r, r + 1}, channels: 4, does: []string{"p2p"}})
	}
	return s
}

// cube: tensor parallel groups in the nodes, data parallel and pipeline groups
// across them, and the world, as Megatron makes them. Four nodes: two stages of
// two replicas each.
func cube(worldDoes ...string) sim {
	s := sim{nodes: 4, perNode: 2, version: "2.28.9"}
	s.groups = append(s.groups, group{id: "0xfeed", members: sequence(0, 1, 8), channels: 4, does: worldDoes})
	for n := range 4 {
		s.groups = append(s.groups, group{id: fmt.Sprintf("0x70%d", n), members: sequence(2*n, 1, 2), channels: 4, does: []string{"rings"}})
	}
	for _, r := range []int{0, 1, 4, 5} {
		s.groups = append(s.groups, group{id: fmt.Sprintf("0xd0%d", r), members: []int{r, r + 2}, channels: 2, does: []string{"rings"}})
	}
	for r := range 4 {
		s.groups = append(s.groups, group{id: fmt.Sprintf("0xb0%d", r), members: []int{r, r + 4}, channels: 2, does: []string{"p2p"}})
	}
	return s
}

// experts: the world, and groups of ranks that exchange all with all, as the
// experts of a model do.
func experts(nodes, perNode, size int) sim {
	s := sim{nodes: nodes, perNode: perNode, version: "2.28.9"}
	s.groups = append(s.groups, group{id: "0xfeed", members: sequence(0, 1, nodes*perNode), channels: 4, does: []string{"rings", "alltoall"}})
	for from := 0; from < nodes*perNode; from += size {
		s.groups = append(s.groups, group{id: fmt.Sprintf("0xe%x", from), members: sequence(from, 1, size), channels: 4, does: []string{"rings", "alltoall"}})
	}
	return s
}

// one is a job of one communicator.
func one(nodes, perNode, channels int, does ...string) sim {
	return sim{nodes: nodes, perNode: perNode, version: "2.28.9", groups: []group{
		{id: "0xfeed", members: sequence(0, 1, nodes*perNode), channels: channels, does: does},
	}}
}

// sims are healthy jobs.
func sims() map[string]sim {
	all := map[string]sim{
		"hsdp":              hsdp(2, 2, "rings"),
		"hsdp 2x8":          hsdp(2, 8, "rings", "trees"),
		"hsdp eager":        hsdp(2, 4, "rings"),
		"hsdp 4 nodes":      hsdp(4, 2, "rings"),
		"pipeline":          pipeline(2, 2),
		"pipeline 4 nodes":  pipeline(4, 1),
		"experts":           experts(4, 2, 4),
		"cube":              cube("rings"),
		"cube, trees":       cube("rings", "trees"),
		"cube eager":        cube("rings"),
		"cube eager, trees": cube("rings", "trees"),
		"hsdp eager, trees": hsdp(2, 4, "rings", "trees"),
		"experts eager":     experts(4, 2, 4),
		"rails":             one(2, 8, 8, "rings", "trees"),
		"rings and trees":   one(3, 2, 4, "rings", "trees"),
		"trees only":        one(2, 2, 4, "trees"),
		"nvls only":         one(2, 4, 4, "nvls"),
		"nvls and rings":    one(2, 4, 4, "rings", "nvls"),
		"p2p only":          one(4, 1, 4, "p2p"),
		"collectives, p2p":  one(2, 2, 4, "rings", "p2p"),
		"2.7":               one(2, 2, 4, "rings"),
		"2.18":              one(2, 2, 4, "rings", "trees"),
		"world and split":   one(2, 2, 4, "rings"),
		"world, split, p2p": one(2, 2, 4, "rings"),
		"ib ext":            one(2, 2, 4, "rings"),
		"roce":              one(2, 2, 4, "rings"),
		"threads":           hsdp(2, 2, "rings", "trees"),
	}
	change := func(name string, do func(*sim)) {
		s := all[name]
		s.groups = slices.Clone(s.groups)
		do(&s)
		all[name] = s
	}
	change("hsdp eager", func(s *sim) { s.eager = true })
	for _, name := range []string{"cube eager", "cube eager, trees", "hsdp eager, trees", "experts eager"} {
		change(name, func(s *sim) { s.eager = true })
	}
	change("threads", func(s *sim) { s.threads = true })
	change("2.7", func(s *sim) { s.version = "2.7.8" })
	change("2.18", func(s *sim) { s.version = "2.18.5" })
	split := group{members: sequence(0, 1, 4), channels: 4, does: []string{"rings"}}
	change("world and split", func(s *sim) { s.groups, s.eager = append(s.groups, split), true })
	change("world, split, p2p", func(s *sim) {
		s.groups = append(s.groups, split, group{id: "0xb0", members: []int{0, 2}, channels: 4, does: []string{"p2p"}})
	})
	change("ib ext", func(s *sim) { s.net = func(int) network { return ibNet("IBext_v8", "IB") } })
	change("roce", func(s *sim) { s.net = func(int) network { return ibNet("IB", "RoCE") } })
	return all
}
