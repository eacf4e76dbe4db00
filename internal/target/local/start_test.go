package local

import (
	"slices"
	"testing"
)

// TestRayHasTheTimeThatWeGiveIt: where Ray gives up on its dashboard before we
// do, we wait in vain.
func TestRayHasTheTimeThatWeGiveIt(t *testing.T) {
	environ := Store{}.environ(Record{})
	if want := "RAY_DASHBOARD_SUBPROCESS_MODULE_WAIT_READY_TIMEOUT=300"; !slices.Contains(environ, want) {
		t.Errorf("environment %q lacks %s", environ, want)
	}
}
