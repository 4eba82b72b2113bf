package command

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/fsx"
)

func initCommand(env *environment, f *flags) *cobra.Command {
	var preset string
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a commented " + app.ConfigName,
		Long: `Write a commented ` + app.ConfigName + ` that passes check. It never overwrites a
file. The presets, from the narrowest to the widest: ` + strings.Join(config.PresetNames(), ", ") + `.`,
		Example: `  sallyport init
  sallyport init --preset locked`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := config.Preset(preset)
			if err != nil {
				return usageError(err)
			}
			path := filepath.Join(env.Dir, app.ConfigName)
			if len(f.config) > 1 {
				return usageError(errors.New("init writes one file: give --config once"))
			}
			if len(f.config) == 1 {
				path = f.config[0]
				if !filepath.IsAbs(path) {
					path = filepath.Join(env.Dir, path)
				}
			}
			if err := fsx.WriteNew(path, text); err != nil {
				return usageError(err)
			}
			p := env.newPrinter(f)
			if p.JSON {
				return p.PrintJSON(map[string]string{"file": path, "preset": preset})
			}
			p.PrintLine("wrote %s (preset %s)", path, preset)
			p.PrintLine("next: sallyport check, then sallyport serve")
			return nil
		},
	}
	cmd.Flags().StringVar(&preset, "preset", config.DefaultPreset, "what to allow: `"+strings.Join(config.PresetNames(), "|")+"`")
	return cmd
}
