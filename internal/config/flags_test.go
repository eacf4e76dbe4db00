package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func TestFlagGroups(t *testing.T) {
	fs := pflag.NewFlagSet("train", pflag.ContinueOnError)
	AddFlags(fs)
	fs.Bool("detach", false, "return once the job runs")
	fs.SortFlags = false
	var b strings.Builder
	for title, part := range FlagGroups(fs) {
		b.WriteString(title + ":\n" + part.FlagUsagesWrapped(80))
	}
	golden(t, "testdata/rendered/flags.golden", b.String())
}

func TestAddFlagsOfSomeKeys(t *testing.T) {
	fs := pflag.NewFlagSet("down", pflag.ContinueOnError)
	AddFlags(fs, "target", "python")
	var got []string
	fs.VisitAll(func(f *pflag.Flag) { got = append(got, f.Name) })
	if diff := cmp.Diff([]string{"python", "target", "torch-index"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A flag of the same name that belongs to someone else is not a setting.
func TestForeignFlag(t *testing.T) {
	fs := pflag.NewFlagSet("x", pflag.ContinueOnError)
	fs.Int("steps", 7, "")
	if err := fs.Parse([]string{"--steps=9"}); err != nil {
		t.Fatal(err)
	}
	c, err := Load(Sources{Flags: fs})
	if err != nil {
		t.Fatal(err)
	}
	if c.Train.Steps != 0 {
		t.Errorf("steps %d from a foreign flag", c.Train.Steps)
	}
}

func TestBoolFlags(t *testing.T) {
	for arg, want := range map[string]bool{"--keep": true, "--keep=true": true, "--keep=false": false} {
		c, err := load(t, nil, []string{arg}, map[string]string{"TRAINYARD_KEEP": "true"})
		if err != nil || c.Cluster.Keep != want {
			t.Errorf("%s: %+v, %v", arg, c, err)
		}
	}
}
