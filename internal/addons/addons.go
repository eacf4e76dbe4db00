// Package addons installs in a Kubernetes cluster what jobs with GPUs need and a
// cluster may lack: the device plugins of NVIDIA and EFA, and KubeRay.
//
// NVIDIA's and KubeRay's objects come from their makers' Helm charts, rendered by
// Helm's engine; EFA's are a manifest of our own. All are applied as everything
// else of ours: server-side, labelled, found again by label alone. No record is
// kept, so an installation that was interrupted, or that two people make at once,
// is just made again.
package addons

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/spelling"
)

// Name is what an add-on is called on the command line.
type Name string

// The add-ons.
const (
	NVIDIA  Name = "nvidia"
	EFA     Name = "efa"
	KubeRay Name = "kuberay"
)

// Names returns all add-ons, in the order in which they are installed.
func Names() []Name { return []Name{NVIDIA, EFA, KubeRay} }

// Namespace is where add-ons go: it is there in every cluster, and pods of
// class system-node-critical are allowed in it.
const Namespace = "kube-system"

// Versions of what is installed.
const (
	nvidiaVersion  = "0.19.3"
	efaVersion     = "v0.5.20"
	kubeRayVersion = "1.6.2"
)

// Title is what people call an add-on.
func (n Name) Title() string {
	return map[Name]string{NVIDIA: "NVIDIA device plugin", EFA: "EFA device plugin", KubeRay: "KubeRay operator"}[n]
}

// Version is the one that Install installs.
func (n Name) Version() string {
	return map[Name]string{NVIDIA: nvidiaVersion, EFA: efaVersion, KubeRay: kubeRayVersion}[n]
}

// Parse reads names as a person writes them, each once, in the order of [Names].
// Its error tells of every unknown one.
func Parse(words []string) ([]Name, error) {
	var known []string
	for _, name := range Names() {
		known = append(known, string(name))
	}
	var problems []error
	for _, word := range words {
		if slices.Contains(known, word) {
			continue
		}
		text := fmt.Sprintf("unknown add-on %q", word)
		if near := spelling.Nearest(strings.ToLower(word), known); near != "" {
			text += fmt.Sprintf(" (did you mean %s?)", near)
		}
		problems = append(problems, fmt.Errorf("%s; there are %s", text, strings.Join(known, ", ")))
	}
	if len(problems) > 0 {
		return nil, fault.WithCode(fault.Usage, errors.Join(problems...))
	}
	return slices.DeleteFunc(Names(), func(n Name) bool { return !slices.Contains(words, string(n)) }), nil
}
