package fabric

import (
	"slices"
	"strings"

	"github.com/trainyard/trainyard/nccllog"
)

// reason is a cause and the lines that show it. Where no line says it, inferred
// tells what it follows from.
type reason struct {
	cause    Cause
	facts    []nccllog.Fact
	inferred string
}

// why continues a sentence, and owns up to an inference.
func (r reason) why() string {
	if r.inferred == "" {
		return r.cause.Info().Why
	}
	return r.cause.Info().Why + " (inferred)"
}

func seen(cause Cause, facts ...nccllog.Fact) reason { return reason{cause: cause, facts: facts} }

// explain says why a process uses what it uses, the decisive cause first. It
// returns nothing for a process on a network that the expectation accepts.
// Some causes leave no line, as NCCL_NET=Socket does; they are inferred from
// what is absent, and only where the view of the process is without losses.
func explain(p *process, expect Expectation) []reason {
	if why := explainFailure(p); len(why) > 0 {
		return why
	}
	return explainUse(p, p.choice(), expect)
}

// explain says why the process uses that transport between nodes, by what it had
// said up to its first edge of that kind.
func (p *process) explain(t Transport, expect Expectation) []reason {
	for _, e := range p.net {
		if p.transport(e.Net) == t {
			return explainUse(p.upTo(e.Line), t, expect)
		}
	}
	if why := explainFailure(p); len(why) > 0 {
		return why
	}
	return explainUse(p, t, expect)
}

// explainUse says why a process uses that transport.
func explainUse(p *process, t Transport, expect Expectation) []reason {
	switch {
	case t == "", expect.Demands() && expect.Accepts(t):
		return nil
	case strings.HasPrefix(string(t), "libfabric-"):
		r := seen(ProviderNotEFA)
		for _, named := range p.Providers[max(0, len(p.Providers)-1):] {
			r.facts = append(r.facts, named.Fact)
		}
		return []reason{r}
	case t == TransportSocket:
		return explainSocket(p, expect)
	case expect.Demands() && t != TransportUnknown:
		return []reason{seen(OtherNetwork)}
	}
	return nil
}

// choice is the network that the process was given, seen on its edges or, where
// it has none, in its own words.
func (p *process) choice() Transport {
	if t := p.used(); t != TransportNone {
		return t
	}
	if n := len(p.Networks); n > 0 {
		return p.transport(p.Networks[n-1].Name)
	}
	return ""
}

// explainFailure tells of communicators that never came to be. Ones that the
// process had before, or others with its host and id, do not make up for them.
func explainFailure(p *process) []reason {
	for _, s := range p.Steps {
		if s.Kind == nccllog.StepNone && !p.recovered(s.Last) {
			return append([]reason{seen(RequestedNetUnavailable, s.Fact)}, explainPlugin(p)...)
		}
	}
	for _, e := range p.Events {
		if e.Kind != nccllog.EventBootstrap || p.recovered(e.Last) || p.cameUp() && !strings.Contains(e.Text, "interface found") {
			continue
		}
		r := seen(BootstrapFailed, e.Fact)
		if s, ok := p.Setting("NCCL_SOCKET_IFNAME"); ok {
			r.facts = append(r.facts, s.Fact)
		}
		return append([]reason{r}, explainPlugin(p)...)
	}
	return nil
}

// cameUp tells whether any communicator of the process came to be. Connections
// that are given up after that are of the network.
func (p *process) cameUp() bool {
	return len(p.Edges) > 0 || slices.ContainsFunc(p.Comms, func(c *nccllog.Comm) bool { return c.Completed.Seen() || c.Sized.Seen() })
}

// recovered tells whether a communicator came to be that began after the line.
func (p *process) recovered(line int64) bool {
	return slices.ContainsFunc(p.Comms, func(c *nccllog.Comm) bool {
		return shown(c) > line && (c.Completed.Seen() || c.Sized.Seen())
	})
}

// upTo is the process without the steps that came after the line: they were for
// another communicator, or for another process with its host and id.
func (p *process) upTo(line int64) *process {
	part, facts := *p, *p.Process
	facts.Steps = slices.DeleteFunc(slices.Clone(p.Steps), func(s nccllog.Step) bool { return s.Line > line })
	part.Process = &facts
	return &part
}

func explainSocket(p *process, expect Expectation) []reason {
	if expect == IB {
		return withDefault(explainIB(p))
	}
	var all []reason
	plugin := explainPlugin(p)
	if r, ok := forcedSocket(p, plugin); ok {
		all = append(all, r)
	}
	all = append(all, plugin...)
	if expect != EFA {
		all = append(all, explainIB(p)...)
	}
	return withDefault(all)
}

func withDefault(all []reason) []reason {
	if len(all) == 0 {
		return []reason{seen(UnexplainedFallback)}
	}
	return all
}

// explainPlugin tells why the plugin did not provide the network.
func explainPlugin(p *process) []reason {
	if failed, ok := ofiFailure(p); ok {
		return []reason{failed}
	}
	if disabled, ok := pluginDisabled(p); ok {
		return []reason{disabled}
	}
	if _, ok := p.Step(nccllog.StepLoaded, ""); ok {
		return nil
	}
	for _, known := range [...]struct {
		step  nccllog.StepKind
		cause Cause
	}{
		{nccllog.StepLoadError, PluginLoadFailed},
		{nccllog.StepUnsupported, PluginTooOld},
		{nccllog.StepSymbolMissing, PluginTooOld},
		{nccllog.StepNotFound, PluginNotFound},
	} {
		if s, ok := p.Step(known.step, ""); ok {
			return []reason{seen(known.cause, s.Fact)}
		}
	}
	return nil
}

// ofiFailure tells why the OFI plugin gave up. A probe that found no provider
// is not a failure by itself: the plugin tries several ways.
func ofiFailure(p *process) (reason, bool) {
	var failed []nccllog.Fact
	for _, s := range p.Steps {
		if s.Kind == nccllog.StepInitFailed && !isInternal(s.Name) {
			failed = append(failed, s.Fact)
		}
	}
	if len(failed) == 0 {
		return reason{}, false
	}
	if s, ok := p.Step(nccllog.StepNoGDR, ""); ok {
		return seen(LibfabricWithoutCUDA, append([]nccllog.Fact{s.Fact}, failed...)...), true
	}
	if s, ok := p.Step(nccllog.StepNoProvider, ""); ok {
		return reason{
			NoEFADevice, append([]nccllog.Fact{s.Fact}, failed...),
			"libfabric offered the plugin no provider, and does so where it sees no EFA device",
		}, true
	}
	if f, ok := lockedMemory(p); ok {
		return reason{
			LockedMemory, append([]nccllog.Fact{f}, failed...),
			"memory could not be had or registered (RC -12 is ENOMEM), as under a limit on locked memory",
		}, true
	}
	return seen(PluginInitFailed, failed...), true
}

// lockedMemory finds the OFI plugin's complaint that it got no memory.
func lockedMemory(p *process) (nccllog.Fact, bool) {
	for _, e := range p.Events {
		if strings.Contains(e.Text, "NET/OFI") && (strings.Contains(e.Text, "RC: -12") || strings.Contains(e.Text, "Cannot allocate memory")) {
			return e.Fact, true
		}
	}
	return nccllog.Fact{}, false
}

func isInternal(net string) bool { return net == "IB" || net == "Socket" }

// pluginDisabled: NCCL_NET_PLUGIN=none, or empty since 2.27. Before 2.28.3 NCCL
// looked for a library of that name.
func pluginDisabled(p *process) (reason, bool) {
	if s, ok := p.Setting("NCCL_NET_PLUGIN"); ok && (s.Value == "" || strings.EqualFold(s.Value, "none")) {
		return seen(PluginDisabled, s.Fact), true
	}
	if s, ok := p.Step(nccllog.StepNotFound, ""); ok {
		if strings.Contains(s.Text, "find: none") || strings.Contains(s.Text, "find:none") ||
			strings.Contains(s.Text, "libnccl-net-none.so") {
			return reason{PluginDisabled, []nccllog.Fact{s.Fact}, "NCCL looked for a plugin called none"}, true
		}
	}
	return reason{}, false
}

// forcedSocket infers NCCL_NET=Socket, of which NCCL prints nothing. From 2.28.7
// on a forced choice skips plugin and IB before they are initialised, while a
// true fallback leaves traces of IB; before, a plugin that was initialised and
// did not fail would have been taken.
func forcedSocket(p *process, plugin []reason) (reason, bool) {
	if s, ok := p.Step(nccllog.StepForced, ""); ok && strings.EqualFold(s.Name, "socket") {
		return seen(NetForcedSocket, s.Fact), true
	}
	socket, ok := socketReady(p)
	if !ok {
		return reason{}, false
	}
	r := reason{
		NetForcedSocket,
		[]nccllog.Fact{socket},
		"sockets were set up before NCCL asked for InfiniBand, and a fallback asks first; NCCL_NET itself is never printed",
	}
	if !p.Version.AtLeast(2, 28, 7) {
		r.inferred = "the plugin was ready and NCCL took sockets nevertheless; NCCL_NET itself is never printed"
		return r, p.Version.AtLeast(2, 13, 4) && len(plugin) == 0 && pluginReady(p)
	}
	failed := len(plugin) > 0 && (plugin[0].cause == NoEFADevice ||
		plugin[0].cause == PluginInitFailed || plugin[0].cause == LockedMemory || plugin[0].cause == LibfabricWithoutCUDA)
	return r, p.loss() == "" && !failed && !triedIB(p, socket.Line)
}

// socketReady is the line at which NCCL's sockets were set up as the network.
func socketReady(p *process) (nccllog.Fact, bool) {
	if s, ok := p.Step(nccllog.StepDevices, "Socket"); ok {
		return s.Fact, true
	}
	s, ok := p.Step(nccllog.StepInitialized, "Socket")
	return s.Fact, ok
}

// pluginReady: the OFI plugin was initialised and had a provider.
func pluginReady(p *process) bool {
	for _, s := range p.Steps {
		if s.Kind == nccllog.StepInitialized && !isInternal(s.Name) {
			return true
		}
	}
	return len(p.Providers) > 0
}

// triedIB: NET/IB was asked before sockets were set up. Later lines come from
// NCCL's other users of InfiniBand.
func triedIB(p *process, before int64) bool {
	for _, s := range p.Steps {
		if s.Name == "IB" && s.Line < before {
			return true
		}
	}
	return false
}

func explainIB(p *process) []reason {
	if s, ok := p.Setting("NCCL_IB_DISABLE"); ok && s.Value != "0" {
		return []reason{seen(IBDisabled, s.Fact)}
	}
	if s, ok := p.Step(nccllog.StepNoDevice, "IB"); ok {
		return []reason{seen(NoIBDevice, s.Fact)}
	}
	return nil
}
