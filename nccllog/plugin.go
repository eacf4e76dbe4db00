package nccllog

import (
	"bytes"
	"unicode"
)

func (ps *process) step(r record, kind StepKind, name []byte) {
	for i := range ps.Steps {
		if s := &ps.Steps[i]; s.Kind == kind && s.Name == string(name) {
			s.Count++
			return
		}
	}
	ps.Steps = keep(ps, ps.Steps, Step{Kind: kind, Name: shorten(name), Count: 1, Fact: r.fact()})
}

// plugin takes the lines about loading a network plugin. Their wording changed
// in nearly every version from 2.5 to 2.30; what they say did not.
func (ps *process) plugin(r record) bool {
	m := r.msg
	switch {
	case hasPrefix(m, "NET/Plugin"):
		m = bytes.TrimLeft(m[len("NET/Plugin"):], " :")
	case hasPrefix(m, "External network plugin "):
		ps.step(r, StepUnsupported, firstWord(m[len("External network plugin "):]))
		return true
	case hasPrefix(m, "Plugin name set by env to "): // NCCL 2.11 to 2.20
	default:
		return false
	}
	if name, ok := after(m, "Plugin name set by env to "); ok {
		ps.set(r, []byte("NCCL_NET_PLUGIN"), name)
		return true
	}
	if kind, name := pluginStep(m); kind != "" {
		ps.step(r, kind, name)
	}
	return true
}

// pluginStep sorts a line about the plugin's library. A loader's message that
// names another library means that the plugin is there and what it needs is not.
func pluginStep(m []byte) (StepKind, []byte) {
	if name, ok := bytes.CutPrefix(m, []byte("Loaded net plugin ")); ok {
		name, _, _ = bytes.Cut(name, []byte(" ("))
		return StepLoaded, name
	}
	if name, ok := after(m, "Failed to find ncclNetPlugin_"); ok {
		return StepSymbolMissing, firstWord(name)
	}
	switch {
	case contains(m, "Failed to find ncclNetPlugin symbol"):
		return StepUnsupported, nil
	case contains(m, "undefined symbol"), contains(m, "' not found"), contains(m, "wrong ELF class"):
		return StepLoadError, nil
	case contains(m, "cannot open shared object file"):
		if contains(beforeLast(m, ": cannot open"), "nccl-net") {
			return StepNotFound, nil
		}
		return StepLoadError, nil
	case contains(m, "Could not find"), contains(m, "No plugin found"):
		return StepNotFound, nil
	case contains(m, "Plugin load"):
		return StepLoadError, nil
	}
	return "", nil
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
	word, _, _ := bytes.Cut(b, []byte{' '})
	return word
}

// choice takes the lines that say which network won.
func (ps *process) choice(r record) bool {
	m := r.msg
	if name, ok := bytes.CutPrefix(m, []byte("Using network ")); ok {
		ps.using(r, name)
		return true
	}
	for _, form := range [...]struct {
		before, after string
		kind          StepKind
	}{
		{"Assigned NET plugin ", " to comm", StepAssigned},
		{"Initialized NET plugin ", "", StepInitialized},
		{"Failed to initialize NET plugin ", "", StepInitFailed},
		{"Failed to initialize any NET plugin", "", StepNone},
		{"Error: network ", " not found", StepNone},
	} {
		if name, ok := bytes.CutPrefix(m, []byte(form.before)); ok {
			if form.after != "" {
				name, _, _ = bytes.Cut(name, []byte(form.after))
			}
			ps.step(r, form.kind, netName(name))
			return true
		}
	}
	if hasPrefix(m, "Failed to open libibverbs") {
		ps.step(r, StepNoDevice, []byte("IB"))
		return true
	}
	return false
}

// using remembers the network for the communicator that the thread is about to
// name: the line comes before the communicator's own.
func (ps *process) using(r record, name []byte) {
	t := r.thread
	t.unnamed.open, t.run = true, run{}
	name = netName(name)
	for _, seen := range ps.Networks {
		if seen.Name == string(name) {
			t.unnamed.network = Value{Name: seen.Name, Fact: Fact{Line: r.line, Text: seen.Text}}
			return
		}
	}
	v := Value{Name: shorten(name), Fact: r.fact()}
	t.unnamed.network = v
	ps.Networks = keep(ps, ps.Networks, v)
}

// netName leaves out what ran into the line after the name.
func netName(b []byte) []byte {
	end := bytes.IndexFunc(b, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != ' ' && c != '_' && c != '-' && c != '.'
	})
	if end < 0 {
		end = len(b)
	}
	return bytes.TrimSpace(b[:end])
}

// internalNet takes what NCCL's own networks say of their devices. NET/IB
// prints its "Using" line even where it has none: only entries with a link
// layer are devices.
func (ps *process) internalNet(r record) bool {
	m := r.msg
	switch {
	case hasPrefix(m, "NET/IB : No device found"):
		ps.step(r, StepNoDevice, []byte("IB"))
	case hasPrefix(m, "NET/IB : Using"):
		devices, _, _ := bytes.Cut(m[len("NET/IB : Using"):], []byte("; OOB"))
		if contains(devices, "/IB") || contains(devices, "/RoCE") {
			ps.step(r, StepDevices, []byte("IB"))
			return true
		}
		ps.step(r, StepTried, []byte("IB"))
	case hasPrefix(m, "NET/Socket : Using "), hasPrefix(m, "NET/Socket: Using "):
		ps.step(r, StepDevices, []byte("Socket"))
	default:
		return false
	}
	return true
}

// configured takes the one line that tells of NCCL_NET.
func (ps *process) configured(r record) bool {
	name, ok := after(r.msg, "netName reset to NCCL_NET=")
	if ok {
		ps.step(r, StepForced, firstWord(name))
	}
	return ok
}
