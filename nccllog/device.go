package nccllog

import "bytes"

// internalNet takes what NCCL's own networks, and plugins that are copies of
// them, say of their devices. NET/IB prints its "Using" line even where it has
// none: only entries with a link layer are devices.
// Source: NCCL src/transport/net_ib/init.cc, src/transport/net_socket.cc.
func (ps *process) internalNet(r *record) bool {
	s := scanner{r.msg}
	switch {
	case s.skip("NET/IB : No device found"):
		ps.step(r, StepNoDevice, []byte("IB"))
	case s.skip("NET/IB : Using"):
		devices, _, _ := bytes.Cut(s.b, []byte("; OOB"))
		if !ps.ibDevices(r, devices) {
			ps.step(r, StepTried, []byte("IB"))
			break
		}
		ps.step(r, StepDevices, []byte("IB"))
	case s.skip("NET/IB: ["): // one line a device
		s.number()
		s.skip("] ")
		ps.ibDevice(r, firstWord(s.b))
	case s.skip("NET/Socket : Using"):
		ps.socketDevices(r, s.b)
	case s.skip("NET/Socket: Using "): // so many threads, once something connects
		ps.step(r, StepDevices, []byte("Socket"))
	case s.skip("NET/Socket : no interface found"):
		ps.step(r, StepNoDevice, []byte("Socket"))
	default:
		return hasPrefix(r.msg, "NET/") && ps.gdrDisabled(r)
	}
	return true
}

// ibDevices reads " [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE/SHARP [RO]".
func (ps *process) ibDevices(r *record, list []byte) (found bool) {
	for s := (scanner{list}); ; {
		entry := s.word()
		if len(entry) == 0 {
			return found
		}
		if entry = bytes.TrimLeft(entry, "[0123456789"); hasPrefix(entry, "]") && ps.ibDevice(r, entry[1:]) {
			found = true
		}
	}
}

// ibDevice reads "mlx5_0:1/IB" and "mlx5_0:uverbs0:1/RoCE".
func (ps *process) ibDevice(r *record, entry []byte) bool {
	name, link, ok := bytes.Cut(entry, []byte{'/'})
	if !ok {
		return false
	}
	switch {
	case hasPrefix(link, "IB"):
		link = link[:2]
	case hasPrefix(link, "RoCE"):
		link = link[:4]
	default:
		return false
	}
	if at, last := bytes.IndexByte(name, ':'), bytes.LastIndexByte(name, ':'); at < last {
		name = append(bytes.Clone(name[:at]), name[last:]...)
	}
	ps.device(r, "IB", name, link)
	return true
}

// socketDevices reads " [0]eth0:10.0.0.1<0> [1]eth1:...". Up to NCCL 2.4.7, which
// has no line of its own for it, this is the interface of the bootstrap, and
// comes before anything about networks.
func (ps *process) socketDevices(r *record, list []byte) {
	early := len(ps.Steps) == 0 && len(ps.Comms) == 0 && !ps.OFIVersion.Seen() && !ps.Bootstrap.Seen()
	if early && (!ps.Version.Seen() || !ps.Version.AtLeast(2, 4, 8)) {
		ps.bootstrapInterface(r, list)
		return
	}
	for s := (scanner{list}); ; {
		entry := s.word()
		if len(entry) == 0 {
			break
		}
		entry = bytes.TrimLeft(entry, "[0123456789]")
		if name, _, ok := bytes.Cut(entry, []byte{':'}); ok && len(name) > 0 {
			ps.device(r, "Socket", name, nil)
		}
	}
	ps.step(r, StepDevices, []byte("Socket"))
}

func (ps *process) device(r *record, network string, name, link []byte) {
	for _, d := range ps.Devices {
		if d.Net == network && d.Name == string(name) {
			return
		}
	}
	ps.Devices = keep(ps, ps.Devices, Device{Net: network, Name: shorten(name), Link: string(link), Fact: r.fact()})
}

// gdrDisabled takes "GPU Direct RDMA Disabled for ...", which stands alone or
// behind the network's name, and is printed for every pair of a GPU and a card.
func (ps *process) gdrDisabled(r *record) bool {
	if index(r.msg, "GPU Direct RDMA ", 0) == len(r.msg) {
		return false
	}
	if contains(r.msg, "Disabled") && !hasPrefix(r.msg, "NET/Socket") { // which never has it
		ps.noGDR(r, "GPU Direct RDMA Disabled")
	}
	return true
}

// noGDR keeps the first line of a kind.
func (ps *process) noGDR(r *record, kind string) {
	for _, seen := range ps.NoGDR {
		if contains([]byte(seen.Text), kind) {
			return
		}
	}
	ps.NoGDR = keep(ps, ps.NoGDR, r.fact())
}
