package app

import (
	"context"
	"fmt"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/text"
)

// announcingQueue tells the operator on standard error of each call that is
// newly held, with the command that decides.
type announcingQueue struct {
	sallyport.ApprovalQueue
	g *Runtime
}

// Ask holds a call and announces it when it is new.
func (q announcingQueue) Ask(ctx context.Context, a sallyport.Approval) (sallyport.Approval, error) {
	held, err := q.ApprovalQueue.Ask(ctx, a)
	if err == nil && held.ID == a.ID {
		fmt.Fprintf(q.g.Env.Stderr, "sallyport: held until %s: %s by %s; %s\n", held.Expires.Local().Format(time.TimeOnly),
			text.PrintableLine(held.Tool), text.PrintableLine(held.Principal), q.g.CommandLine("approvals approve "+held.ID))
	}
	return held, err
}

// personConnected reports whether a person watches the held calls. When the
// state does not say, the answer is no: the call is answered at once.
func (rt *Runtime) personConnected(ctx context.Context) bool {
	watched, err := approvals.Watched(ctx, rt.Settings, time.Now())
	if err != nil && rt.Logger != nil {
		rt.Logger.Warn("whether a person watches held calls is not known", "error", err)
	}
	return watched
}
