package nccllog

import "bytes"

// setting takes "NCCL_X set by environment to Y" and the second wording
// "NCCL_X set to Y". Numbers are printed with a full stop.
func (ps *process) setting(r *record) bool {
	if !hasPrefix(r.msg, "NCCL_") {
		return false
	}
	name, value, ok := bytes.Cut(r.msg, []byte(" set by environment to"))
	if !ok {
		name, value, ok = bytes.Cut(r.msg, []byte(" set to"))
	}
	if !ok || bytes.IndexByte(name, ' ') >= 0 {
		return false
	}
	value = bytes.TrimSpace(value)
	if n := len(value); n > 1 && value[n-1] == '.' && isDigit(value[n-2]) {
		value = value[:n-1]
	}
	ps.set(r, name, value)
	if string(name) == "NCCL_IB_DISABLE" { // read only where NET/IB is tried
		ps.step(r, StepTried, []byte("IB"))
	}
	return true
}

func (ps *process) set(r *record, name, value []byte) {
	for _, s := range ps.Env {
		if s.Name == string(name) && s.Value == string(value) {
			return
		}
	}
	ps.Env = keep(ps, ps.Env, Setting{Name: shorten(name), Value: shorten(value), Fact: r.fact()})
}

// version takes "NCCL version 2.28.9+cuda13.0".
func (ps *process) version(r *record) bool {
	v, ok := parseVersion(r.msg)
	if ok {
		ps.starts(r, byVersion)
	}
	if ok && !ps.Version.Seen() {
		v.Fact = r.fact()
		ps.Version = v
	}
	return ok
}

// parseVersion reads "NCCL version 2.28.9+cuda13.0", "RCCL version 2.18.3+hip6.0"
// and "RCCL version : 2.22.3-HEAD:8a1d3f7". NCCL's "git version" is none.
func parseVersion(m []byte) (v Version, ok bool) {
	s := scanner{m}
	if !s.skip("NCCL version ") && !s.skip("RCCL version ") {
		return v, false
	}
	s.skip(": ")
	if v.Major, ok = s.number(); !ok || !s.skip(".") {
		return v, false
	}
	if v.Minor, ok = s.number(); !ok || !s.skip(".") {
		return v, false
	}
	v.Patch, ok = s.number()
	return v, ok
}

// bootstrap takes "Bootstrap: Using eth0:10.0.0.1<0>".
func (ps *process) bootstrap(r *record) bool {
	m, ok := bytes.CutPrefix(r.msg, []byte("Bootstrap"))
	if !ok {
		return false
	}
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(m, " :"), []byte("Using "))
	if ok {
		ps.starts(r, byBootstrap)
		ps.bootstrapInterface(r, rest)
	}
	return ok
}

// begun are the lines that a process prints once, as NCCL begins: the second of
// a kind is another process's.
type begun uint8

const (
	byBootstrap begun = 1 << iota
	byVersion
	byPlugin
)

func (ps *process) starts(r *record, sign begun) {
	if ps.begun == 0 || ps.begun&sign != 0 {
		ps.Starts = keep(ps, ps.Starts, r.fact())
		ps.begun = 0
	}
	ps.begun |= sign
}

// bootstrapInterface reads "eth0:10.0.0.1<0>" and "[0]eth0:10.0.0.1<0>". Addresses
// may be IPv6: the name ends at the first colon, the port begins at the last
// angle bracket.
func (ps *process) bootstrapInterface(r *record, b []byte) {
	if ps.Bootstrap.Seen() {
		return
	}
	b = bytes.TrimPrefix(bytes.TrimSpace(b), []byte("[0]"))
	name, address, ok := bytes.Cut(b, []byte{':'})
	if !ok {
		return
	}
	if port := bytes.LastIndexByte(address, '<'); port >= 0 {
		address = address[:port]
	}
	ps.Bootstrap = Interface{Name: shorten(name), Address: shorten(address), Fact: r.fact()}
}
