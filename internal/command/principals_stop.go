package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/report"
)

// switchTarget is what stop and start act on: a principal, one of its sessions, a
// tool or an MCP server for every principal, or everything.
type switchTarget struct {
	session, tool, server string
	everything            bool
}

func (t *switchTarget) registerFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.session, "session", "", "only the session `ID` of the principal")
	cmd.Flags().StringVar(&t.tool, "tool", "", "the `TOOL`, for every caller, instead of a principal")
	cmd.Flags().StringVar(&t.server, "server", "", "the MCP `SERVER`, for every caller, instead of a principal")
	cmd.Flags().BoolVar(&t.everything, "everything", false, "all calls of every caller")
	cmd.MarkFlagsMutuallyExclusive("session", "tool", "server", "everything")
}

// parseTarget returns the kind and name of the switch.
func (t *switchTarget) parseTarget(args []string) (kind auth.SwitchKind, name string, err error) {
	switch {
	case (t.tool != "" || t.server != "" || t.everything) && (len(args) > 0 || t.session != ""):
		return "", "", errors.New("--tool, --server and --everything are for every caller: leave out the principal and --session")
	case t.everything:
		return auth.SwitchEverything, auth.Everything, nil
	case t.server != "":
		return auth.SwitchServer, t.server, nil
	case t.tool != "":
		return auth.SwitchTool, t.tool, nil
	case len(args) == 0:
		return "", "", errors.New("expected the NAME of a principal, --tool TOOL, --server SERVER or --everything")
	case t.session != "":
		return auth.SwitchSession, sallyport.SessionKey(args[0], t.session), nil
	default:
		return auth.SwitchPrincipal, args[0], nil
	}
}

func principalsStop(env *environment, f *flags) *cobra.Command {
	var t switchTarget
	var reason string
	cmd := &cobra.Command{
		Use:   "stop [NAME]",
		Short: "Stop a principal, a session, a tool, an MCP server or everything",
		Long: `Refuse further calls until start: those of a principal or of one of its sessions,
those of a tool or an MCP server for every caller, or all calls. It takes effect
at once in every process that uses the state. What runs ends within a second:
calls, background processes, MCP servers, streams. Each end is in the record. You
can also stop the local user and names of an issuer (oidc:...).`,
		Example: `  sallyport principals stop ci-agent --reason "token in a public log"
  sallyport principals stop ci-agent --session 8f2c
  sallyport principals stop --tool terminal
  sallyport principals stop --everything`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			kind, name, err := t.parseTarget(args)
			if err != nil {
				return err
			}
			return withCallers(cmd.Context(), env, f, true, func(rt *app.Runtime) error {
				// A switch for an unknown name would stop nothing.
				if kind == auth.SwitchServer && !slices.ContainsFunc(rt.InForce().Config.Servers, func(p config.Part) bool { return p.ID == name }) {
					fmt.Fprintf(env.Stderr, "sallyport: warning: the configuration has no MCP server %q; the stop counts as soon as there is one\n", name)
				}
				if kind == auth.SwitchPrincipal || kind == auth.SwitchSession {
					if err := app.CheckPrincipal(cmd.Context(), rt, args[0]); err != nil {
						return err
					}
				}
				if err := rt.Stop(cmd.Context(), kind, name, reason); err != nil {
					return err
				}
				if kind == auth.SwitchTool {
					warnOfTool(cmd.Context(), env, f, name)
				}
				return report.PrintSwitch(env.newPrinter(f), kind, name, true)
			})
		},
	}
	t.registerFlags(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "the reason, as `TEXT` that ls and explain show")
	return cmd
}

// warnOfTool warns when no tool has the name. The command throws the switch
// first, so that no other fault keeps it from working.
func warnOfTool(ctx context.Context, env *environment, f *flags, name string) {
	if app.ServerOf(name) != "" {
		return // this command does not ask the server that may offer the tool
	}
	quiet := *env
	quiet.Stderr = io.Discard
	rt, err := app.OpenForView(ctx, &quiet.Environment, f.config)
	if err != nil {
		return
	}
	defer func() { _ = rt.Close() }()
	var known []string
	for _, t := range rt.InForce().Registry.Tools() {
		if t.ID() == name {
			return
		}
		known = append(known, t.ID())
	}
	fmt.Fprintf(env.Stderr, "sallyport: warning: %s; the stop counts as soon as there is one\n", app.UnknownName("tool", name, known))
}

func principalsStart(env *environment, f *flags) *cobra.Command {
	var t switchTarget
	cmd := &cobra.Command{
		Use:   "start [NAME]",
		Short: "Allow again what was stopped",
		Example: `  sallyport principals start ci-agent
  sallyport principals start --tool terminal`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			kind, name, err := t.parseTarget(args)
			if err != nil {
				return err
			}
			return withCallers(cmd.Context(), env, f, true, func(rt *app.Runtime) error {
				if err := releaseSwitch(cmd.Context(), rt, kind, name); err != nil {
					return err
				}
				return report.PrintSwitch(env.newPrinter(f), kind, name, false)
			})
		},
	}
	t.registerFlags(cmd)
	return cmd
}

// releaseSwitch removes a switch, so that what it stopped may go on.
func releaseSwitch(ctx context.Context, rt *app.Runtime, kind auth.SwitchKind, name string) error {
	thrown, err := rt.Switches.All(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(thrown, func(s auth.Switch) bool { return s.Kind == kind && s.Name == name }) {
		return &exitError{code: exitFailed, err: fmt.Errorf("%s %s was not stopped", kind, name)}
	}
	return rt.Start(ctx, kind, name)
}
