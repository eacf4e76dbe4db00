package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/internal/config"
)

// helpWidth is the columns that help is laid out for.
const helpWidth = 80

// printHelp writes what a command is for, and how to use it.
func printHelp(cmd *cobra.Command, _ []string) {
	_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n%s", strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)), usageText(cmd))
}

func printUsage(cmd *cobra.Command) error {
	_, err := fmt.Fprint(cmd.OutOrStderr(), usageText(cmd))
	return err
}

func usageText(cmd *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s\n", cmd.UseLine())
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	for _, group := range cmd.Groups() {
		fmt.Fprintf(&b, "\n%s\n", group.Title)
		for _, sub := range cmd.Commands() {
			if sub.GroupID == group.ID && sub.IsAvailableCommand() {
				fmt.Fprintf(&b, "  %-12s %s\n", sub.Name(), sub.Short)
			}
		}
	}
	for _, sub := range cmd.Commands() {
		if sub.GroupID == "" && sub.IsAvailableCommand() {
			fmt.Fprintf(&b, "  %-12s %s\n", sub.Name(), sub.Short)
		}
	}
	flags := cmd.LocalNonPersistentFlags()
	for title, group := range config.FlagGroups(flags) {
		fmt.Fprintf(&b, "\n%s:\n%s", cmp.Or(title, "Flags"), group.FlagUsagesWrapped(helpWidth))
	}
	if cmd.HasAvailablePersistentFlags() || cmd.HasAvailableInheritedFlags() {
		all := cmd.Root().PersistentFlags()
		fmt.Fprintf(&b, "\nEverywhere:\n%s", all.FlagUsagesWrapped(helpWidth))
	}
	return b.String()
}
