package wire

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"strconv"
)

// Respond writes the answer to an action.
func (s Service) Respond(w http.ResponseWriter, action, requestID string, answer any) {
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
	s.send(w, http.StatusOK, requestID, out.Bytes())
}

// Fail writes an error.
func (s Service) Fail(w http.ResponseWriter, requestID string, err error) {
	e := AsError(err)
	var out bytes.Buffer
	x := xmlWriter{out: &out}
	switch s.Protocol {
	case EC2:
		out.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n<Response><Errors><Error>")
		x.element("Code", e.Code)
		x.element("Message", e.Message)
		out.WriteString(`</Error></Errors>`)
		x.element("RequestID", requestID)
		out.WriteString(`</Response>`)
	case Query:
		fmt.Fprintf(&out, `<ErrorResponse xmlns="https://%s.amazonaws.com/doc/%s/"><Error>`, s.Name, s.Version)
		x.element("Type", fault(e.Status))
		x.element("Code", e.Code)
		x.element("Message", e.Message)
		out.WriteString(`</Error>`)
		x.element("RequestId", requestID)
		out.WriteString(`</ErrorResponse>`)
	case JSON:
		writeJSON(&out, map[string]any{"__type": e.Code, "message": e.Message}, false)
	case REST:
		w.Header().Set("X-Amzn-Errortype", e.Code)
		writeJSON(&out, map[string]any{"message": e.Message}, false)
	}
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
		w.Header().Set("X-Amz-Retry-After", strconv.Itoa(int(e.RetryAfter.Milliseconds())))
	}
	s.send(w, e.Status, requestID, out.Bytes())
}

// fault is who is to blame, in the words of the query protocol.
func fault(status int) string {
	if status >= http.StatusInternalServerError {
		return "Receiver"
	}
	return "Sender"
}

func (s Service) send(w http.ResponseWriter, status int, requestID string, body []byte) {
	kind := map[Protocol]string{EC2: "text/xml;charset=UTF-8", Query: "text/xml", JSON: "application/x-amz-json-1.1", REST: "application/json"}
	w.Header().Set("Content-Type", kind[s.Protocol])
	w.Header().Set("X-Amzn-Requestid", requestID)
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}
