package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/text"
)

func approveCommand(env *environment, f *flags) *cobra.Command {
	var expect string
	cmd := &cobra.Command{
		Use:   "approve [SERVER[/TOOL]] --expect HASH",
		Short: "Pin what diff has shown of an MCP server",
		Long: `Pin what an MCP server is and offers now, or one of its tools, or everything,
in the place of what is pinned. HASH is the digest that diff printed, or at least
its first 16 digits: when the server has changed once more since then, nothing is
pinned and the exit code is 1. A running server takes the new file at once.

This is about definitions. A call that waits for a human is decided with
approvals approve.`,
		Example: `  sallyport approve notes --expect 51c0a1d2e3f40516
  sallyport approve notes/add --expect 9ffa0b1c2d3e4f50
  sallyport approve --expect 0a1b2c3d4e5f6071`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := scopeOf(args)
			if err != nil {
				return err
			}
			return withLook(cmd.Context(), env, f, app.AskChanged, func(rt *app.Runtime) error {
				return acceptLock(cmd.Context(), rt, env, f, s, expect)
			})
		},
	}
	cmd.Flags().StringVar(&expect, "expect", "", "the `HASH` that diff printed")
	// MarkFlagRequired fails only for an unknown flag, and the line before
	// declares this one.
	_ = cmd.MarkFlagRequired("expect")
	return cmd
}

// approvedReport is the JSON answer of approve.
type approvedReport struct {
	File    string        `json:"file"`
	Scope   string        `json:"scope"`
	SHA256  string        `json:"sha256"`
	Changes []lock.Change `json:"changes"`
	// Next says what the user still has to do.
	Next string `json:"next,omitempty"`
}

func acceptLock(ctx context.Context, rt *app.Runtime, env *environment, f *flags, s lock.Scope, expect string) error {
	d, err := compareLock(ctx, rt, f, lock.Scope{Server: s.Server})
	if err != nil {
		return err
	}
	for i := range d.Servers {
		if st := &d.Servers[i]; st.State == stateUnknown || st.State == stateUnpinned && s.Server != "" {
			return usageError(fmt.Errorf("%s: %s", st.Server, st.Why))
		}
	}
	was := rt.Servers.Pins.File
	next, err := was.Approve(d.now.file, s, expect)
	if mismatch, ok := errors.AsType[*lock.Mismatch](err); ok {
		return &exitError{code: exitFailed, err: fmt.Errorf("%w with sallyport diff; nothing was pinned", mismatch)}
	}
	if err != nil {
		return usageError(err)
	}
	a := approvedReport{File: d.File, Scope: s.String(), Changes: append([]lock.Change{}, lock.Diff(was, next)...)}
	if a.SHA256, err = next.Digest(s); err != nil {
		return usageError(err)
	}
	detail := countOf(len(a.Changes), "change") + ", digest " + a.SHA256
	if err := writeLock(ctx, rt, next, app.ChangeEvent(audit.ActionPinApprove, s.String(), detail)); err != nil {
		return usageError(err)
	}
	a.Next = d.nextServers(s)
	return a.printReport(env.newPrinter(f))
}

// nextServers lists the servers that were not asked yet what they offer.
func (d *lockDiff) nextServers(s lock.Scope) string {
	var held []string
	for i := range d.Servers {
		if st := &d.Servers[i]; st.State == stateChanged && !st.Started && s.Tool == "" {
			held = append(held, st.Server)
		}
	}
	switch len(held) {
	case 0:
		return ""
	case 1:
		return "next: sallyport diff " + held[0] + " shows what it offers now that its launch is approved"
	default:
		return "next: sallyport diff shows what " + strings.Join(held, ", ") + " offer now that their launch is approved"
	}
}

func (a *approvedReport) printReport(p *printer) error {
	if p.json {
		return p.printJSON(a)
	}
	p.printLine("pinned %s as it is: %s, digest %s", text.PrintableLine(a.Scope), countOf(len(a.Changes), "change"), a.SHA256)
	printChanges(p, a.Changes, func(string) {})
	if a.Next != "" {
		p.printLine("%s", a.Next)
	}
	return nil
}
