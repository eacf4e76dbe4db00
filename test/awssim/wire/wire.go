// Package wire reads requests and writes answers as AWS's services do: the
// query protocol of EC2, the query protocol of STS and others with its
// "member" lists, JSON 1.1 and REST with JSON.
//
// A request is read into a tree of maps, lists and scalars (Parse), and the
// tree into the struct that an operation wants (Decode); an answer is a struct
// that Respond writes. Fields are named as AWS names them, but for Go's
// spelling of initialisms (VpcID is VpcId on the wire); a tag `aws:"name"` says
// otherwise, and `aws:",omitempty"` leaves out what is zero.
package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/trainyard/trainyard/test/awssim/sigv4"
)

// Protocol is one of the four ways in which AWS's services speak.
type Protocol int

// The protocols, each with services that speak it.
const (
	EC2   Protocol = iota // EC2
	Query                 // STS, IAM, CloudFormation, Auto Scaling
	JSON                  // Service Quotas, Pricing, Systems Manager
	REST                  // EKS
)

// MaxBody is the most bytes of a request that are read.
const MaxBody = 1 << 20

// Route is where an operation of a REST service is found: "GET" and
// "/clusters/{name}".
type Route struct {
	Method, Path, Action string
}

// Service says how one service is spoken to.
type Service struct {
	Name     string // in the scope of signatures: "ec2"
	Protocol Protocol
	Version  string  // of the API, in XML name spaces: "2016-11-15"
	Routes   []Route // REST only
}

// Request is what was asked.
type Request struct {
	Service Service
	Action  string         // "DescribeRegions"
	Params  map[string]any // by the names on the wire; map[string]any, []any, string, or a JSON scalar
}

// Parse reads the request that r, with this body, is to the service.
func Parse(service Service, r *http.Request, body []byte) (*Request, error) {
	switch service.Protocol {
	case JSON:
		return parseJSON(service, r.Header.Get("X-Amz-Target"), body)
	case REST:
		return parseREST(service, r, body)
	default:
		return parseForm(service, r.URL.Query(), body)
	}
}

func parseForm(service Service, query url.Values, body []byte) (*Request, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, Errorf("MalformedQueryString", "the query string is malformed: %v", err)
	}
	for name, values := range query {
		if sigv4.Presigned(name) {
			continue
		}
		form[name] = append(form[name], values...)
	}
	params, err := tree(form)
	if err != nil {
		return nil, err
	}
	action, _ := params["Action"].(string)
	if action == "" {
		return nil, Errorf("MissingAction", "the request must contain the parameter Action")
	}
	if version, _ := params["Version"].(string); version != service.Version {
		return nil, Errorf("InvalidAction", "the action %s is not valid for version %q of this web service", action, version)
	}
	delete(params, "Action")
	delete(params, "Version")
	return &Request{Service: service, Action: action, Params: params}, nil
}

func parseJSON(service Service, target string, body []byte) (*Request, error) {
	_, action, found := strings.Cut(target, ".")
	if !found {
		return nil, Errorf("UnknownOperationException", "the header X-Amz-Target does not name an operation")
	}
	params, err := object(body)
	if err != nil {
		return nil, err
	}
	return &Request{Service: service, Action: action, Params: params}, nil
}

func parseREST(service Service, r *http.Request, body []byte) (*Request, error) {
	params, err := object(body)
	if err != nil {
		return nil, err
	}
	for name, values := range r.URL.Query() {
		if len(values) == 1 {
			params[name] = values[0]
			continue
		}
		list := make([]any, len(values))
		for i, v := range values {
			list[i] = v
		}
		params[name] = list
	}
	for _, route := range service.Routes {
		if route.Method == r.Method && match(route.Path, r.URL.EscapedPath(), params) {
			return &Request{Service: service, Action: route.Action, Params: params}, nil
		}
	}
	return nil, &Error{Code: "UnknownOperationException", Message: fmt.Sprintf("no operation at %s %s", r.Method, r.URL.Path), Status: http.StatusNotFound}
}

// match puts what {names} of the pattern stand for into params.
func match(pattern, path string, params map[string]any) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	found := map[string]any{}
	for i, part := range want {
		name, variable := strings.CutPrefix(part, "{")
		value, err := url.PathUnescape(got[i])
		switch {
		case err != nil, !variable && part != value, variable && value == "":
			return false
		case variable:
			found[strings.TrimSuffix(name, "}")] = value
		}
	}
	for name, value := range found {
		params[name] = value
	}
	return true
}

func object(body []byte) (map[string]any, error) {
	params := map[string]any{}
	if len(bytes.TrimSpace(body)) == 0 {
		return params, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&params); err != nil || params == nil {
		return nil, Errorf("SerializationException", "the body is not a JSON object")
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, Errorf("SerializationException", "more follows the JSON object")
	}
	return params, nil
}
