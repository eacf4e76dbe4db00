package capacity

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/trainyard/trainyard/internal/awsapi"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/test/awssim/world"
)

func TestRegionNames(t *testing.T) {
	l := newLab(t, world.Default())
	for names, want := range map[string]string{
		"us-esat-1":           `unknown region "us-esat-1" (did you mean us-east-1?)`,
		"us-esat-1,eu-wset-1": "unknown region \"us-esat-1\" (did you mean us-east-1?)\nunknown region \"eu-wset-1\" (did you mean eu-west-1?)",
		"us-east-9":           `unknown region "us-east-9" (did you mean us-east-1?)`, // AWS must say so
	} {
		_, err := l.search(t, needOf(t, "g6.12xlarge", 2), strings.Split(names, ",")...).All(t.Context(), func(Region) {})
		if fault.CodeOf(err) != fault.Usage || fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", names, err, want)
		}
	}
	rows := l.found(t, needOf(t, "g6.12xlarge", 2), "us-east-1", "us-gov-west-1", "cn-north-1").Rows()
	for _, name := range []string{"us-gov-west-1", "cn-north-1"} {
		if r := rowIn(t, rows, name); !strings.Contains(r.Skipped, "partition") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := rowIn(t, rows, "us-east-1d"); r.Skipped != "" {
		t.Errorf("the region that can be asked was not: %+v", r)
	}
}

// TestOwnRegion: the region of AWS's configuration decides nothing but the
// partition, and is a name, too.
func TestOwnRegion(t *testing.T) {
	l := newLab(t, world.Default())
	l.session.Region = "eu-south-2" // which the account has not enabled
	if r := rowIn(t, l.found(t, needOf(t, "g6.12xlarge", 2), "us-east-1").Rows(), "us-east-1d"); r.Quota == nil {
		t.Errorf("row %+v", r)
	}
	for _, wrong := range []string{"us-esat-1", "us-east-9"} {
		l.session.Region = wrong
		_, err := l.search(t, needOf(t, "g6.12xlarge", 2), "us-east-1").All(t.Context(), func(Region) {})
		if fault.CodeOf(err) != fault.Usage || !strings.Contains(fmt.Sprint(err), "did you mean us-east-1?") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// TestHomeTrouble: where one region cannot be reached, others can be asked; its
// own rows say why it was not, and what only it knows is not known.
func TestHomeTrouble(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "2")
	for _, kind := range []world.FaultKind{world.Drop, world.Hang} {
		l := newLab(t, one(func(_ *world.AccountSeed, s *world.Seed) {
			s.Conditions.Faults = []world.Fault{{Region: "us-east-1", Kind: kind}}
		}))
		search := l.search(t, needOf(t, "g6.12xlarge", 2), "us-west-2")
		search.Deadline = time.Second
		if r := rowIn(t, mustFind(t, search).Rows(), "us-west-2a"); r.Quota == nil || r.Problems[Price] == "" {
			t.Errorf("%s elsewhere: %+v", kind, r)
		}
		search.Regions = []string{"us-east-1", "us-west-2"}
		found := mustFind(t, search)
		if r := rowIn(t, found.Rows(), "us-west-2a"); r.Quota == nil || found.Guessed == "" {
			t.Errorf("%s of the first region: %+v, guessed %q", kind, r, found.Guessed)
		}
		if r := rowIn(t, found.Rows(), "us-east-1"); r.Problems[Offered] == "" {
			t.Errorf("%s: %+v", kind, r)
		}
	}
}

// TestNothingReached: where no region can be reached, that is all there is to say.
func TestNothingReached(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	l := newLab(t, one(func(_ *world.AccountSeed, s *world.Seed) { s.Conditions.Faults = []world.Fault{{Kind: world.Drop}} }))
	_, err := l.search(t, needOf(t, "g6.12xlarge", 2), "us-west-2").All(t.Context(), func(Region) {})
	if awsapi.KindOf(err) != awsapi.Unreachable || len(fault.HintsOf(err)) == 0 {
		t.Errorf("%v is %q, hints %q", err, awsapi.KindOf(err), fault.HintsOf(err))
	}
}

// TestRegionsDenied: who may not list regions asks those that all accounts have.
func TestRegionsDenied(t *testing.T) {
	l := newLab(t, one(func(a *world.AccountSeed, _ *world.Seed) {
		a.ServiceControl = []byte(`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "NotAction": "ec2:DescribeRegions", "Resource": "*"}]}`)
	}))
	found := l.found(t, needOf(t, "g6.12xlarge", 2))
	if found.Guessed == "" || len(found.Regions) != len(awsapi.DefaultRegions("us-east-1")) {
		t.Errorf("asked %d regions, guessed %q", len(found.Regions), found.Guessed)
	}
}

// TestNamedRegionsDenied: nor are their names taken for wrong.
func TestNamedRegionsDenied(t *testing.T) {
	l := newLab(t, one(func(a *world.AccountSeed, _ *world.Seed) {
		a.OptedIn = []string{"eu-south-2"}
		a.ServiceControl = []byte(`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "NotAction": "ec2:DescribeRegions", "Resource": "*"}]}`)
	}))
	if found := l.found(t, needOf(t, "g6.12xlarge", 2), "us-east-2", "eu-south-2"); len(found.Regions) != 2 || len(found.Others) != len(awsapi.DefaultRegions("us-east-1"))-1 {
		t.Errorf("asked %d regions, looked around in %d", len(found.Regions), len(found.Others))
	}
}

// TestHangingRegion: a region that does not answer costs its own row.
func TestHangingRegion(t *testing.T) {
	l := newLab(t, one(func(_ *world.AccountSeed, s *world.Seed) {
		s.Conditions.Faults = []world.Fault{{Region: "eu-west-1", Kind: world.Hang}}
	}))
	search := l.search(t, needOf(t, "g6.12xlarge", 2), "eu-west-1", "us-east-1")
	search.Deadline = time.Second
	rows := mustFind(t, search).Rows()
	if r := rowIn(t, rows, "eu-west-1"); r.Problems[Offered] != "no answer within 1s" {
		t.Errorf("the region that hangs: %+v", r)
	}
	if r := rowIn(t, rows, "us-east-1d"); r.Quota == nil {
		t.Errorf("another region suffers: %+v", r)
	}
}
