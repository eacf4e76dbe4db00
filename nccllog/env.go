package nccllog

import "bytes"

// setting takes "NCCL_X set by environment to Y" and the second wording
// "NCCL_X set to Y". Numbers are printed with a full stop.
func (ps *process) setting(r record) bool {
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

func (ps *process) set(r record, name, value []byte) {
	for _, s := range ps.Env {
		if s.Name == string(name) && s.Value == string(value) {
			return
		}
	}
	ps.Env = keep(ps, ps.Env, Setting{Name: shorten(name), Value: shorten(value), Fact: r.fact()})
}

// version takes "NCCL version 2.28.9+cuda13.0".
func (ps *process) version(r record) bool {
	v, ok := parseVersion(r.msg)
	if ok && !ps.Version.Seen() {
		v.Fact = r.fact()
		ps.Version = v
	}
	return ok
}

func parseVersion(m []byte) (v Version, ok bool) {
	s := scanner{m}
	if !s.skip("NCCL version ") {
		return v, false
	}
	if v.Major, ok = s.number(); !ok || !s.skip(".") {
		return v, false
	}
	if v.Minor, ok = s.number(); !ok || !s.skip(".") {
		return v, false
	}
	v.Patch, ok = s.number()
	return v, ok
}

// bootstrap takes "Bootstrap: Using eth0:10.0.0.1<0>". Addresses may be IPv6:
// the name ends at the first colon, the port begins at the last angle bracket.
func (ps *process) bootstrap(r record) bool {
	m, ok := bytes.CutPrefix(r.msg, []byte("Bootstrap"))
	if !ok {
		return false
	}
	m = bytes.TrimLeft(m, " :")
	rest, ok := bytes.CutPrefix(m, []byte("Using "))
	if !ok || ps.Bootstrap.Seen() {
		return ok
	}
	rest = bytes.TrimPrefix(bytes.TrimSpace(rest), []byte("[0]"))
	name, address, ok := bytes.Cut(rest, []byte{':'})
	if !ok {
		return true
	}
	if port := bytes.LastIndexByte(address, '<'); port >= 0 {
		address = address[:port]
	}
	ps.Bootstrap = Interface{Name: shorten(name), Address: shorten(address), Fact: r.fact()}
	return true
}
