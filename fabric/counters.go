package fabric

import "fmt"

// problem says why the machine's counters tell nothing; empty where they do, or
// where nobody read them. A counter that went back was reset in between.
func (m Machine) problem() string {
	for _, c := range m.Counters {
		if c.Problem != "" {
			return fmt.Sprintf("%s port %d: %s", c.Device, c.Port, c.Problem)
		}
		if c.SentAfter < c.SentBefore || c.ReceivedAfter < c.ReceivedBefore {
			return fmt.Sprintf("%s port %d was reset", c.Device, c.Port)
		}
	}
	return ""
}

// sent is what the machine's cards sent during the job, and moved what they
// sent or received.
func (m Machine) sent() (sent, moved uint64) {
	for _, c := range m.Counters {
		sent += c.SentAfter - c.SentBefore
		moved += c.SentAfter - c.SentBefore + c.ReceivedAfter - c.ReceivedBefore
	}
	return sent, moved
}

// flat finds a machine that hosts edges over RDMA and whose cards did not move
// what the job needed. Growth proves nothing by itself.
func (j *job) flat(f finding) (finding, bool) {
	if f.outcome != Pass || f.transport != TransportEFA && f.transport != TransportIB {
		return finding{}, false
	}
	busy := map[string]bool{}
	for _, n := range j.nodes() {
		busy[n.name] = true
	}
	for _, m := range j.Machines {
		if !busy[m.Name] || len(m.Counters) == 0 || m.problem() != "" {
			continue
		}
		sent, moved := m.sent()
		if moved > 0 && sent >= j.BytesPerNode {
			continue
		}
		flat := j.unknown(CountersFlat, fmt.Sprintf("the log proves edges over %s, but the network cards of %s sent no more than %d bytes", f.transport.words(), m.Name, sent))
		if j.BytesPerNode > 0 {
			flat.summary += fmt.Sprintf(" of the %d that the job needs", j.BytesPerNode)
		}
		flat.transport, flat.quotes, flat.rule = f.transport, f.quotes, ruleCounters
		return flat, true
	}
	return finding{}, false
}
