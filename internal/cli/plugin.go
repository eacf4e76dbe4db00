package cli

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/internal/config"
)

// pluginName is what the program is called after kubectl where kubectl runs it as
// its plug-in: it finds plug-ins by their file's name.
func pluginName(program string) (name string, isPlugin bool) {
	name, isPlugin = strings.CutPrefix(filepath.Base(program), "kubectl-")
	return strings.ReplaceAll(name, "_", "-"), isPlugin
}

// displayName says how the program is called in help, where kubectl called it.
func displayName(program string) map[string]string {
	name, isPlugin := pluginName(program)
	if !isPlugin {
		return nil
	}
	return map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl " + name}
}

// standardTarget is where kubectl's plug-in is about where nothing names a target;
// "" without kubectl.
func standardTarget(program string) string {
	if _, isPlugin := pluginName(program); isPlugin {
		return config.TargetKubernetes
	}
	return ""
}

// showStandardTarget does so in the help of all commands.
func showStandardTarget(root *cobra.Command, program string) {
	target := standardTarget(program)
	for _, cmd := range root.Commands() {
		showStandardTarget(cmd, program)
		if flag := cmd.Flags().Lookup("target"); flag != nil && target != "" {
			flag.DefValue = target
		}
	}
}
