package wire

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Error is a failure as a service answers it.
type Error struct {
	Code    string // "InvalidVpcID.NotFound"
	Message string
	Status  int // of HTTP; 0: 400

	RetryAfter time.Duration // sent as a hint; 0: none
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Errorf is an error with status 400.
func Errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// AsError is the error as it goes out; what is none of a service's own is an
// internal error of it.
func AsError(err error) *Error {
	var e *Error
	if !errors.As(err, &e) {
		return &Error{Code: "InternalFailure", Message: "awssim: " + err.Error(), Status: http.StatusInternalServerError}
	}
	if e.Status == 0 {
		copied := *e
		copied.Status = http.StatusBadRequest
		return &copied
	}
	return e
}
