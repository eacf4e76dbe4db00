package nccllog

// message hands a message to the file that knows it. The first byte sorts out
// most lines; the order within a case is by frequency.
func (p *Parser) message(ps *process, r *record) {
	known := false
	switch m := r.msg; m[0] {
	case 'C':
		known = p.channel(ps, r) || ps.connected(r) || ps.configured(r)
	case 'R':
		known = p.channel(ps, r) || ps.version(r)
	case 'T':
		known = ps.trees(r)
	case 'r':
		known = ps.connected(r)
	case 'c', 'n', '[':
		known = ps.comm(r) || ps.plugin(r)
	case 'N':
		known = ps.netLine(r)
	case 'B':
		known = ps.bootstrap(r)
	case 'G':
		known = ps.gdrDisabled(r)
	case 'U', 'A', 'I', 'F', 'E', 'S', 'P':
		known = ps.choice(r) || ps.plugin(r)
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		known = ps.channels(r)
	}
	if !known || r.level == warn {
		ps.event(r)
	}
	if r.level == warn && hasPrefix(r.msg, "NET/OFI Request ") {
		p.follow.after = afterError // the plugin may go on to explain it
	}
}

// netLine takes messages that begin with N: of the networks and their plugins,
// and NCCL's own name.
func (ps *process) netLine(r *record) bool {
	m := r.msg
	switch {
	case hasPrefix(m, "NET/OFI "):
		return ps.ofi(r) || ps.gdrDisabled(r)
	case hasPrefix(m, "NET/Plugin"):
		return ps.plugin(r)
	case hasPrefix(m, "NET/"):
		return ps.internalNet(r)
	case hasPrefix(m, "NCCL_"):
		return ps.setting(r)
	case hasPrefix(m, "NCCL "):
		return ps.version(r)
	}
	return ps.nvls(r)
}
