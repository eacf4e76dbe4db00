package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/registry"
)

func (a *app) initCommand() *cobra.Command {
	pin := false
	cmd := &cobra.Command{
		Use:     "init",
		GroupID: "set",
		Short:   "Write a commented trainyard.yaml into this folder",
		Long: `Write a commented trainyard.yaml into this folder.

With --pin the registry is asked for the digest of the image that pods run, which
goes into the run file, new or there already: all pods of all runs then have the
same image, whatever its tag comes to mean. Done again, it takes up a rebuild.`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if pin {
				return a.pinImage(cmd)
			}
			if err := writeNew(config.FileName, config.Template()); err != nil {
				return err
			}
			_, _ = fmt.Fprintln(a.streams.Out, "wrote "+config.FileName)
			return nil
		},
	}
	cmd.Flags().BoolVar(&pin, "pin", false, "write the digest of the pods' image into the run file")
	config.AddFlags(cmd.Flags(), "cluster.image")
	return cmd
}

// writeNew writes a file that is not there yet.
func writeNew(name, text string) error {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // not a secret
	if errors.Is(err, fs.ErrExist) {
		return fault.WithHint("trainyard config shows what it says; remove it to begin anew",
			fmt.Errorf("writing %s: it is there already", name))
	}
	if err == nil {
		if _, err = file.WriteString(text); err != nil {
			err = errors.Join(err, os.Remove(name))
		}
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// pinImage writes the digest of the image that the settings name into the run
// file of this folder.
func (a *app) pinImage(cmd *cobra.Command) error {
	file, err := os.ReadFile(config.FileName)
	if errors.Is(err, fs.ErrNotExist) {
		file, err = []byte(config.Template()), nil
	}
	if err != nil {
		return fmt.Errorf("reading the run file: %w", err)
	}
	cfg, err := config.Load(config.Sources{File: file, FileName: config.FileName, Env: os.LookupEnv, Flags: cmd.Flags(), Remote: true})
	if err != nil {
		return err
	}
	image, err := registry.Pin(cmd.Context(), cfg.Cluster.Image)
	if err != nil {
		return err
	}
	edited, err := config.Edit(file, "cluster.image", image)
	if err != nil {
		return fault.WithHint("write it there yourself, in section cluster: image: "+image,
			fmt.Errorf("changing cluster.image in %s: %w", config.FileName, err))
	}
	if err := renameio.WriteFile(config.FileName, edited, 0o644, renameio.WithExistingPermissions()); err != nil {
		return fmt.Errorf("writing %s: %w", config.FileName, err)
	}
	_, _ = fmt.Fprintf(a.streams.Out, "%s: cluster.image is %s\n", config.FileName, image)
	return nil
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
