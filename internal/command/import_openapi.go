package command

import (
	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/importer"
	"github.com/sallyport/sallyport/tools/browser"
	"github.com/sallyport/sallyport/tools/terminal"
)

func importOpenAPI(env *environment, f *flags) *cobra.Command {
	var o importer.DocumentOptions
	cmd := &cobra.Command{
		Use:   "openapi FILE",
		Short: "Turn an OpenAPI 3.0 or 3.1 document into http actions",
		Long: `Turn the operations of an OpenAPI 3.0 or 3.1 document, in YAML or JSON, into http
actions, and print them as a configuration file. Nothing is fetched. Standard
error says what was taken, left out and changed, and where.`,
		Example: `  sallyport import openapi petstore.yaml
  sallyport import openapi github.json --only issues --prefix gh_ --out github.yaml
  sallyport import openapi api.yaml --server https://api.example.com/v2 --secret key=providers/example/key`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) (err error) {
			if o.Actions.Taken, err = env.ownNames(); err == nil {
				o.Name = args[0]
				err = importer.ImportDocument(env.importEnvironment(f), &o)
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Actions.Server, "server", "", "the base `URL` of the paths; needed unless the document names exactly one")
	flags.StringVar(&o.Actions.Prefix, "prefix", "", "begin every id with `TEXT`")
	flags.StringArrayVar(&o.Actions.Only, "only", nil, "take only this `TAG|OPERATION`: a tag, an operationId, an id or \"GET /path\"; may be repeated")
	flags.StringArrayVar(&o.Actions.Permissions, "permission", nil, "require the permission `NAME` for every action, instead of the derived ones; may be repeated")
	flags.StringArrayVar(&o.Secrets, "secret", nil, "`SCHEME=REF`: use the secret with this reference for a security scheme; may be repeated")
	flags.StringVar(&o.Out, "out", "", "write to `FILE`, which must not exist, instead of standard output")
	return cmd
}

// ownNames lists the names of the tools of this program, which no action may
// have.
func (e *environment) ownNames() ([]string, error) {
	pages, _ := browser.New(nil) // It starts none.
	commands, err := terminal.New(nil)
	if err != nil {
		return nil, err
	}
	names := app.UnconnectedTools()
	for _, t := range append(app.BuiltinTools(commands, pages), e.Tools...) {
		names = append(names, t.Name)
	}
	return names, commands.Close()
}
