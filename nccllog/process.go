package nccllog

type procKey struct {
	host string
	pid  int
}

// process is a Process being filled, with the indexes that keep facts single.
type process struct {
	*Process
	log     *Log
	edges   map[edgeKey]*Edge
	looks   map[look]struct{}
	events  map[string]int
	threads map[int]*thread
	current *thread
	setups
}

// process returns the process that a line belongs to, nil where there are too
// many, and the thread that printed it.
func (p *Parser) process(left []byte) (*process, int) {
	pre, ok := parsePrefix(left)
	if last := p.last; ok && last != nil && last.PID == pre.pid && last.Host == string(pre.host) {
		return last, pre.tid
	}
	r, _ := cutRay(left)
	if !ok {
		pre.pid = r.pid
	}
	ps := p.procs[procKey{string(pre.host), pre.pid}]
	if ps == nil {
		if ps = p.newProcess(pre); ps == nil {
			return nil, 0
		}
		ps.RayIP = string(r.ip)
	}
	p.last = ps
	return ps, pre.tid
}

func (p *Parser) newProcess(pre prefix) *process {
	if len(p.procs) >= maxProcesses {
		p.log.Dropped++
		return nil
	}
	ps := &process{
		Process: &Process{Host: string(pre.host), PID: pre.pid},
		log:     &p.log,
		edges:   map[edgeKey]*Edge{},
		looks:   map[look]struct{}{},
		events:  map[string]int{},
		threads: map[int]*thread{},
	}
	p.procs[procKey{ps.Host, ps.PID}] = ps
	p.log.Processes = append(p.log.Processes, ps.Process)
	return ps
}

func (ps *process) thread(tid int) *thread {
	if ps.current != nil && ps.current.tid == tid {
		return ps.current
	}
	t := ps.threads[tid]
	if t == nil {
		t = &thread{tid: tid}
		if len(ps.threads) < maxFacts {
			ps.threads[tid] = t
		}
	}
	ps.current = t
	return t
}

// keep appends to a list of facts that has a limit.
func keep[T any](ps *process, list []T, fact T) []T {
	if len(list) >= maxFacts {
		ps.log.Dropped++
		return list
	}
	return append(list, fact)
}
