package workflow

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/trainyard/trainyard/fabric"
	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/evidence"
	"github.com/trainyard/trainyard/internal/instancetype"
	"github.com/trainyard/trainyard/internal/rayjob"
)

// readCounters writes down what RDMA cards have counted before the job: this
// machine's, or those of every node of a cluster elsewhere. That they cannot be
// read ends no run.
func (t *training) readCounters(ctx context.Context, ray *rayjob.Client) {
	var err error
	if t.run.Info.Target == config.TargetKubernetes {
		t.Story.Update("looking at the nodes")
		var nodes []evidence.Survey
		if nodes, err = t.survey(ctx, ray, t.run.Info.SubmissionID); err == nil {
			err = evidence.SaveSurveys(t.run.SurveyPath(true), nodes)
		}
	} else {
		var cards []evidence.CardReading
		if cards, err = evidence.ReadCards(evidence.SysFS); err == nil && len(cards) > 0 {
			err = evidence.SaveCards(t.run.CountersPath(), cards)
		}
	}
	if err != nil && ctx.Err() == nil {
		t.Story.Warn(err.Error())
	}
}

// recallCounters fetches what was written down before a job that was started
// elsewhere.
func (f *following) recallCounters(ctx context.Context) {
	path := f.run.SurveyPath(true)
	if _, err := os.Stat(path); err == nil || f.run.Info.Target != config.TargetKubernetes {
		return
	}
	nodes, err := recall(ctx, f.client, f.run.Info.SubmissionID)
	if err == nil {
		err = evidence.SaveSurveys(path, nodes)
	}
	if err != nil && ctx.Err() == nil {
		f.Story.Note("the network cards' counters will not be compared: " + err.Error())
	}
}

// readMachines compares with what the cards have counted by now. Of machines
// whose cards nobody here can read, the ranks of the built-in training tell.
func (f *following) readMachines(ctx context.Context) []fabric.Machine {
	read := f.readLocal
	if f.run.Info.Target == config.TargetKubernetes {
		read = func() ([]fabric.Machine, error) { return f.readNodes(ctx) }
	}
	machines, err := read()
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(machines) == 0 {
		machines, err = f.lines.Machines(), nil
	}
	if err != nil && ctx.Err() == nil {
		f.Story.Warn(err.Error())
	}
	return typed(machines, f.gatherer.Nodes(), f.facts.InstanceType)
}

// typed adds what instance type the nodes of the job are, where that is known.
func typed(machines []fabric.Machine, nodes []string, instanceType string) []fabric.Machine {
	kind, err := instancetype.Lookup(instanceType)
	if err != nil {
		return machines
	}
	for _, node := range nodes {
		at := slices.IndexFunc(machines, func(m fabric.Machine) bool { return m.Name == node })
		if at < 0 {
			at = len(machines)
			machines = append(machines, fabric.Machine{Name: node})
		}
		machines[at].InstanceType, machines[at].NICs = kind.Name, kind.EFA
	}
	return machines
}

// readLocal reads this machine's cards, which all local nodes share.
func (f *following) readLocal() ([]fabric.Machine, error) {
	before, err := evidence.LoadCards(f.run.CountersPath())
	if err != nil {
		return nil, err
	}
	after, err := evidence.ReadCards(evidence.SysFS)
	if err != nil {
		return nil, err
	}
	counters := evidence.Growth(before, after)
	var machines []fabric.Machine
	for _, node := range f.gatherer.Nodes() {
		machines = append(machines, fabric.Machine{Name: node, Counters: counters})
	}
	return machines, nil
}

// readNodes looks at every node once more.
func (f *following) readNodes(ctx context.Context) ([]fabric.Machine, error) {
	before, err := evidence.LoadSurveys(f.run.SurveyPath(true))
	if err != nil {
		return nil, err
	}
	f.Story.Update("looking at the nodes")
	after, err := f.survey(ctx, f.client, f.run.Info.SubmissionID)
	if err != nil {
		return nil, err
	}
	return evidence.Grown(before, after), evidence.SaveSurveys(f.run.SurveyPath(false), after)
}
