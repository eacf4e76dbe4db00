package nccllog

import "bytes"

// libfabricLine takes libfabric's own warnings, which do not go through NCCL:
//
//	libfabric:17773:1732779731::efa:mr:efa_mr_reg():210<warn> Failed to register ...
//
// and the lines that the OFI plugin prints below a completion with an error. That
// shared memory was switched off is told in every run.
// Source: libfabric src/log.c, aws-ofi-nccl src/platform-aws.cpp.
func (p *Parser) libfabricLine(b []byte) bool {
	if contains(b, "security group on either this") {
		p.noteShape(EventNetwork, b, b)
		return true
	}
	at := bytes.Index(b, []byte("libfabric:"))
	if at < 0 {
		return false
	}
	b = b[at:]
	_, text, ok := bytes.Cut(b, []byte("<warn> "))
	if !ok {
		return true
	}
	if !hasPrefix(text, "FI_OPT_SHARED_MEMORY_PERMITTED set to") {
		p.noteShape(EventLibfabric, b, text)
	}
	return true
}
