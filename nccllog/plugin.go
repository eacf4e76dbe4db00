package nccllog

import (
	"bytes"
	"slices"
	"unicode"
)

func (ps *process) step(r *record, kind StepKind, name []byte) {
	for i := range ps.Steps {
		if s := &ps.Steps[i]; s.Kind == kind && s.Name == string(name) {
			s.Count++
			s.Last = r.line
			return
		}
	}
	ps.Steps = keep(ps, ps.Steps, Step{Kind: kind, Name: shorten(name), Count: 1, Last: r.line, Fact: r.fact()})
}

// plugin takes the lines about loading a network plugin. Their wording changed
// in nearly every version from 2.4 to 2.30; what they say did not. The same
// lines of tuners, profilers and of the GIN, RMA and CollNet parts of a plugin
// say nothing of the network.
// Source: NCCL src/net.cc, src/plugin/plugin_open.cc, src/plugin/net.cc.
func (ps *process) plugin(r *record) bool {
	s := scanner{r.msg}
	switch {
	case s.skip("NET/Plugin"):
		s.b = bytes.TrimLeft(s.b, " :")
	case s.skip("External network plugin "): // 2.28
		ps.step(r, StepUnsupported, firstWord(s.b))
		return true
	case s.skip("Successfully loaded external plugin "), // 2.27
		s.skip("Successfully loaded external network plugin "):
		if _, said := ps.Step(StepLoaded, ""); !said {
			ps.step(r, StepLoaded, s.b[bytes.LastIndexByte(s.b, ' ')+1:])
		}
		return true
	case s.skip("ncclOsDlsym(ncclNetPlugin_"): // 2.30
		version, _, _ := bytes.Cut(s.b, []byte{')'})
		ps.step(r, StepSymbolMissing, version)
		return true
	case s.skip("ncclOsDlopen("): // 2.30; of every library that NCCL loads
		if !contains(s.b, "nccl-net") {
			return true
		}
	case hasPrefix(s.b, "Plugin name set by env to "): // 2.11 to 2.20
	default:
		return false
	}
	if name, ok := after(s.b, "Plugin name set by env to "); ok {
		ps.set(r, []byte("NCCL_NET_PLUGIN"), name)
		return true
	}
	if kind, name := ps.pluginStep(s.b); kind != "" {
		ps.step(r, kind, name)
	}
	return true
}

// pluginStep sorts a line about the plugin's library. A loader's message that
// names another library means that the plugin is there and what it needs is not.
func (ps *process) pluginStep(m []byte) (StepKind, []byte) {
	if name, ok := cutPrefix(m, "Loaded net plugin "); ok {
		name, _, _ = bytes.Cut(name, []byte(" ("))
		return StepLoaded, name
	}
	if name, ok := after(m, "Failed to find ncclNetPlugin_"); ok {
		return StepSymbolMissing, firstWord(name)
	}
	switch {
	case contains(m, "find ncclNetPlugin symbol"):
		return StepUnsupported, nil
	case contains(m, "cannot open shared object file"):
		library := beforeLast(m, ": cannot open")
		if contains(library, "nccl-net") {
			return StepNotFound, library
		}
		return StepLoadError, library
	case hasPrefix(m, "Could not find:"):
		names, _, _ := bytes.Cut(m[len("Could not find:"):], []byte(". "))
		return StepNotFound, bytes.TrimSuffix(bytes.TrimSpace(names), []byte{'.'})
	case hasPrefix(m, "No plugin found"):
		return ps.noPlugin(m)
	}
	return loadError(m)
}

// noPlugin takes "No plugin found (libnccl-net.so)". NCCL 2.17 and 2.18 end with
// it, without the name, whatever the reason that they gave before.
func (ps *process) noPlugin(m []byte) (StepKind, []byte) {
	if name, ok := after(m, "("); ok {
		name, _, _ = bytes.Cut(name, []byte{')'})
		return StepNotFound, name
	}
	for _, s := range ps.Steps {
		if s.Kind == StepNotFound || s.Kind == StepLoadError {
			return "", nil
		}
	}
	return StepNotFound, nil
}

// loadError takes a loader's message, which begins with the file that it is
// about: "libnccl-net.so: undefined symbol: fi_getinfo", "/x/y.so: invalid ELF
// header". NCCL 2.4 to 2.21 have "Plugin load returned 11 : " before it, 2.28
// the plugin's name.
func loadError(m []byte) (StepKind, []byte) {
	if rest, ok := cutPrefix(m, "Plugin load"); ok {
		_, rest, ok = bytes.Cut(rest, []byte(" : "))
		if !ok {
			return StepLoadError, nil
		}
		m = rest
	}
	file, _, ok := bytes.Cut(m, []byte(": "))
	if !ok || bytes.IndexByte(file, ' ') >= 0 || !contains(file, ".so") {
		return "", nil
	}
	return StepLoadError, file
}

// beforeLast returns the word before the literal.
func beforeLast(m []byte, lit string) []byte {
	at := bytes.LastIndex(m, []byte(lit))
	if at < 0 {
		return nil
	}
	m = m[:at]
	return m[bytes.LastIndexAny(m, " :=")+1:]
}

func firstWord(b []byte) []byte {
	return b[:indexByte(b, ' ')]
}

// choice takes the lines that say which network won.
func (ps *process) choice(r *record) bool {
	s := scanner{r.msg}
	switch {
	case s.skip("Using network "):
		ps.using(r, s.b)
	case s.skip("Assigned NET plugin "):
		name, _, _ := bytes.Cut(s.b, []byte(" to comm"))
		ps.step(r, StepAssigned, netName(name))
	case s.skip("Initialized NET plugin "):
		ps.step(r, StepInitialized, netName(s.b))
	case s.skip("Failed to initialize NET plugin "):
		ps.step(r, StepInitFailed, netName(s.b))
	case s.skip("Failed to initialize any NET plugin"):
		ps.step(r, StepNone, netName(s.b))
	case s.skip("Error: network "):
		name, _, _ := bytes.Cut(s.b, []byte(" not found"))
		ps.step(r, StepNone, netName(name))
	case s.skip("Failed to open libibverbs"):
		ps.step(r, StepNoDevice, []byte("IB"))
	default:
		return false
	}
	return true
}

// using remembers the network for the communicator that the thread is about to
// name: the line comes before the communicator's own.
func (ps *process) using(r *record, name []byte) {
	t := r.thread
	t.unnamed.open, t.run = true, run{}
	v := ps.networkNamed(r, netName(name))
	t.unnamed.network = v
	ps.Unclaimed = keep(ps, ps.Unclaimed, v)
}

func (ps *process) networkNamed(r *record, name []byte) Value {
	for _, seen := range ps.Networks {
		if seen.Name == string(name) {
			return Value{Name: seen.Name, Fact: Fact{Line: r.line, Text: seen.Text}}
		}
	}
	v := Value{Name: shorten(name), Fact: r.fact()}
	ps.Networks = keep(ps, ps.Networks, v)
	return v
}

// claim takes the choice of network away from those without a communicator.
func (ps *process) claim(v Value) {
	if !v.Seen() {
		return
	}
	ps.Unclaimed = slices.DeleteFunc(ps.Unclaimed, func(o Value) bool { return o.Line == v.Line && o.Name == v.Name })
}

// netName leaves out what ran into the line after the name.
func netName(b []byte) []byte {
	ascii := 0
	for ascii < len(b) && (isHost(b[ascii]) || b[ascii] == ' ') {
		ascii++
	}
	end := bytes.IndexFunc(b[ascii:], func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != ' ' && c != '_' && c != '-' && c != '.'
	})
	if end < 0 {
		end = len(b) - ascii
	}
	return bytes.TrimSpace(b[:ascii+end])
}

// configured takes the lines that tell of a network that was asked for:
// NCCL_NET says nothing of itself, except where it overrides the program.
func (ps *process) configured(r *record) bool {
	s := scanner{r.msg}
	if !s.skip("Comm config ") {
		return false
	}
	if s.skip("netName reset to NCCL_NET=") || s.skip("Net name set to ") {
		ps.step(r, StepForced, netName(s.b))
	}
	return true
}
