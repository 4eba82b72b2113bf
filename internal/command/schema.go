package command

import (
	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/project"
)

func schemaCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration",
		Long: `Print the JSON Schema of ` + app.ConfigName + `, with which editors complete keys and
show what they mean. init writes it to ` + project.SchemaFile + `, and the first line
of the file that it writes names it to editors.`,
		Example: `  sallyport schema > ` + project.SchemaFile,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := config.Schema()
			if err != nil {
				return err
			}
			_, err = env.stdout.Write(text)
			return err
		},
	}
}
