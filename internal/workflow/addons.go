package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trainyard/trainyard/internal/addons"
	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/instancetype"
	"github.com/trainyard/trainyard/internal/kube"
	"github.com/trainyard/trainyard/internal/target/kubernetes"
)

// AddonsRequest says which add-ons, and in which cluster.
type AddonsRequest struct {
	Config *config.Config
	Names  []addons.Name // none: all that the cluster has a use for
	Charts addons.Source // where charts come from
	// Registry has the images; "": their own registries.
	Registry string

	// Timeout bounds the wait for what was installed to work; 0 does not wait.
	Timeout time.Duration
	// Force removes an operator though there is something that it looks after.
	Force bool
}

// names are the add-ons that are meant.
func (r AddonsRequest) names() []addons.Name {
	if len(r.Names) == 0 {
		return addons.Names()
	}
	return r.Names
}

// installing is an installation that goes on.
type installing struct {
	Workspace
	req     AddonsRequest
	cluster *kube.Cluster
	state   kubernetes.State
}

// InstallAddons installs add-ons and waits until they work: all nodes offer
// their devices, and the operator runs. What somebody else has installed is told
// and left alone. All charts are there before anything is changed.
func (w Workspace) InstallAddons(ctx context.Context, req AddonsRequest) (err error) {
	defer w.failedStep(&err)
	w.Story.Begin("look")
	in := installing{Workspace: w, req: req}
	if in.cluster, in.state, err = w.lookAround(ctx, req.Config); err != nil {
		return err
	}
	w.Story.Done("Kubernetes " + in.state.Version.Value.GitVersion + ", context " + in.state.Context)
	wanted, err := in.choose()
	if err != nil || len(wanted) == 0 {
		return err
	}
	w.Story.Begin("prepare")
	objects := map[addons.Name]addons.Set{}
	var titles []string
	for _, name := range wanted {
		w.Story.Update(name.Title() + " " + name.Version())
		if objects[name], err = addons.Objects(ctx, in.order(name)); err != nil {
			return err
		}
		titles = append(titles, name.Title()+" "+name.Version())
	}
	w.Story.Done(strings.Join(titles, ", "))
	var problems []error
	for _, name := range wanted {
		if err := in.install(ctx, name, objects[name]); err != nil {
			w.Story.Failed()
			problems = append(problems, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(problems...)
}

// lookAround connects to the settings' cluster, to the namespace of add-ons.
func (w Workspace) lookAround(ctx context.Context, cfg *config.Config) (*kube.Cluster, kubernetes.State, error) {
	access := w.access(cfg.Kubernetes)
	access.Namespace = addons.Namespace
	cluster, err := kube.Connect(access)
	if err != nil {
		return nil, kubernetes.State{}, err
	}
	state, err := kubernetes.LookAround(ctx, cluster)
	return cluster, state, err
}

// failedStep ends the step that an error ended.
func (w Workspace) failedStep(err *error) {
	if *err != nil {
		w.Story.Failed()
	}
}

// choose returns the add-ons to install, and tells why the others are not.
func (in installing) choose() ([]addons.Name, error) {
	var wanted []addons.Name
	var problems []error
	for _, s := range statusOf(in.state, in.req.names()) {
		switch s.State {
		case AddonMissing, AddonInstalled:
			wanted = append(wanted, s.Name)
		case AddonUnused:
			if len(in.req.Names) > 0 {
				wanted = append(wanted, s.Name) // nodes may come
				continue
			}
			in.Story.Note(fmt.Sprintf("%s: %s; for nodes to come: trainyard addons install %s", s.Name, s.What(), s.Name))
		case AddonFound, AddonBuiltIn:
			in.Story.Note(fmt.Sprintf("%s: %s, left alone", s.Name, s.What()))
			for _, f := range s.Lacking {
				in.Story.Warn(lackText(f) + "; " + f.Remedy)
			}
		case AddonUnknown:
			problems = append(problems, fmt.Errorf("installing the %s: whether one is there could not be read: %s", s.Title, s.Problem))
		}
	}
	return wanted, errors.Join(problems...)
}

// order is how an add-on is installed in this cluster.
func (in installing) order(name addons.Name) addons.Order {
	here, allGPU := in.state.NodeTypes()
	nodes := addons.Nodes{AllGPU: allGPU, GPUTypes: slices.Clone(here), EFATypes: nil}
	known := map[string]bool{}
	for _, t := range instancetype.All() {
		known[t.Name] = true
		nodes.GPUTypes = append(nodes.GPUTypes, t.Name)
		if t.EFA > 0 {
			nodes.EFATypes = append(nodes.EFATypes, t.Name)
		}
	}
	for _, t := range here { // newer than our table
		if !known[t] {
			nodes.EFATypes = append(nodes.EFATypes, t)
		}
	}
	for _, types := range []*[]string{&nodes.GPUTypes, &nodes.EFATypes} {
		slices.Sort(*types)
		*types = slices.Compact(*types)
	}
	return addons.Order{Addon: name, Charts: in.req.Charts, Registry: in.req.Registry, Nodes: nodes}
}

// install applies one add-on and waits for it.
func (in installing) install(ctx context.Context, name addons.Name, objects addons.Set) error {
	in.Story.Begin(string(name))
	did, err := addons.Install(ctx, in.cluster, name, objects)
	if err != nil {
		return err
	}
	text := ""
	if in.req.Timeout > 0 {
		if text, err = in.await(ctx, name); err != nil {
			return err
		}
		text = ": " + text
	}
	in.Story.Done(name.Title() + " " + name.Version() + text)
	if len(did.KeptCRDs) > 0 {
		in.Story.Note(fmt.Sprintf("%s of somebody else left as they are: %s; should their operator run outside of the cluster, remove ours",
			plural(len(did.KeptCRDs), "CustomResourceDefinition"), strings.Join(did.KeptCRDs, ", ")))
	}
	return nil
}

// lackText says of nodes what they lack.
func lackText(f kubernetes.Finding) string {
	const shown = 5
	nodes := f.Where
	if more := len(nodes) - shown; more > 0 {
		nodes = append(slices.Clone(nodes[:shown]), fmt.Sprintf("%d more", more))
	}
	return strings.Join(nodes, ", ") + ": " + f.What
}

// remedies attaches to an error what to do about each finding.
func remedies(err error, findings []kubernetes.Finding) error {
	for _, f := range findings {
		err = fault.WithHint(f.Remedy, err)
	}
	return err
}
