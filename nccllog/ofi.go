package nccllog

import "bytes"

// Base returns the provider below its layers: verbs for "verbs;ofi_rxm".
func (p Provider) Base() string {
	base, _, _ := bytes.Cut([]byte(p.Name), []byte{';'})
	return string(base)
}

// ofi takes the lines of the AWS OFI plugin. Its tuner and its GIN part print
// under the same name and say nothing of the network.
func (ps *process) ofi(r *record) bool {
	m, ok := cutPrefix(r.msg, "NET/OFI ")
	if !ok {
		return false
	}
	switch string(firstWord(m)) {
	case "gin:", "GIN", "Tuner":
		return true
	case "Selected":
		return ps.ofiProvider(r, m)
	case "Initializing", "Using", "Plugin":
		return ps.ofiValue(r, m) || ps.ofiStep(r, m)
	case "Configuring", "Running", "NIC", "Need", "Setting", "Could":
		return ps.ofiHardware(r, m)
	}
	return ps.ofiStep(r, m)
}

// ofiProvider reads "Selected provider is efa, fabric is efa-direct (found 4 nics)"
// and the shorter forms before plugin 1.14.
func (ps *process) ofiProvider(r *record, m []byte) bool {
	s := scanner{m}
	if !s.skip("Selected provider is ") && !s.skip("Selected Provider is ") {
		return false
	}
	var nics int
	head, found, ok := bytes.Cut(s.b, []byte(" (found "))
	if ok {
		s = scanner{found}
		nics, _ = s.number()
	}
	name, fabric, _ := bytes.Cut(head, []byte(", fabric is "))
	start := int64(0)
	if n := len(ps.Starts); n > 0 {
		start = ps.Starts[n-1].Line
	}
	for i := len(ps.Providers) - 1; i >= 0 && ps.Providers[i].Line >= start; i-- {
		if seen := &ps.Providers[i]; seen.Name == string(name) && seen.Fabric == string(fabric) && seen.NICs == nics {
			return true
		}
	}
	ps.Providers = keep(ps, ps.Providers, Provider{
		Name: shorten(name), Fabric: shorten(fabric), NICs: nics, Fact: r.fact(),
	})
	return true
}

func (ps *process) ofiValue(r *record, m []byte) bool {
	s := scanner{m}
	switch {
	case s.skip("Initializing aws-ofi-nccl "), s.skip("Using aws-ofi-nccl "):
		ps.starts(r, byPlugin)
		ps.OFIVersion.take(r, s.b)
	case s.skip("Using Libfabric version "):
		ps.Libfabric.take(r, s.b)
	case s.skip("Plugin selected platform: "):
		ps.Platform.take(r, s.b)
	case s.skip("Using transport protocol "):
		ps.Protocol.take(r, s.b)
	default:
		return false
	}
	return true
}

// take keeps the first word; the last one that differs counts.
func (v *Value) take(r *record, b []byte) {
	if word := firstWord(b); v.Name != string(word) {
		*v = Value{Name: shorten(word), Fact: r.fact()}
	}
}

func (ps *process) ofiStep(r *record, m []byte) bool {
	switch {
	case hasPrefix(m, "No eligible providers were found"),
		hasPrefix(m, "OFI fi_getinfo() call failed: No data available"),
		hasPrefix(m, "Couldn't find any optimal provider"),
		hasPrefix(m, "Only EFA provider is supported"):
		ps.step(r, StepNoProvider, []byte("Libfabric"))
	case hasPrefix(m, "GDR disabled on GDR-supported instance type "):
		ps.instance(r, firstWord(m[len("GDR disabled on GDR-supported instance type "):]))
		ps.step(r, StepNoGDR, []byte("Libfabric"))
	case hasPrefix(m, "GDR support reported to NCCL but"),
		hasPrefix(m, "FI_OPT_EFA_EMULATED_WRITE is true"),
		hasPrefix(m, "Creating new endpoint for domain"):
		ps.step(r, StepNoGDR, []byte("Libfabric"))
	case hasPrefix(m, "aws-ofi-nccl initialization failed"),
		hasPrefix(m, "Initializing plugin failed"):
		ps.step(r, StepInitFailed, []byte("Libfabric"))
	default:
		return false
	}
	return true
}

// ofiHardware takes the instance type, the groups of network cards, and the
// reasons for which GPUDirect RDMA is not used.
func (ps *process) ofiHardware(r *record, m []byte) bool {
	s := scanner{m}
	switch {
	case s.skip("Running on "): // p5.48xlarge platform, topology file ...
		if instance, _, ok := bytes.Cut(s.b, []byte(" platform")); ok {
			ps.instance(r, instance)
		}
	case s.skip("Configuring AWS-specific options"): // all there is up to 1.17
		if !ps.Platform.Seen() {
			ps.Platform = Value{Name: "AWS", Fact: r.fact()}
		}
	case s.skip("NIC group "): // 0 device #0 0000:4f:00.0
		if group, ok := s.number(); ok && group < maxFacts {
			ps.NICGroups = max(ps.NICGroups, group+1)
		}
	case s.skip("Need to force simple protocol: GDR not supported"):
		ps.noGDR(r, "GDR not supported")
	case s.skip("Setting NCCL_PROTO='simple'"): // the same in 1.15
		if contains(s.b, "reason: GDR") {
			ps.noGDR(r, "GDR not supported")
		}
	case s.skip("Could not disable CUDA API usage for HMEM"):
		ps.noGDR(r, "Could not disable CUDA API")
	default:
		return false
	}
	return true
}

func (ps *process) instance(r *record, name []byte) {
	if !ps.Instance.Seen() {
		ps.Instance = Value{Name: shorten(name), Fact: r.fact()}
	}
}
