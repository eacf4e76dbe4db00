package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
)

func TestCodeOf(t *testing.T) {
	plain := errors.New("disk is full")
	tests := []struct {
		name string
		err  error
		want Code
	}{
		{"nil", nil, Done},
		{"plain", plain, Error},
		{"coded", WithCode(JobFailed, plain), JobFailed},
		{"coded below a wrap", fmt.Errorf("running job: %w", WithCode(JobFailed, plain)), JobFailed},
		{"outermost wins", WithCode(FabricFail, WithCode(JobFailed, plain)), FabricFail},
		{"cancelled", fmt.Errorf("waiting: %w", context.Canceled), Interrupted},
		{"coded cancel", WithCode(JobFailed, context.Canceled), JobFailed},
		{"coded nil", WithCode(JobFailed, nil), Done},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := CodeOf(test.err); got != test.want {
				t.Errorf("CodeOf(%v) = %d, want %d", test.err, got, test.want)
			}
		})
	}
}

func TestHintsOf(t *testing.T) {
	a := WithHint("free some space", errors.New("disk is full"))
	b := WithHint("try --python", errors.New("no python"))
	err := WithHint("see the README", errors.Join(a, fmt.Errorf("looking: %w", b), a))
	want := []string{"see the README", "free some space", "try --python"}
	if got := HintsOf(err); !slices.Equal(got, want) {
		t.Errorf("HintsOf = %q, want %q", got, want)
	}
	if got := HintsOf(nil); got != nil {
		t.Errorf("HintsOf(nil) = %q, want none", got)
	}
}

func TestTold(t *testing.T) {
	err := WithCode(FabricFail, errors.New("FAIL"))
	if IsTold(err) || !IsTold(fmt.Errorf("checking: %w", Told(err))) || Told(nil) != nil {
		t.Error("only what is marked as told is told")
	}
	if got := CodeOf(Told(err)); got != FabricFail {
		t.Errorf("CodeOf(Told(err)) = %d, want %d", got, FabricFail)
	}
}
