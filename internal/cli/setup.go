package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
)

func (a *app) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "init",
		GroupID: "set",
		Short:   "Write a commented trainyard.yaml into this folder",
		Args:    usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			file, err := os.OpenFile(config.FileName, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // not a secret
			if errors.Is(err, fs.ErrExist) {
				return fault.WithHint("trainyard config shows what it says; remove it to begin anew",
					fmt.Errorf("writing %s: it is there already", config.FileName))
			}
			if err != nil {
				return fmt.Errorf("writing %s: %w", config.FileName, err)
			}
			if _, err := file.WriteString(config.Template()); err != nil {
				return errors.Join(fmt.Errorf("writing %s: %w", config.FileName, err), file.Close(), os.Remove(config.FileName))
			}
			_, _ = fmt.Fprintln(a.streams.Out, "wrote "+config.FileName)
			return file.Close()
		},
	}
}

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config [flags] [-- COMMAND...]",
		GroupID: "set",
		Short:   "Show the settings that train would use, and where each comes from",
		Long: `Show the settings that train would use with the same flags, as a run file, with
the origin of each in a comment.`,
		Args: commandAfterDash,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := loadConfig(cmd, args)
			if err != nil {
				return err
			}
			_, _ = fmt.Fprint(a.streams.Out, cfg.YAML())
			return nil
		},
	}
	addRunFileFlag(cmd)
	config.AddFlags(cmd.Flags())
	cmd.AddCommand(&cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of trainyard.yaml, for editors",
		Args:  usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			schema, err := config.Schema()
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintf(a.streams.Out, "%s\n", schema)
			return nil
		},
	})
	return cmd
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		GroupID: "set",
		Short:   "Print trainyard's version",
		Args:    usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, _ = fmt.Fprintln(a.streams.Out, "trainyard "+buildVersion())
			return nil
		},
	}
}
