package nccllog

// plainLine takes a line that is not NCCL's own and may matter all the same:
// the tables of nccl-tests, libfabric's warnings, PyTorch's errors and what
// follows them. Wrappers are peeled off; the line's number is p.log.Lines.
func (p *Parser) plainLine(b []byte) {}
