package raycluster

import (
	"fmt"
	"strings"
)

// entrypoints are the scripts by which AWS's images start, one or the other
// by version. Source: aws/deep-learning-containers, scripts/docker/ray-train.
var entrypoints = []string{"/usr/local/bin/entrypoint.sh", "/usr/local/bin/dockerd_entrypoint.sh"}

// command is what the container runs before "ray start".
//
// KubeRay replaces an image's entrypoint by bash -c "COMMAND && ulimit …; ray
// start …". The entrypoint of the Ray Train image compares the node's driver
// with its CUDA and puts CUDA's compatibility libraries first on
// LD_LIBRARY_PATH where the driver is older; without it such nodes fail in the
// first kernel. A node without GPUs has no driver to compare.
func (n Node) command() []string {
	if n.GPUs == 0 {
		return nil
	}
	return []string{keepEntrypoint(entrypoints)}
}

// keepEntrypoint is shell that takes over the LD_LIBRARY_PATH that the image's
// entrypoint would have given, and does nothing and succeeds where the image
// has no script that knows of such libraries. The scripts run what they are
// given and may say things before that, so the last line is the answer. It
// ends without a newline, since KubeRay writes " && " behind it.
func keepEntrypoint(scripts []string) string {
	return fmt.Sprintf(`for script in %s; do
  if [ -x "$script" ] && grep -qi 'cuda.\?compat' "$script"; then
    libraries=$("$script" printenv LD_LIBRARY_PATH | tail -n 1)
    export LD_LIBRARY_PATH="${libraries:-$LD_LIBRARY_PATH}"
    break
  fi
done`, strings.Join(scripts, " "))
}
