package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/pinning"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/text"
)

// acceptPrograms shows the programs under secrets that are not accepted, or the one
// of a path, and asks about each. With a digest it asks nothing.
func acceptPrograms(ctx context.Context, env *environment, f *flags, rt *app.Runtime, program, expect string) error {
	list, err := pinning.ComparePrograms(rt, f.config, program)
	if err != nil {
		return err
	}
	p := env.newPrinter(f)
	for i := range list {
		d := &list[i]
		if d.Accepted {
			if program != "" {
				return p.PrintAnswer(d, "%s is as you accepted it", text.PrintableLine(d.Program))
			}
			continue
		}
		if expect == "" {
			if p.JSON {
				return errors.Join(p.PrintJSON(d), failUnless(false))
			}
			p.PrintLine("%s prints secrets for this configuration. It is not confined: it runs as you do.", text.PrintableLine(d.Program))
			for _, line := range d.Describe() {
				p.PrintLine("  %s", line)
			}
			report.PrintChanges(p, d.Changes, func(string) {})
			if !env.canAsk(f) {
				return usageError(fmt.Errorf("nothing was accepted: there is no terminal to ask at. When you accept what is shown: %s", d.Accept))
			}
			if !env.ask("let it run as it is shown?") {
				return &exitError{code: exitFailed, err: errors.New("nothing was accepted")}
			}
		}
		as := expect
		if as == "" {
			as = d.SHA256
		}
		if err := d.AcceptAs(ctx, rt, as); err != nil {
			return &exitError{code: exitFailed, err: err}
		}
		p.PrintLine("%s may run as it is: digest %s", text.PrintableLine(d.Program), d.SHA256)
	}
	return nil
}
