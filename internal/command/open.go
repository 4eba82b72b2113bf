package command

import (
	"context"
	"errors"

	"github.com/sallyport/sallyport/internal/app"
)

// opener opens what one kind of command works with.
type opener func(context.Context, *app.Environment, []string) (*app.Runtime, error)

// withRuntime opens a runtime, runs do, and closes the runtime.
func withRuntime(ctx context.Context, env *environment, f *flags, open opener, do func(rt *app.Runtime) error) (err error) {
	rt, err := open(ctx, &env.Environment, f.config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rt.Close()) }()
	return do(rt)
}
