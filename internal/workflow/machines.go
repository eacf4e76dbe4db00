package workflow

import (
	"errors"
	"io/fs"

	"github.com/trainyard/trainyard/fabric"
	"github.com/trainyard/trainyard/internal/evidence"
)

// readCounters writes down what this machine's RDMA cards have counted before
// the job. That they cannot be read ends no run.
func (t *training) readCounters() {
	cards, err := evidence.ReadCards(evidence.SysFS)
	if err == nil && len(cards) > 0 {
		err = evidence.SaveCards(t.run.CountersPath(), cards)
	}
	if err != nil {
		t.Story.Warn(err.Error())
	}
}

// readMachines compares with what the cards have counted by now. All local
// nodes share the machine's cards. Of machines whose cards nobody here can
// read, the ranks of the built-in training tell.
func (f *following) readMachines() []fabric.Machine {
	before, err := evidence.LoadCards(f.run.CountersPath())
	if errors.Is(err, fs.ErrNotExist) {
		return f.lines.Machines()
	}
	after, err2 := evidence.ReadCards(evidence.SysFS)
	if err = errors.Join(err, err2); err != nil {
		f.Story.Warn(err.Error())
		return nil
	}
	counters := evidence.Growth(before, after)
	var machines []fabric.Machine
	for _, node := range f.gatherer.Nodes() {
		machines = append(machines, fabric.Machine{Name: node, Counters: counters})
	}
	return machines
}
