package command

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/project"
)

func initCommand(env *environment, f *flags) *cobra.Command {
	var preset string
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a commented " + app.ConfigName,
		Long: `Write a commented ` + app.ConfigName + ` that passes check. It never overwrites a
file. The presets, from the narrowest to the widest: ` + strings.Join(config.PresetNames(), ", ") + `.

The folder .sallyport beside the file holds state and key. The command adds it to
.gitignore, and writes the schema there with which editors complete keys.`,
		Example: `  sallyport init
  sallyport init --preset locked`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			path := app.ConfigName
			if len(f.config) > 1 {
				return errors.New("init writes one file: give --config once")
			}
			if len(f.config) == 1 {
				path = f.config[0]
			}
			path = fsx.Absolute(env.Dir, path)
			env.warnOfMachine(f)
			started, err := project.Start(path, preset)
			if err != nil {
				return err
			}
			p := env.newPrinter(f)
			if p.JSON {
				return p.PrintJSON(struct {
					*project.Started
					Preset string `json:"preset"`
				}{started, preset})
			}
			p.PrintLine("wrote %s (preset %s)", path, preset)
			if started.Ignore != "" {
				p.PrintLine("wrote a line for state and key to %s", started.Ignore)
			}
			next := "then " + env.ProgramName() + " serve"
			if preset == config.TeamPreset {
				next = "and the steps at the top of the file"
			}
			p.PrintLine("next: %s check, %s", env.ProgramName(), next)
			return nil
		},
	}
	cmd.Flags().StringVar(&preset, "preset", config.DefaultPreset, "what to allow: `"+strings.Join(config.PresetNames(), "|")+"`")
	return cmd
}
