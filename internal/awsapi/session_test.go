package awsapi

import (
	"errors"
	"fmt"
	"net"
	"testing"
)

// TestRetries: there is no use in knocking on where there is no way to, while what
// breaks later is asked again.
func TestRetries(t *testing.T) {
	dial := fmt.Errorf("calling: %w", &net.OpError{Op: "dial", Err: errors.New("connection refused")})
	read := fmt.Errorf("calling: %w", &net.OpError{Op: "read", Err: errors.New("connection reset")})
	retryer := newRetryer(maxAttempts)
	for _, test := range []struct {
		attempt int
		err     error
		again   bool
	}{{1, dial, true}, {mostDials - 1, dial, true}, {mostDials, dial, false}, {mostDials, read, true}} {
		if _, err := retryer.RetryDelay(test.attempt, test.err); (err == nil) != test.again {
			t.Errorf("attempt %d, %v: %v", test.attempt, test.err, err)
		}
	}
}
