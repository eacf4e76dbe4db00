package addons

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/trainyard/trainyard/internal/fault"
)

// pin says which chart is installed, and how it is known to be that.
type pin struct {
	chart   string // its name
	version string
	url     string // where its makers publish it
	repo    string // the repository that lists it, for people with helm

	// archive is the SHA-256 of the file at url, as the repository's index has it.
	archive string
	// content is that of [contentOf]: folders and mirrors pack charts anew.
	content string
}

var nvidiaPin = pin{
	chart: "nvidia-device-plugin", version: nvidiaVersion,
	url:     "https://nvidia.github.io/k8s-device-plugin/stable/nvidia-device-plugin-" + nvidiaVersion + ".tgz",
	repo:    "https://nvidia.github.io/k8s-device-plugin",
	archive: "8f01067500e712508fe55fe060b6f895814dc7efc1cb96323db2ce4f777f6e96",
	content: "883f2cdf6e22fd227d4a0b896e83b524ecab28e0a98452bf25d1802da8758cec",
}

var kubeRayPin = pin{
	chart: "kuberay-operator", version: kubeRayVersion,
	url:     "https://github.com/ray-project/kuberay-helm/releases/download/kuberay-operator-" + kubeRayVersion + "/kuberay-operator-" + kubeRayVersion + ".tgz",
	repo:    "https://ray-project.github.io/kuberay-helm",
	archive: "660e709573ea49455fea0b34b40a38afc217b8354bcf0f17aab2a3249d3c1b5f",
	content: "98582974d6932f2816bec53bd5f3a1d5c18fa5067ed2f738b3cb7b0412dd7d1d",
}

func (p pin) String() string { return p.chart + " " + p.version }

// pull is the command that fetches the chart into the present folder.
func (p pin) pull() string {
	return fmt.Sprintf("helm pull %s --repo %s --version %s", p.chart, p.repo, p.version)
}

// check returns an error where c, which was packed in archive (nil: a folder),
// is not the chart that is pinned.
func (p pin) check(c *chart.Chart, archive []byte) error {
	if c.Name() != p.chart || c.Metadata.Version != p.version {
		return fault.WithHint("Fetch it with: "+p.pull(), fmt.Errorf("it is chart %s %s, not %s", c.Name(), c.Metadata.Version, p))
	}
	packed := sha256.Sum256(archive)
	content := contentOf(c)
	if content == p.content || archive != nil && hex.EncodeToString(packed[:]) == p.archive {
		return nil
	}
	return fault.WithHint("It was changed on its way, or by who keeps it; images from a registry of your own need no change: --registry names it.",
		fmt.Errorf("it is not the chart that its makers published: its content has SHA-256 %s, not %s", content, p.content))
}

// contentOf is a checksum of all of a chart that [render] uses, however it was
// packed.
func contentOf(c *chart.Chart) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %s %s\n", c.Name(), c.Metadata.Version, c.Metadata.AppVersion)
	files := slices.Clone(c.Templates)
	for _, f := range c.Raw {
		if f.Name == "values.yaml" || f.Name == "values.schema.json" || strings.HasPrefix(f.Name, crdFolder) {
			files = append(files, f)
		}
	}
	lines := make([]string, 0, len(files))
	for _, f := range files {
		lines = append(lines, fmt.Sprintf("%s %x\n", f.Name, sha256.Sum256(f.Data)))
	}
	slices.Sort(lines)
	for _, line := range lines {
		writeTo(sum, line)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func writeTo(sum hash.Hash, text string) { fmt.Fprint(sum, text) }
