package workflow

import (
	"fmt"
	"strings"

	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/instancetype"
	"github.com/trainyard/trainyard/internal/raycluster"
)

// expectation is what is to be proven of a run's network: what the settings say,
// else what its nodes were paid for. EFA where their type has it, whether or not
// a node offers it now; RDMA where its devices are asked for; anything where there
// is one node, or neither. why is empty where the settings say.
func expectation(cfg *config.Config, s raycluster.Spec) (expect, why string) {
	if cfg.Origin("verify.expect").Kind != config.FromDefault || s.Workers < 2 {
		return cfg.Verify.Expect, ""
	}
	kind, err := instancetype.Lookup(s.Worker.InstanceType)
	if s.Worker.EFA > 0 || err == nil && kind.EFA > 0 {
		what := "the workers ask for it"
		if err == nil {
			what = kind.Name + " has it"
		}
		return config.ExpectEFA, "EFA, for " + what
	}
	for name := range s.Worker.Resources {
		if strings.HasPrefix(name, "rdma/") {
			return config.ExpectRDMA, fmt.Sprintf("RDMA, for the workers ask for %s", name)
		}
	}
	return cfg.Verify.Expect, ""
}
