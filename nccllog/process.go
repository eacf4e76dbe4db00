package nccllog

import (
	"bytes"
	"encoding/binary"
)

type procKey struct {
	host string
	pid  int
}

// process is a Process being filled, with the indexes that keep facts single.
type process struct {
	*Process
	log     *Log
	edges   edgeIndex
	nets    [4]string // the names of networks seen last
	events  map[string]int
	threads []*thread
	current *thread
	// from is where its lines come from, by kind of wrapper; vague says that some
	// had no wrapper. Namesake is another process with its host and pid.
	from     [originKinds]string
	vague    bool
	namesake *process
	flood    flood
	begun    begun
	setups
}

// lastOrigin is where the record before came from.
type lastOrigin struct {
	*process
	left, pod []byte // what stood before the marker
	start     int    // where the host begins in left
}

// process returns the process that a line belongs to, nil where there are too
// many, and the thread that printed it.
func (p *Parser) process(left []byte) (*process, int) {
	if l := p.recent.find(left, p.pod); l != nil {
		return l.process, l.tid
	}
	pre, ok := parsePrefix(left)
	if !ok {
		pre.start = trimBlanks(left, len(left))
	}
	if p.last.is(pre, left[:pre.start], p.pod) {
		return p.last.process, pre.tid
	}
	if !ok {
		r, _ := cutRay(bytes.TrimLeft(left, " "))
		pre.pid = r.pid
	}
	ps := p.find(pre, p.originOf(left, pre))
	if ps == nil {
		return nil, 0
	}
	p.last.process, p.last.start = ps, pre.start
	p.last.left = append(p.last.left[:0], left...)
	p.last.pod = append(p.last.pod[:0], p.pod...)
	if len(left)+len(p.pod) <= maxWrapper {
		p.recent.add(left, p.pod, ps, pre.tid)
	}
	return ps, pre.tid
}

// recent are beginnings of lines that were seen lately: of each process, if
// there are not many, as lines of one process mostly begin alike. There are few
// rows, a power of two of them, where lines of few processes come.
type recent [][2]recentLine

const (
	minRecent = 4
	maxRecent = 128
)

type recentLine struct {
	left, pod []byte
	tid       int
	*process
}

func (r recent) row(left, pod []byte) *[2]recentLine {
	return &r[mix(mix(0, left), pod)&uint64(len(r)-1)]
}

// mix adds a text to a hash, quickly rather than well: beginnings that fall into
// one row cost no more than a second look.
func mix(h uint64, b []byte) uint64 {
	const factor = 0x9e3779b97f4a7c15
	for n := len(b); n >= 8; n -= 8 {
		h = (h ^ binary.LittleEndian.Uint64(b[n-8:n])) * factor
		h ^= h >> 32
	}
	return h
}

func (r recent) find(left, pod []byte) *recentLine {
	if len(r) == 0 {
		return nil
	}
	row := r.row(left, pod)
	switch {
	case row[0].is(left, pod):
		return &row[0]
	case row[1].is(left, pod):
		return &row[1]
	}
	return nil
}

// is looks at pods only where there are any.
func (l *recentLine) is(left, pod []byte) bool {
	return l.process != nil && string(l.left) == string(left) &&
		len(l.pod) == len(pod) && (len(pod) == 0 || string(l.pod) == string(pod))
}

// add takes the place of the older line in the row. Where there is one, more rows
// are needed; those that were there are seen again soon.
func (r *recent) add(left, pod []byte, ps *process, tid int) {
	if len(*r) == 0 {
		*r = make(recent, minRecent)
	}
	row := r.row(left, pod)
	if row[1].process != nil && len(*r) < maxRecent {
		*r = make(recent, 2*len(*r))
		row = r.row(left, pod)
	}
	row[0], row[1] = row[1], row[0]
	l := &row[0]
	l.left, l.pod = append(l.left[:0], left...), append(l.pod[:0], pod...)
	l.process, l.tid = ps, tid
}

// originOf reads the wrappers of a record, and what else tells of its process
// where its host is missing.
func (p *Parser) originOf(left []byte, pre prefix) origin {
	o := originOf(left[:pre.start])
	if len(p.pod) > 0 {
		o[byPod] = p.pod
	}
	if len(pre.host) == 0 {
		o[byDevice] = left[deviceStart(left):]
	}
	return o
}

// is tells whether a record comes from where the one before it came from.
func (l *lastOrigin) is(pre prefix, wrappers, pod []byte) bool {
	return l.process != nil && len(pre.host) > 0 && l.PID == pre.pid && l.Host == string(pre.host) &&
		bytes.Equal(l.left[:l.start], wrappers) && bytes.Equal(l.pod, pod)
}

// find returns the process of a record, a new one if need be; nil where that is
// not clear or there are too many.
func (p *Parser) find(pre prefix, o origin) *process {
	p.key = o.append(append(p.key[:0], pre.host...), pre.pid)
	if ps := p.origins[string(p.key)]; ps != nil {
		return ps
	}
	ps := p.fitting(pre, &o)
	if ps == nil {
		return nil
	}
	ps.learn(o)
	if len(p.origins) >= maxProcesses {
		clear(p.origins)
	}
	p.origins[string(p.key)] = ps
	return ps
}

// append makes a key of a process id and an origin.
func (o *origin) append(key []byte, pid int) []byte {
	key = binary.AppendUvarint(append(key, 0), uint64(pid))
	for _, value := range o {
		key = append(append(key, 0), value...)
	}
	return key
}

// fitting looks among the processes with the host and pid. There may be several:
// containers often have equal names and nearly always equal pids. Their wrappers
// tell them apart; a record that fits several is lost.
func (p *Parser) fitting(pre prefix, o *origin) *process {
	var found, other *process
	namesakes := 0
	for ps := p.procs[procKey{string(pre.host), pre.pid}]; ps != nil; ps = ps.namesake {
		namesakes++
		if !ps.fits(o) {
			other = ps
			continue
		}
		if found != nil {
			p.count(&p.log.Unparsed, pre.host)
			return nil
		}
		found = ps
	}
	switch {
	case found != nil:
		return found
	case namesakes >= maxNamesakes:
		p.log.Dropped++
		return nil
	case other != nil && other.vague: // some of its lines may be the new one's
		p.count(&p.log.Unparsed, pre.host)
	}
	return p.newProcess(pre)
}

func (p *Parser) newProcess(pre prefix) *process {
	if len(p.log.Processes) >= maxProcesses {
		p.log.Dropped++
		return nil
	}
	key := procKey{string(pre.host), pre.pid}
	ps := &process{
		Process:  &Process{Host: key.host, PID: key.pid},
		log:      &p.log,
		namesake: p.procs[key],
	}
	p.procs[key] = ps
	if ps.namesake != nil {
		p.recent = nil // what tells them apart may be missing there
		clear(p.origins)
	}
	p.log.Processes = append(p.log.Processes, ps.Process)
	return ps
}

// fits tells whether a record of this origin can be the process's: nothing that
// both name differs.
func (ps *process) fits(o *origin) bool {
	for kind, value := range o {
		if have := ps.from[kind]; have != "" && len(value) > 0 && have != string(value) {
			return false
		}
	}
	return true
}

// learn remembers what a record tells of the process's origin.
func (ps *process) learn(o origin) {
	bare := true
	for kind, value := range o {
		bare = bare && len(value) == 0
		if ps.from[kind] == "" && len(value) > 0 {
			ps.from[kind] = string(value)
		}
	}
	ps.vague = ps.vague || bare
	if ip := ps.from[byRay]; ip != "-" {
		ps.RayIP = ip
	}
}

func (ps *process) thread(tid int) *thread {
	if ps.current != nil && ps.current.tid == tid {
		return ps.current
	}
	for _, t := range ps.threads {
		if t.tid == tid {
			ps.current = t
			return t
		}
	}
	ps.current = &thread{tid: tid}
	if len(ps.threads) < maxFacts {
		ps.threads = append(ps.threads, ps.current)
	}
	return ps.current
}

// keep appends to a list of facts that has a limit.
func keep[T any](ps *process, list []T, fact T) []T {
	if len(list) >= maxFacts {
		ps.log.Dropped++
		return list
	}
	return append(list, fact)
}
