package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/trainyard/trainyard/internal/fault"
)

// TestBesidesInterrupt: what a command that was interrupted has left is said all the
// same, and what to do about it.
func TestBesidesInterrupt(t *testing.T) {
	left := fault.WithHint("cancel it", errors.New("a reservation is left"))
	for _, test := range []struct {
		err  error
		says string
	}{
		{context.Canceled, ""},
		{fmt.Errorf("waiting: %w", context.Canceled), ""},
		{errors.Join(context.Canceled, left), "a reservation is left"},
		{fault.WithCode(fault.Interrupted, errors.Join(left, errors.Join(fmt.Errorf("looking: %w", context.Canceled)))), "a reservation is left"},
	} {
		rest := besidesInterrupt(test.err)
		if rest == nil && test.says == "" {
			continue
		}
		if rest == nil || rest.Error() != test.says || !slices.Equal(fault.HintsOf(rest), []string{"cancel it"}) {
			t.Errorf("of %q is left %q, hints %q", test.err, rest, fault.HintsOf(rest))
		}
	}
}
