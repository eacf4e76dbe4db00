package capacity

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/trainyard/trainyard/internal/awsapi"
	"github.com/trainyard/trainyard/internal/instancetype"
	"github.com/trainyard/trainyard/internal/process"
	"github.com/trainyard/trainyard/test/awssim/sim"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// lab is a simulated AWS with our own program's way to it.
type lab struct {
	*sim.Server
	session *awsapi.Session
}

func newLab(t *testing.T, seed world.Seed) lab {
	t.Helper()
	server := sim.Start(t, seed)
	for _, pair := range server.Env() {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	t.Setenv("AWS_CONFIG_FILE", "/nonexistent")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
	session, err := awsapi.Load(t.Context(), awsapi.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return lab{server, session}
}

func typeOf(t *testing.T, name string) instancetype.Type {
	t.Helper()
	found, err := instancetype.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func needOf(t *testing.T, name string, nodes int) Need {
	t.Helper()
	return Need{Types: []instancetype.Type{typeOf(t, name)}, Nodes: nodes, Block: 24 * time.Hour}
}

var testMe = Me{Owner: "ada", Run: "run-1", Machine: "here", Process: process.Self()}

func (l lab) search(t *testing.T, need Need, regions ...string) Search {
	t.Helper()
	return Search{
		Session: l.session, Need: need, Regions: regions, Me: testMe, Scores: OpenScores(t.TempDir()),
		Deadline: 30 * time.Second, Now: l.World.Clock.Now,
	}
}

func (l lab) found(t *testing.T, need Need, regions ...string) Found {
	t.Helper()
	found, err := l.search(t, need, regions...).All(t.Context(), func(Region) {})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// rowIn is the row of a zone.
func rowIn(t *testing.T, rows []Row, zone string) Row {
	t.Helper()
	for _, r := range rows {
		if r.Zone == zone || r.Zone == "" && r.Region == zone {
			return r
		}
	}
	t.Fatalf("no row of %s in %d rows", zone, len(rows))
	return Row{}
}

// ended makes a context that has ended.
func ended(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
