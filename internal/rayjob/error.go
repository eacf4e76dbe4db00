package rayjob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"syscall"

	"github.com/trainyard/trainyard/internal/fault"
)

// Error is an answer of Ray's dashboard that is not a success.
type Error struct {
	Method, Path string
	Status       int
	Message      string // Ray's own words, condensed to one line
}

func (e *Error) Error() string {
	s := fmt.Sprintf("calling Ray: %s %s: %d %s", e.Method, e.Path, e.Status, http.StatusText(e.Status))
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}

// Temporary says whether the same call may well succeed later. A plain 500 is
// final: Ray answers so to bad input too. Exceptions are the texts that its
// dashboard gives while its parts come up.
func (e *Error) Temporary() bool {
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case http.StatusInternalServerError:
		return comingUp.MatchString(e.Message)
	}
	return false
}

var comingUp = regexp.MustCompile(`(?i)try again later|head node agent|server got itself in trouble|failed to connect|agent info not found`)

// IsNotFound says whether err is Ray's answer that there is no such thing.
func IsNotFound(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == http.StatusNotFound
}

// temporary says whether a call that failed with err is worth repeating: the
// dashboard was not reached, went away in between, or is not ready yet.
func temporary(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Temporary()
	}
	var netErr net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return false
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return true
	}
	return errors.As(err, &netErr)
}

func newError(method, path string, resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 256<<10))
	err := error(&Error{Method: method, Path: path, Status: resp.StatusCode, Message: condense(string(body))})
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		return fault.WithHint("the cluster wants a token: set RAY_AUTH_TOKEN to the one that it was started with", err)
	case http.StatusForbidden:
		return fault.WithHint("the cluster was started with another token: check RAY_AUTH_TOKEN", err)
	}
	return err
}

const messageBytes = 400

// exception is the last line of a Python traceback.
var exception = regexp.MustCompile(`(?m)^[A-Za-z_][\w.]*(?:Error|Exception|Timeout)\b:? ?(.*)$`)

// condense finds the sentence that matters in a body: a state API's msg field,
// the innermost exception of a traceback, or else the first line.
func condense(body string) string {
	var reply struct {
		Msg string `json:"msg"`
	}
	if json.Unmarshal([]byte(body), &reply) == nil && reply.Msg != "" {
		body = reply.Msg
	}
	body = strings.TrimSpace(body)
	message := body
	if strings.Contains(body, "Traceback (most recent call last)") {
		if found := exception.FindAllStringSubmatch(body, -1); found != nil {
			message = found[len(found)-1][1]
			// "Request failed with status code 500: Traceback …" wraps the cause.
			if first := found[0][1]; strings.HasPrefix(message, "Request failed") && !strings.HasPrefix(first, "Request failed") {
				message = first
			}
		}
	} else if strings.HasPrefix(body, "500 Internal Server Error") {
		message = strings.TrimSpace(strings.TrimPrefix(body, "500 Internal Server Error"))
	}
	message, _, _ = strings.Cut(message, "\n")
	if len(message) > messageBytes {
		message = strings.ToValidUTF8(message[:messageBytes], "") + "…"
	}
	return strings.TrimRight(strings.TrimSpace(message), ".")
}
