package nccllog

import "bytes"

// torchLine takes what PyTorch says of NCCL: its watchdog's report and the
// errors that it raises, with the lines that follow them:
//
//	torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:93, unhandled
//	system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.29.7
//	ncclSystemError: System call or external library call failed ...
//	Last error:
//	socketStartConnect: Connect to 10.0.0.2<4711> failed : No route to host
//
// (the first two are one line). Source: PyTorch
// torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, NCCLUtils.hpp.
func (p *Parser) torchLine(b []byte) bool {
	switch {
	case contains(b, "Watchdog caught collective"):
		p.timeout(b)
	case contains(b, "DistBackendError: "), contains(b, "NCCL error in: "), contains(b, "NCCL error: "):
		p.aside.torch = p.log.Lines
		p.noteShape(EventTorch, b, b)
		p.told(b)
	case p.aside.torch == 0:
		return false
	case isResult(b):
		p.noteShape(EventTorch, b, b)
	case contains(b, "Last error:") && p.log.Lines-p.aside.torch < 8:
		p.aside.last = p.log.Lines
		if text, _ := after(b, "Last error:"); len(bytes.TrimSpace(text)) > 0 {
			p.lastError(bytes.TrimSpace(text))
		}
	default:
		return false
	}
	return true
}

// isResult knows the line that begins with the name of NCCL's result code.
func isResult(b []byte) bool {
	at := bytes.Index(b, []byte("nccl"))
	if at < 0 {
		return false
	}
	name, _, ok := bytes.Cut(b[at:], []byte(": "))
	return ok && bytes.IndexByte(name, ' ') < 0 &&
		(bytes.HasSuffix(name, []byte("Error")) || string(name) == "ncclInvalidUsage" || string(name) == "ncclInvalidArgument")
}

// lastError takes the line after "Last error:", which is NCCL's last warning.
func (p *Parser) lastError(b []byte) bool {
	if p.aside.last == 0 || p.log.Lines > p.aside.last+1 {
		return false
	}
	p.aside.last = 0
	b = append([]byte("Last error: "), b...)
	p.noteShape(EventTorch, b, b)
	return true
}

// timeout takes the watchdog's report, one a rank: "[Rank 3] Watchdog ..." and,
// since PyTorch 2.4, "[PG ID 0 PG GUID 0(default_pg) Rank 3] Watchdog ...".
func (p *Parser) timeout(b []byte) {
	key := []byte(EventTimeout)
	if rest, ok := after(b, "Rank "); ok {
		rank, _, _ := bytes.Cut(rest, []byte{']'})
		key = append(key, rank[:min(len(rank), 20)]...)
	}
	p.note(EventTimeout, key, b)
}

// told takes NCCL's version as PyTorch tells it.
func (p *Parser) told(b []byte) {
	at := bytes.LastIndex(b, []byte("NCCL version "))
	if at < 0 || p.log.Version.Seen() {
		return
	}
	if v, ok := parseVersion(b[at:]); ok {
		v.Fact = Fact{Line: p.log.Lines, Text: shorten(b)}
		p.log.Version = v
	}
}
