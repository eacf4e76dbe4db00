package local

import (
	"context"
	"errors"

	"github.com/trainyard/trainyard/internal/process"
	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/internal/target"
)

// Cluster is a cluster of this machine as every target's are used.
type Cluster struct {
	store  Store
	record Record
}

var _ target.Cluster = Cluster{}

// Cluster is the cluster that a record tells of.
func (s Store) Cluster(r Record) Cluster { return Cluster{store: s, record: r} }

// ID names the cluster among those of this user and machine.
func (c Cluster) ID() string { return c.record.ID }

// Endpoint is on this machine's loopback interface.
func (c Cluster) Endpoint() target.Endpoint { return c.record.Endpoint }

// Facts of the cluster.
func (c Cluster) Facts() target.Facts { return c.record.Facts() }

// LogReader asks the nodes' agents, which read a file on from any place: much
// cheaper than the dashboard, which begins at the start each time.
func (c Cluster) LogReader(ray *rayjob.Client) rayjob.LogReader {
	return rayjob.AgentLogs{Client: ray, Agent: func(n rayjob.Node) string { return c.record.Agents[n.Name] }}
}

// Lost has nothing to watch: where the head is gone, its API is.
func (c Cluster) Lost(context.Context) error { return nil }

// Detach writes down that no process answers for the cluster.
func (c Cluster) Detach() error {
	_, err := c.store.Change(c.record.ID, func(r *Record) error {
		r.Holder, r.Owner = Detached, process.ID{}
		return nil
	})
	return err
}

// Keep writes down that the next run may take the cluster, if it is whole.
func (c Cluster) Keep(ctx context.Context) error {
	if !Whole(ctx, c.record) {
		return errors.New("a part of it is gone")
	}
	_, err := c.store.Change(c.record.ID, func(r *Record) error {
		r.Holder, r.Owner, r.RunDir = KeptForUse, process.ID{}, ""
		return nil
	})
	return err
}

// End kills the cluster's processes and removes its folders.
func (c Cluster) End(ctx context.Context, _ func(string)) error { return c.store.End(ctx, c.record) }
