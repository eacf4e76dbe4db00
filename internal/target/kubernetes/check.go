// Package kubernetes runs jobs on a Kubernetes cluster, in a RayCluster that the
// KubeRay operator makes.
//
// [Look] reads the state of a cluster, and [Judge], a pure function, says what of
// it stands in a job's way.
package kubernetes

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/trainyard/trainyard/internal/instancetype"
	"github.com/trainyard/trainyard/internal/kube"
)

// Need is what a run wants of a cluster.
type Need struct {
	Cluster        string            // name of the RayCluster
	Labels         map[string]string // of the RayCluster: whose it is
	Nodes          int               // worker pods, one a node
	Type           instancetype.Type // of the workers' nodes; without a name: any with GPUs
	Worker, Head   corev1.PodSpec    // what pods ask for and where they may go; a Head without containers is not judged
	OneZone        bool              // all workers must be in one zone, as EFA wants
	CUDA           string            // version in the image, "13.0.2"; empty: not known
	ServiceAccount string            // empty: the namespace's default
	Claims         []string          // PersistentVolumeClaims of the pods
	Secrets        []string          // Secrets of the pods
	Queue          string            // Kueue's local queue; empty: none
}

// Level is how bad a finding is.
type Level string

// Levels of findings, the worst first.
const (
	Problem Level = "problem" // a job will not run, or not as it should
	Unknown Level = "unknown" // could not be seen
	Warning Level = "warning" // a job may run, but
	OK      Level = "ok"
)

// Finding is something that was found out about a cluster.
type Finding struct {
	Level       Level    `json:"level"`
	Check       string   `json:"check"`                 // what was looked at, in a word or two
	What        string   `json:"what"`                  // what was found
	Where       []string `json:"where,omitempty"`       // nodes
	Consequence string   `json:"consequence,omitempty"` // what comes of it
	Remedy      string   `json:"remedy,omitempty"`      // a command, or what to do
	Addon       string   `json:"addon,omitempty"`       // name of the add-on whose installation alone is the remedy
}

// Judge says what of a cluster's state stands in a job's way, in the order in
// which one would look: every rule says something, so that silence is no pass.
func Judge(s State, n Need) []Finding {
	v := newView(s, n)
	var all []Finding
	for _, rule := range []func(view) []Finding{
		view.server, view.api, view.operators, view.namespace, view.name, view.quotas, view.account, view.secrets, view.claims, view.queue,
		view.permissions, view.addonRights, view.workerNodes, view.gpus, view.efa, view.pages, view.drivers, view.rivals, view.zones, view.room, view.headRoom,
	} {
		all = append(all, rule(v)...)
	}
	for i, f := range all {
		all[i].Addon = addonOf(f.Remedy)
	}
	if v.enough() {
		for i, f := range all {
			if f.Level == Problem && f.Consequence == noWorker {
				all[i].Level, all[i].Consequence = Warning, noWorker+"; there are enough other nodes"
			}
		}
	}
	return all
}

// addonOf is the add-on that a remedy installs, where that is all of it.
func addonOf(remedy string) string {
	return map[string]string{kube.InstallNVIDIA: "nvidia", kube.InstallEFA: "efa", kube.InstallKubeRay: "kuberay"}[remedy]
}

// noWorker is what comes of a node that does not offer what workers ask for.
const noWorker = "no worker goes there"

// enough tells whether all workers find nodes that offer what they ask for,
// though others may be there now.
func (v view) enough() bool {
	all := v.tallies()
	return len(all) > 0 && all[0].later() >= v.need.Nodes
}

// WorstFirst sorts findings by level; those of one level stay in their order.
func WorstFirst(findings []Finding) []Finding {
	order := []Level{Problem, Unknown, Warning, OK}
	sorted := slices.Clone(findings)
	slices.SortStableFunc(sorted, func(a, b Finding) int {
		return slices.Index(order, a.Level) - slices.Index(order, b.Level)
	})
	return sorted
}

// view is a state and a need with what several rules make of them.
type view struct {
	State
	need  Need
	ask   corev1.ResourceList // of a worker pod
	every []node              // of the cluster
	nodes []node              // those that workers are meant for
}

func (v view) gpusAsked() int { return count(v.ask, gpuResource) }
func (v view) efaAsked() int  { return count(v.ask, efaResource) }

func newView(s State, n Need) view {
	v := view{State: s, need: n, ask: requests(&n.Worker)}
	types := map[string]instancetype.Type{}
	for _, t := range instancetype.All() {
		types[t.Name] = t
	}
	for i := range s.Nodes.Value {
		it := newNode(&s.Nodes.Value[i], s, types)
		v.every = append(v.every, it)
		if v.wants(it) {
			v.nodes = append(v.nodes, it)
		}
	}
	return v
}

// wants tells whether a node is one of those that the run is meant for: of the
// right type, or with GPUs where no type is named and workers ask for some.
func (v view) wants(it node) bool {
	if v.need.Type.Name != "" {
		return it.typeName == v.need.Type.Name
	}
	return it.hasGPUs || v.gpusAsked() == 0
}

func ok(check, what string, args ...any) []Finding {
	return []Finding{{Level: OK, Check: check, What: fmt.Sprintf(what, args...)}}
}

// unseen is the finding where a part could not be read.
func unseen(check string, err error, consequence, remedy string) []Finding {
	return []Finding{{Level: Unknown, Check: check, What: "could not be read: " + reason(err), Consequence: consequence, Remedy: remedy}}
}

// reason is an error of the API server in brief.
func reason(err error) string {
	if apierrors.IsForbidden(err) {
		// 'nodes is forbidden: User "x" cannot list resource "nodes" in API group "" at the cluster scope'
		if _, cannot, found := strings.Cut(err.Error(), ": User "); found {
			return "user " + cannot
		}
	}
	return err.Error()
}

// fold says the same of several nodes once, with all their names.
func fold(nodes []node, say func(node) (Finding, bool)) []Finding {
	var all []Finding
	for _, it := range nodes {
		f, says := say(it)
		if !says {
			continue
		}
		i := slices.IndexFunc(all, func(other Finding) bool {
			return other.Level == f.Level && other.What == f.What && other.Remedy == f.Remedy
		})
		if i < 0 {
			i = len(all)
			all = append(all, f)
		}
		all[i].Where = append(all[i].Where, it.Name)
	}
	for i := range all {
		all[i].Remedy = strings.ReplaceAll(all[i].Remedy, theseNodes, nodeArguments(all[i].Remedy, all[i].Where, nodes))
	}
	return all
}

// theseNodes stands in a remedy for the nodes of its finding, as arguments of
// kubectl.
const theseNodes = "{nodes}"

// manyNodes is how many nodes are named one by one.
const manyNodes = 6

// nodeArguments names nodes for kubectl: by the label of their type where they
// are many and it is no harm that others of the type are meant, too.
func nodeArguments(command string, names []string, nodes []node) string {
	if len(names) <= manyNodes {
		return strings.Join(names, " ")
	}
	types := map[string]bool{}
	for _, it := range nodes {
		if slices.Contains(names, it.Name) {
			types[it.typeName] = true
		}
	}
	if only := slices.Collect(maps.Keys(types)); len(only) == 1 && only[0] != "" && strings.HasPrefix(command, "kubectl label ") {
		return "-l " + corev1.LabelInstanceTypeStable + "=" + only[0]
	}
	return strings.Join(names[:manyNodes], " ") + " ..."
}

var commands = regexp.MustCompile(`\bkubectl\b|\btrainyard (check|addons install)\b`)

// WithFlags adds flags, such as --context, to the commands of all remedies, so
// that they reach the cluster that was looked at.
func WithFlags(findings []Finding, flags string) []Finding {
	if flags == "" {
		return findings
	}
	aimed := slices.Clone(findings)
	for i := range aimed {
		aimed[i].Remedy = commands.ReplaceAllString(aimed[i].Remedy, "$0 "+strings.ReplaceAll(flags, "$", "$$"))
	}
	return aimed
}
