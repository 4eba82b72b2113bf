package command

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/pinning"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/text"
)

func lockAcceptCommand(env *environment, f *flags) *cobra.Command {
	var expect string
	cmd := &cobra.Command{
		Use:   "accept [SERVER[/TOOL]|PROGRAM]",
		Short: "Pin the changes of MCP servers after you have seen them",
		Long: `Show what differs from ` + app.LockName + `, as diff does, and ask whether it is
accepted. After a yes the new state is pinned in place of the old one. Name a
server or a tool to accept only that. Without a terminal, give the digest that
diff printed with --expect, or at least its first 32 digits. If the server has
changed again since then, nothing is pinned and the exit code is 1. A running
server uses the new file at once.

An absolute path names a program under secrets of the configuration. Such a program
is not confined, and runs only as you have accepted it: its arguments and its file.
That is noted for you on this machine, not in the lock file, which comes with a
project.

This command is about definitions. To decide about a held call, use approvals
approve.`,
		Example: `  sallyport lock accept
  sallyport lock accept notes
  sallyport lock accept notes/add --expect 9ffa0b1c2d3e4f5061728394a5b6c7d8
  sallyport lock accept /usr/bin/pass`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			program := len(args) > 0 && filepath.IsAbs(args[0])
			var s lock.Scope
			if !program {
				var err error
				if s, err = scopeOf(args); err != nil {
					return err
				}
			}
			return withLook(cmd.Context(), env, f, app.AskChanged, func(rt *app.Runtime) error {
				if program {
					return acceptPrograms(cmd.Context(), env, f, rt, args[0], expect)
				}
				if len(args) == 0 && expect == "" {
					if err := acceptPrograms(cmd.Context(), env, f, rt, "", ""); err != nil || len(rt.InForce().Config.Servers) == 0 && rt.InForce().Servers.Pins.File == nil {
						return err
					}
				}
				d, err := pinning.CompareLock(cmd.Context(), rt, f.config, lock.Scope{Server: s.Server})
				if err != nil {
					return err
				}
				if expect == "" {
					if expect, err = askForDigest(env, f, d, s); expect == "" {
						return err
					}
				}
				a, err := d.Accept(cmd.Context(), rt, s, expect)
				if mismatch, ok := errors.AsType[*lock.Mismatch](err); ok {
					return &exitError{code: exitFailed, err: fmt.Errorf("%w with %s diff; nothing was pinned", mismatch, env.ProgramName())}
				}
				if err != nil {
					return err
				}
				return printAcceptance(a, env.newPrinter(f))
			})
		},
	}
	cmd.Flags().StringVar(&expect, "expect", "", "the `HASH` that diff printed; nothing is asked")
	return cmd
}

// askForDigest shows what differs and asks whether it is accepted. It returns the
// digest of what was shown, or an empty text when nothing is to be pinned.
func askForDigest(env *environment, f *flags, d *pinning.LockDiff, s lock.Scope) (digest string, err error) {
	shown := *d
	shown.Changes = d.ChangesOf(s)
	if shown.Same || len(shown.Changes) == 0 {
		return "", printDiff(env.newPrinter(f), &shown)
	}
	command := d.AcceptCommand(f.config, s)
	if !env.canAsk(f) {
		if err := printDiff(env.newPrinter(f), &shown); f.json {
			return "", err
		}
		return "", usageError(fmt.Errorf("nothing was pinned: there is no terminal to ask at. When you accept what is shown: %s", command))
	}
	p := env.newPrinter(f)
	report.PrintChanges(p, shown.Changes, func(string) {})
	for i := range d.Servers {
		if st := &d.Servers[i]; !st.Started && st.State == pinning.StateChanged {
			p.PrintLine("%s was not started: this is about its launch alone", st.Server)
		}
	}
	if !env.ask("pin " + text.PrintableLine(s.String()) + " as it is shown?") {
		return "", &exitError{code: exitFailed, err: errors.New("nothing was pinned")}
	}
	return d.DigestOf(s), nil
}

func printAcceptance(a *pinning.Acceptance, p *report.Printer) error {
	if p.JSON {
		return p.PrintJSON(a)
	}
	p.PrintLine("pinned %s as it is: %s, digest %s", text.PrintableLine(a.Scope), text.CountOf(len(a.Changes), "change"), a.SHA256)
	report.PrintChanges(p, a.Changes, func(string) {})
	if a.Next != "" {
		p.PrintLine("%s", a.Next)
	}
	return nil
}

// approveCommand answers the former name of lock accept with the present one.
func approveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "approve", Hidden: true, DisableFlagParsing: true,
		Short: "Renamed to lock accept",
		RunE: func(_ *cobra.Command, args []string) error {
			return usageError(fmt.Errorf("approve is now lock accept: %s", text.ShellLine(append([]string{"sallyport", "lock", "accept"}, args...))))
		},
	}
}
