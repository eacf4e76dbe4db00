package workflow

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/raycluster"
)

func TestExpectation(t *testing.T) {
	rdma := map[string]resource.Quantity{"rdma/hca": resource.MustParse("8")}
	for _, test := range []struct {
		name   string
		file   string
		spec   raycluster.Spec
		expect string
		why    string
	}{
		{"the type has EFA, the workers ask for none", "", raycluster.Spec{Workers: 2, Worker: raycluster.Node{InstanceType: "g6.12xlarge"}}, config.ExpectEFA, "EFA, for g6.12xlarge has it"},
		{"the type has none", "", raycluster.Spec{Workers: 2, Worker: raycluster.Node{InstanceType: "g6.xlarge"}}, config.ExpectAny, ""},
		{"no type, EFA asked for", "", raycluster.Spec{Workers: 2, Worker: raycluster.Node{EFA: 1}}, config.ExpectEFA, "EFA, for the workers ask for it"},
		{"RDMA devices", "", raycluster.Spec{Workers: 2, Worker: raycluster.Node{Resources: rdma}}, config.ExpectRDMA, "RDMA, for the workers ask for rdma/hca"},
		{"one node", "", raycluster.Spec{Workers: 1, Worker: raycluster.Node{InstanceType: "p5.48xlarge"}}, config.ExpectAny, ""},
		{"the settings say", "verify: {expect: socket}", raycluster.Spec{Workers: 2, Worker: raycluster.Node{InstanceType: "p5.48xlarge"}}, config.ExpectSocket, ""},
		{"the settings say nothing is demanded", "verify: {expect: any}", raycluster.Spec{Workers: 2, Worker: raycluster.Node{EFA: 1}}, config.ExpectAny, ""},
	} {
		cfg, err := config.Load(config.Sources{File: []byte("version: 1\n" + test.file + "\n"), FileName: "trainyard.yaml"})
		if err != nil {
			t.Fatal(err)
		}
		if expect, why := expectation(cfg, test.spec); expect != test.expect || !strings.HasPrefix(why, test.why) || (why == "") != (test.why == "") {
			t.Errorf("%s: %q, %q; want %q, %q", test.name, expect, why, test.expect, test.why)
		}
	}
}
