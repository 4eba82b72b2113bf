package granting

import (
	"context"
	"strings"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/app"
)

// Apply writes a plan: all files or none. It is recorded before. The error matches
// [onestep.ErrChanged] when a file is not as the plan found it.
func (p *Plan) Apply(ctx context.Context, rt *app.Runtime) error {
	action := audit.ActionGrant
	if p.revoke {
		action = audit.ActionUngrant
	}
	return rt.RecordFirst(ctx, app.ChangeEvent(action, p.Target, strings.Join(p.Changes, "; ")), func() error {
		return rt.Env.ReplaceFiles(rt.InForce().Config.Dir, p.files)
	})
}
