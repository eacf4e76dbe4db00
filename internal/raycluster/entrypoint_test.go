package raycluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestKeepEntrypoint runs the command as KubeRay 1.6 does (BuildPod in
// controllers/ray/common/pod.go): behind bash -c, with a space on each side,
// then "&&" and the start of Ray.
func TestKeepEntrypoint(t *testing.T) {
	const compat = "/usr/local/cuda/compat"
	tests := []struct {
		name, script string
		mode         os.FileMode
		want         string
	}{
		{"old driver", "#!/bin/bash\n# CUDA compat\nexport LD_LIBRARY_PATH=" + compat + ":$LD_LIBRARY_PATH\nexec \"$@\"\n", 0o755, compat + ":/lib/nccl"},
		{"says what it does", "#!/bin/bash\nset -e\necho Adding CUDA compat to LD_LIBRARY_PATH\nexport LD_LIBRARY_PATH=" + compat + ":$LD_LIBRARY_PATH\necho $LD_LIBRARY_PATH\nexec \"$@\"\n", 0o755, compat + ":/lib/nccl"},
		{"new driver", "#!/bin/bash\n# start_cuda_compat.sh\nexec \"$@\"\n", 0o755, "/lib/nccl"},
		{"fails", "#!/bin/bash\n# cuda/compat\nexit 1\n", 0o755, "/lib/nccl"},
		{"of another image", "#!/bin/bash\nsleep 1000\n", 0o755, "/lib/nccl"},
		{"not executable", "# cuda compat\nexit 1\n", 0o644, "/lib/nccl"},
		{"none", "", 0, "/lib/nccl"},
	}
	if strings.Contains(keepEntrypoint(entrypoints), "ray start") {
		t.Error("KubeRay starts no Ray where the command seems to do so")
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			script := filepath.Join(t.TempDir(), "entrypoint.sh")
			if test.mode != 0 {
				if err := os.WriteFile(script, []byte(test.script), test.mode); err != nil {
					t.Fatal(err)
				}
			}
			line := " " + keepEntrypoint([]string{"/nonexistent/entrypoint.sh", script}) + "  && ulimit -n 1024; echo started with $LD_LIBRARY_PATH"
			cmd := exec.Command("/bin/bash", "-c", "--", line)
			cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH=/lib/nccl")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if got := strings.TrimSpace(string(out)); got != "started with "+test.want {
				t.Errorf("got  %s\nwant started with %s", got, test.want)
			}
		})
	}
}
