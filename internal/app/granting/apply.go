package granting

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/onestep"
)

// Apply writes a plan: all files or none. It is recorded before. The error matches
// [onestep.ErrChanged] when a file is not as the plan found it.
func (p *Plan) Apply(ctx context.Context, rt *app.Runtime) error {
	action := audit.ActionGrant
	if p.revoke {
		action = audit.ActionUngrant
	}
	return rt.RecordFirst(ctx, app.ChangeEvent(action, p.Target, strings.Join(p.Changes, "; ")), func() error {
		folder, err := rt.Env.StepFolder(rt.Config.Dir)
		if err == nil {
			err = os.MkdirAll(folder, 0o700)
		}
		if err == nil {
			err = onestep.Replace(folder, p.files)
		}
		if errors.Is(err, onestep.ErrChanged) {
			return errors.Join(err, errors.New("nothing was written: run the command again"))
		}
		return err
	})
}
