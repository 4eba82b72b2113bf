package app

import (
	"context"
	"fmt"
	"strings"
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

// CommandLine returns a command of this program with the flags that find the
// configuration in force from any folder.
func (rt *Runtime) CommandLine(command string) string {
	if rt.Builtin {
		return "cd " + text.ShellWord(rt.Env.Dir) + " && sallyport " + command
	}
	var b strings.Builder
	b.WriteString("sallyport " + command)
	for _, file := range rt.ConfigFiles {
		b.WriteString(" --config " + text.ShellWord(file))
	}
	return b.String()
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
