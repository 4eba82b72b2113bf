package command

import (
	"cmp"
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/keypress"
	"github.com/sallyport/sallyport/internal/report"
)

func approvalsWatch(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "watch",
		Short: "Show held calls as they come and answer with a key",
		Long: `Show held calls as they come, one after another, and answer with a key: y lets
the shown call run once, n refuses it, s leaves it as it is, q ends. Calls of one
session that differ in values alone are shown together, and one answer is for these.
The key a
shows the rule that would let the same call run without a question for the rest of
its session, and asks; the key l shows what approve --always would give. While it runs at a terminal, held calls wait 30 s for the
answer. With --json it prints the calls and asks nothing.`,
		Example: "  sallyport approvals watch",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withRuntime(cmd.Context(), env, f, app.OpenForRecord, func(rt *app.Runtime) error {
				p := env.newPrinter(f)
				keys, restore := env.readKeys(p.JSON)
				defer restore()
				if keys != nil {
					p.PrintLine("waiting for held calls of %s; q ends", cmp.Or(rt.InForce().Config.State.Path, "memory"))
				}
				return watchApprovals(cmd.Context(), rt, p, keys)
			})
		},
	}
}

// watchApprovals shows held calls until the person quits.
func watchApprovals(ctx context.Context, rt *app.Runtime, p *report.Printer, keys <-chan byte) error {
	w := &approvals.Watch{
		List: func(ctx context.Context) ([]sallyport.Approval, error) { return rt.Approvals.List(ctx, false) },
		Decide: func(ctx context.Context, a *sallyport.Approval, approve bool) (waits bool, err error) {
			if err := rt.RecordDecision(ctx, a, approvals.DeciderNamed(sallyport.LocalPrincipal), approve, ""); err != nil {
				return false, err
			}
			now, err := rt.Approvals.Get(ctx, a.ID)
			return err == nil && now.State == sallyport.ApprovalPending, nil // what is not known is not said
		},
		Settings: rt.Settings, Keys: keys,
		Show: func(batch []sallyport.Approval, ask bool) {
			describe := func(a *sallyport.Approval) app.Question { return rt.DescribeQuestion(ctx, a) }
			report.PrintHeld(p, batch, describe, time.Now(), ask)
		},
		ShowRule: func(r *approvals.Rule) {
			report.PrintProposal(p, r)
			p.PrintLine("    allow this for the session? y/n")
		},
		Give: func(ctx context.Context, a *sallyport.Approval, r *approvals.Rule) error {
			return rt.GiveRule(ctx, a, r, approvals.DeciderNamed(sallyport.LocalPrincipal), "")
		},
		ShowAlways: func(a *sallyport.Approval) func(context.Context) error {
			always := rt.ProposeAlways(a)
			report.PrintAlways(p, always, 0)
			p.PrintLine("    allow this for always? y/n")
			return func(ctx context.Context) error {
				return rt.GiveAlways(ctx, a, always, approvals.DeciderNamed(sallyport.LocalPrincipal), "", 0)
			}
		},
		Tell: func(a *sallyport.Approval, what string) {
			if !p.JSON {
				p.PrintLine("    %s: %s", a.ID, what)
			}
		},
	}
	return w.Run(ctx)
}

// readKeys returns the keys of the person at the terminal, nil when there is
// none, and what gives the terminal back.
func (e *environment) readKeys(off bool) (keys <-chan byte, restore func()) {
	file, ok := e.stdin.(*os.File)
	if off || !ok {
		return nil, func() {}
	}
	return keypress.ReadKeys(file)
}
