package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/trainyard/trainyard/test/awssim/sim"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// TestAWS runs the scripts of testdata/aws, each with a simulated AWS of its
// own: that of seed.json, if the script has one.
func TestAWS(t *testing.T) {
	s := newSurroundings(t)
	words := commands()
	maps.Copy(words, awsCommands())
	testscript.RunT(inTurn{t}, testscript.Params{
		Dir:  filepath.Join("testdata", "aws"),
		Cmds: words,
		Setup: func(env *testscript.Env) error {
			server, err := startAWS(env.T().(inTurn).T, filepath.Join(env.WorkDir, "seed.json"))
			if err != nil {
				return err
			}
			if err := s.setup(env); err != nil {
				return err
			}
			env.Vars = append(env.Vars, awsEnv(server, env.WorkDir)...)
			env.Values[awsKey{}] = server
			return nil
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

type awsKey struct{}

// startAWS starts the simulator with a seed, if there is such a file.
func startAWS(t *testing.T, seedFile string) (*sim.Server, error) {
	seed := world.Default()
	data, err := os.ReadFile(seedFile)
	if err == nil {
		err = json.Unmarshal(data, &seed)
	}
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("reading the seed: %w", err)
	}
	return sim.Start(t, seed), nil
}

// awsEnv leads to the simulator, and to no AWS of the user's.
func awsEnv(server *sim.Server, home string) []string {
	return append(server.Env(),
		"AWS_CONFIG_FILE="+filepath.Join(home, "aws-config"), "AWS_SHARED_CREDENTIALS_FILE="+filepath.Join(home, "aws-credentials"),
		"XDG_CACHE_HOME="+filepath.Join(home, ".cache"))
}

// awsCommands are the words that scripts with an AWS have besides:
//
//	conditions FILE
//	    Let AWS behave so from now on: latency, limits, faults.
//	advance DURATION
//	    Let time pass in AWS.
//	reserved N
//	    AWS has so many capacity reservations that cost money.
//	called ACTION N
//	    AWS was called so often.
func awsCommands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	server := func(ts *testscript.TestScript) *sim.Server { return ts.Value(awsKey{}).(*sim.Server) }
	return map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"conditions": func(ts *testscript.TestScript, _ bool, args []string) {
			var c world.Conditions
			ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &c))
			server(ts).World.SetConditions(c)
		},
		"advance": func(ts *testscript.TestScript, _ bool, args []string) {
			d, err := time.ParseDuration(args[0])
			ts.Check(err)
			server(ts).World.Clock.Advance(d)
		},
		"reserved": func(ts *testscript.TestScript, _ bool, args []string) {
			if got := fmt.Sprint(len(reservations(server(ts)))); got != args[0] {
				ts.Fatalf("AWS has %s reservations, want %s", got, args[0])
			}
		},
		"called": func(ts *testscript.TestScript, _ bool, args []string) {
			n := 0
			for _, c := range server(ts).Calls() {
				if c.Action == args[0] {
					n++
				}
			}
			if got := fmt.Sprint(n); got != args[1] {
				ts.Fatalf("%s was called %s times, want %s", args[0], got, args[1])
			}
		},
	}
}

// reservation is one that AWS still has.
type reservation struct {
	ReservationID, State string
	Tags                 []struct{ Key, Value string }
}

// reservations are those that cost money, or will.
func reservations(server *sim.Server) (held []reservation) {
	var state map[string]map[string]struct{ Reservations []reservation }
	if err := json.Unmarshal(server.State()["ec2"], &state); err != nil {
		panic(err)
	}
	for _, account := range state {
		for _, region := range account {
			for _, r := range region.Reservations {
				if slices.Contains([]string{"active", "assessing", "pending"}, r.State) {
					held = append(held, r)
				}
			}
		}
	}
	return held
}
