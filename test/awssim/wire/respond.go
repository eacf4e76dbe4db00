package wire

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"net/http"
	"strconv"
)

// Reply is where an answer goes.
type Reply struct {
	http.ResponseWriter
	RequestID string
	Gzip      bool // the client takes what is packed
}

// Encode is the answer to an action as it goes over the wire.
func (s Service) Encode(requestID, action string, answer any) []byte {
	var out bytes.Buffer
	switch s.Protocol {
	case EC2:
		x := xmlWriter{out: &out, item: "item", rename: lowerFirst}
		fmt.Fprintf(&out, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+`<%sResponse xmlns="http://ec2.amazonaws.com/doc/%s/">`, action, s.Version)
		x.element("requestId", requestID)
		x.members(answer)
		fmt.Fprintf(&out, `</%sResponse>`, action)
	case Query:
		x := xmlWriter{out: &out, item: "member"}
		fmt.Fprintf(&out, `<%sResponse xmlns="https://%s.amazonaws.com/doc/%s/"><%sResult>`, action, s.Name, s.Version, action)
		x.members(answer)
		fmt.Fprintf(&out, `</%sResult><ResponseMetadata>`, action)
		x.element("RequestId", requestID)
		fmt.Fprintf(&out, `</ResponseMetadata></%sResponse>`, action)
	default:
		writeJSON(&out, answer, s.Protocol == REST)
	}
	return out.Bytes()
}

// Respond sends an answer that Encode made.
func (s Service) Respond(r Reply, answer []byte) { s.send(r, http.StatusOK, answer) }

// Fail writes an error.
func (s Service) Fail(r Reply, err error) {
	e := AsError(err)
	var out bytes.Buffer
	x := xmlWriter{out: &out}
	switch s.Protocol {
	case EC2:
		out.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n<Response><Errors><Error>")
		x.element("Code", e.Code)
		x.element("Message", e.Message)
		out.WriteString(`</Error></Errors>`)
		x.element("RequestID", r.RequestID)
		out.WriteString(`</Response>`)
	case Query:
		fmt.Fprintf(&out, `<ErrorResponse xmlns="https://%s.amazonaws.com/doc/%s/"><Error>`, s.Name, s.Version)
		x.element("Type", fault(e.Status))
		x.element("Code", e.Code)
		x.element("Message", e.Message)
		out.WriteString(`</Error>`)
		x.element("RequestId", r.RequestID)
		out.WriteString(`</ErrorResponse>`)
	case JSON:
		writeJSON(&out, map[string]any{"__type": e.Code, "message": e.Message}, false)
	case REST:
		r.Header().Set("X-Amzn-Errortype", e.Code)
		writeJSON(&out, map[string]any{"message": e.Message}, false)
	}
	if e.RetryAfter > 0 {
		r.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
		r.Header().Set("X-Amz-Retry-After", strconv.Itoa(int(e.RetryAfter.Milliseconds())))
	}
	s.send(r, e.Status, out.Bytes())
}

// fault is who is to blame, in the words of the query protocol.
func fault(status int) string {
	if status >= http.StatusInternalServerError {
		return "Receiver"
	}
	return "Sender"
}

// large is the size from which answers are packed.
const large = 1024

// send writes an answer at once, with its length, and packed if it is large. So
// nearly all fit into what a client reads at once. That matters on loopback: the
// SDK for Go ends its connection if an answer comes before it has seen that all
// of its request is written, and what it has not read by then is lost.
func (s Service) send(r Reply, status int, body []byte) {
	kind := map[Protocol]string{EC2: "text/xml;charset=UTF-8", Query: "text/xml", JSON: "application/x-amz-json-1.1", REST: "application/json"}
	if r.Gzip && len(body) > large {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(body) // a buffer takes everything
		_ = z.Close()
		body = packed.Bytes()
		r.Header().Set("Content-Encoding", "gzip")
	}
	r.Header().Set("Content-Type", kind[s.Protocol])
	r.Header().Set("Content-Length", strconv.Itoa(len(body)))
	r.Header().Set("X-Amzn-Requestid", r.RequestID)
	r.WriteHeader(status)
	_, _ = r.Write(body) // the client may be gone
}
