package fabric_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/fabric"
)

// TestHealthySims: jobs whose every edge is there pass.
func TestHealthySims(t *testing.T) {
	for name, s := range sims() {
		t.Run(name, func(t *testing.T) {
			want := want{"PASS", "efa", ""}
			if n := s.network(0).name; n == "IB" || n == "IBext_v8" {
				want.Transport = "ib"
			}
			for form, texts := range map[string]map[string][]byte{"files": s.texts(), "console": merge(s.texts())} {
				if v := judge(texts, fabric.RDMA); wanted(v) != want {
					t.Errorf("%s: %s\n%s", form, cmp.Diff(want, wanted(v)), show(v))
				}
			}
		})
	}
}
