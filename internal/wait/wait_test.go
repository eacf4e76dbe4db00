package wait

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestForIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, looks := time.Now(), 0
		err := For(t.Context(), Options{Interval: time.Minute, Timeout: time.Hour}, func(context.Context) (bool, string, error) {
			looks++
			return looks == 3, "", nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := time.Since(start), 2*time.Minute; looks != 3 || got != want {
			t.Errorf("%d looks in %s, want 3 in %s", looks, got, want)
		}
	})
}

func TestForTimesOut(t *testing.T) {
	tests := []struct {
		name   string
		states []string
		want   string
	}{
		{"last state", []string{"1 of 3 ready", "2 of 3 ready"}, "timed out after 1m30s, last seen: 2 of 3 ready"},
		{"an empty state keeps the one before", []string{"1 of 3 ready", ""}, "timed out after 1m30s, last seen: 1 of 3 ready"},
		{"nothing seen", []string{"", ""}, "timed out after 1m30s"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				looks := 0
				err := For(t.Context(), Options{Interval: time.Minute, Timeout: 90 * time.Second}, func(context.Context) (bool, string, error) {
					looks++
					return false, test.states[looks-1], nil
				})
				if err == nil || err.Error() != test.want {
					t.Errorf("error %v, want %q", err, test.want)
				}
				if !IsTimeout(fmt.Errorf("waiting: %w", err)) {
					t.Error("IsTimeout says no")
				}
				if errors.Is(err, context.DeadlineExceeded) {
					t.Error("our own deadline shows as the context's")
				}
			})
		})
	}
}

func TestForTimesOutDuringALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := For(t.Context(), Options{Timeout: time.Minute}, func(ctx context.Context) (bool, string, error) {
			<-ctx.Done()
			return false, "no answer", ctx.Err()
		})
		if want := "timed out after 1m0s, last seen: no answer"; err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
	})
}

func TestForStopsAtAnError(t *testing.T) {
	broken := errors.New("broken")
	err := For(t.Context(), Options{}, func(context.Context) (bool, string, error) { return false, "", broken })
	if !errors.Is(err, broken) || IsTimeout(err) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

func TestForEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := For(ctx, Options{Interval: time.Minute, Timeout: time.Hour}, func(context.Context) (bool, string, error) {
			return false, "", nil
		})
		if !errors.Is(err, context.DeadlineExceeded) || IsTimeout(err) {
			t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
		}
	})
}
