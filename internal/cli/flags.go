package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
)

func addRunFileFlag(cmd *cobra.Command) {
	short := "f"
	if cmd.Flags().ShorthandLookup(short) != nil {
		short = "" // it means something else here
	}
	cmd.Flags().StringP("file", short, "", "`PATH` of the run file, instead of trainyard.yaml in this folder")
}

// addWhereFlags adds those that say where a run is.
func addWhereFlags(cmd *cobra.Command) {
	addRunFileFlag(cmd)
	config.AddFlags(cmd.Flags(), "target", "cluster.name", "kubernetes.context", "kubernetes.kubeconfig", "kubernetes.namespace")
}

// loadConfig merges flags, environment and run file.
func loadConfig(cmd *cobra.Command, args []string) (*config.Config, error) {
	return load(cmd, args, false)
}

// loadRemoteConfig does so for a command about a cluster elsewhere, whatever
// the target of train is.
func loadRemoteConfig(cmd *cobra.Command, args []string) (*config.Config, error) {
	return load(cmd, args, true)
}

func load(cmd *cobra.Command, args []string, remote bool) (*config.Config, error) {
	name, err := cmd.Flags().GetString("file")
	if err != nil {
		return nil, fmt.Errorf("reading flag --file: %w", err)
	}
	var data []byte
	if name == "" {
		name = config.FileName
		data, err = config.Find(".")
	} else {
		data, err = config.Read(name)
	}
	if err != nil {
		return nil, err
	}
	return config.Load(config.Sources{
		File: data, FileName: name, Env: os.LookupEnv, Flags: cmd.Flags(), Command: args,
		Remote: remote, Target: standardTarget(os.Args[0]),
	})
}

func addOutputFlag(cmd *cobra.Command, output *string, choices ...string) {
	cmd.Flags().StringVarP(output, "output", "o", choices[0], "`FORM` of the result: "+orList(choices))
}

func checkOutput(output string, choices ...string) error {
	return checkChoice("output", output, choices...)
}

func checkChoice(what, given string, choices ...string) error {
	if slices.Contains(choices, given) {
		return nil
	}
	return fault.WithCode(fault.Usage, fmt.Errorf("unknown %s %q: it is %s", what, given, orList(choices)))
}

// orList writes a, b or c.
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// printJSON writes v to standard output as indented JSON.
func (a *app) printJSON(v any) {
	encoder := json.NewEncoder(a.streams.Out)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(v) // the reader is gone, or it is a bug that a test finds
}
