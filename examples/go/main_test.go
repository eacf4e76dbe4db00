package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/fabric"
)

func TestExample(t *testing.T) {
	var job bytes.Buffer
	for _, worker := range []string{"6f3d14e2-3360", "3aee1ec2-3361"} {
		b, err := os.ReadFile("../../nccllog/testdata/ray-2.58/ray_socket/worker-" + worker + ".out")
		if err != nil {
			t.Fatal(err)
		}
		job.Write(b)
	}
	v, err := judge(&job, fabric.RDMA)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := show(&out, v); err != nil {
		t.Fatal(err)
	}
	if exitCode(v) != 4 || len(v.Processes) != 2 || !strings.Contains(out.String(), "Socket") {
		t.Errorf("exit code %d, %s", exitCode(v), out.String())
	}
	t.Log(out.String())
}
