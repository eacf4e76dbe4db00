package kubernetes

import (
	"strings"
	"testing"

	"github.com/trainyard/trainyard/internal/kube"
)

// A head that runs and does not answer may have a job; one that is not there has
// none.
func TestBusyWithoutAnswer(t *testing.T) {
	l := newLab(t)
	idle := func(when string) {
		t.Helper()
		if job, err := Busy(t.Context(), l.admin, "gpu"); job != "" || err != nil {
			t.Errorf("%s: job %q, error %v", when, job, err)
		}
	}
	idle("without a RayCluster")
	_, err := l.admin.Of(me).Apply(t.Context(), kube.Real, l.rayCluster())
	l.Must(err)
	idle("without a head that runs")
	l.room()
	l.Until("the head", func() bool {
		_, err := head(t.Context(), l.admin, "gpu")
		return err == nil
	})
	_, err = Busy(t.Context(), l.admin, "gpu")
	if err == nil || !strings.Contains(err.Error(), `asking Ray cluster "gpu" what runs on it`) {
		t.Errorf("error %v, want that it does not tell", err)
	}
}
