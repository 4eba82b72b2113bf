package command

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/page"
	"github.com/sallyport/sallyport/internal/signin"
)

func pageCommand(env *environment, f *flags) *cobra.Command {
	var name, base string
	var reader bool
	cmd := &cobra.Command{
		Use:   "page",
		Short: "Print a link that opens the operator's page",
		Long: `Print a link that opens the operator's page of a running server in a browser. The
link signs a person in once, within ten minutes, for twelve hours. The person may
look, decide about held calls and stop calls; with --read-only, look. What the person
decides is recorded under the name page:NAME. Do not send a link through an agent.`,
		Example: `  sallyport page
  sallyport page --name alice --read-only
  sallyport page end`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			who, err := signin.NewPerson(name, reader)
			if err != nil {
				return usageError(err)
			}
			return withRuntime(cmd.Context(), env, f, app.OpenForRecord, func(rt *app.Runtime) error {
				link, err := page.NewLink(cmd.Context(), rt, who, base)
				if err != nil {
					return err
				}
				return env.newPrinter(f).PrintAnswer(link, "%s\nsigns in %s once, until %s", link.URL, link.Name, link.Expires.Local().Format(time.TimeOnly))
			})
		},
	}
	cmd.Flags().StringVar(&name, "name", sallyport.LocalPrincipal, "the `NAME` of the person")
	cmd.Flags().BoolVar(&reader, "read-only", false, "the person may look, and decide and stop nothing")
	cmd.Flags().StringVar(&base, "url", "", "the `URL` at which the person reaches the server (default: page_url of the configuration, or where serve listens)")
	cmd.AddCommand(pageEnd(env, f))
	return cmd
}

func pageEnd(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "end [NAME]",
		Short: "End the sign-ins of a person, or of all",
		Long: `End the sign-ins and unused links of a person, or of all: by a link or a token as
NAME, through a provider as oidc:NAME. Open pages close within a second.`,
		Example: `  sallyport page end alice
  sallyport page end oidc:alice`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withRuntime(cmd.Context(), env, f, app.OpenForRecord, func(rt *app.Runtime) error {
				name := ""
				if len(args) > 0 {
					name = args[0]
					if _, err := signin.NewPerson(strings.TrimPrefix(name, signin.Prefix), true); err != nil && (!strings.HasPrefix(name, auth.OIDCPrefix) || name == auth.OIDCPrefix) {
						return usageError(err)
					}
					name = strings.TrimPrefix(name, signin.Prefix)
				}
				n, err := page.EndSignIns(cmd.Context(), rt, name)
				if err != nil {
					return err
				}
				return env.newPrinter(f).PrintAnswer(map[string]int{"ended": n}, "ended %d sign-ins and links", n)
			})
		},
	}
}
