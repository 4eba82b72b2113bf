package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/granting"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/text"
)

func grantCommand(env *environment, f *flags, revoke bool) *cobra.Command {
	r := granting.Request{Revoke: revoke}
	var yes bool
	cmd := &cobra.Command{
		Use:   "grant SERVER|ROLE|TOOL",
		Short: "Let a server, role or tool touch more",
		Long: `Add folders, hosts, private addresses, secrets or programs to what an MCP server,
a role or a tool of the configuration may touch. The command edits the
configuration, where every other byte stays, and ` + app.LockName + `, both in one step.
It loads the result as check does, shows what changes, and asks. For a server or a
tool it also widens the role that lists it, where the role does not allow as much.

--host never adds a private address; --private adds one, with its port. Paths are
taken from the working folder, and named by ${workspace} where they lie in it.`,
		Example: `  sallyport grant notes --read docs --write docs/out
  sallyport grant researcher --host api.github.com
  sallyport grant browser --private 127.0.0.1:8080 --yes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Target, r.Program = args[0], env.ProgramName()
			return withLook(cmd.Context(), env, f, app.HoldPins, func(rt *app.Runtime) error {
				plan, err := granting.NewPlan(cmd.Context(), rt, f.config, &r)
				if err != nil {
					return usageError(err)
				}
				if ok, err := confirmPlan(env, f, plan, &r, yes); !ok {
					return err
				}
				if err := plan.Apply(cmd.Context(), rt); err != nil {
					return err
				}
				printUnlessJSON(env.newPrinter(f), "done")
				return nil
			})
		},
	}
	if revoke {
		cmd.Use, cmd.Short = "revoke SERVER|ROLE|TOOL", "Let a server, role or tool touch less"
		cmd.Long = `Take folders, hosts, private addresses, secrets or programs off what an MCP server,
a role or a tool of the configuration may touch. The command edits the
configuration, where every other byte stays, and ` + app.LockName + `, both in one step.
It loads the result as check does, shows what changes, and asks. A list that becomes
empty stays, and gives nothing.`
		cmd.Example = `  sallyport revoke notes --write docs/out
  sallyport revoke researcher --host api.github.com --yes`
	}
	cmd.Flags().StringArrayVar(&r.Read, "read", nil, "a folder or file `PATH` to read; may be repeated, like the following")
	cmd.Flags().StringArrayVar(&r.Write, "write", nil, "a folder or file `PATH` to write")
	cmd.Flags().StringArrayVar(&r.Hosts, "host", nil, "a public `HOST`, *.HOST or HOST:PORT")
	cmd.Flags().StringArrayVar(&r.Private, "private", nil, "a private `ADDRESS:PORT`")
	cmd.Flags().StringArrayVar(&r.Secrets, "secret", nil, "a secret `REF`")
	cmd.Flags().StringArrayVar(&r.Binaries, "bin", nil, "a `PROGRAM` by name or path")
	if !revoke {
		cmd.Flags().StringVar(&r.Role, "role", "", "widen this `ROLE` alone of those that list the server or tool")
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "make the change without a question")
	return cmd
}

// confirmPlan shows a plan and asks. ok is false when nothing is to be done.
func confirmPlan(env *environment, f *flags, plan *granting.Plan, r *granting.Request, yes bool) (ok bool, err error) {
	p := env.newPrinter(f)
	if p.JSON {
		if err := p.PrintJSON(plan); err != nil {
			return false, err
		}
	} else if plan.Empty() {
		p.PrintLine("%s may touch this already", plan.Target)
	}
	if plan.Empty() {
		return false, nil
	}
	printUnlessJSON(p, "%s", plan.Difference)
	for _, w := range plan.Warnings {
		fmt.Fprintf(env.Stderr, "sallyport: warning: %s\n", w)
	}
	switch {
	case yes:
		return true, nil
	case !env.canAsk(f):
		command := r.Command(r.Target) + text.RepeatFlag("config", f.config)
		return false, usageError(fmt.Errorf("nothing was changed: there is no terminal to ask at. To make this change: %s --yes", command))
	case !env.ask("write this?"):
		return false, &exitError{code: exitFailed, err: errors.New("nothing was changed")}
	}
	return true, nil
}

// printText prints text for a user, and nothing where JSON is wanted.
func printUnlessJSON(p *report.Printer, format string, args ...any) {
	if !p.JSON {
		p.PrintLine(format, args...)
	}
}
