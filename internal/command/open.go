package command

import (
	"context"
	"errors"

	"github.com/sallyport/sallyport/internal/app"
)

// openGate opens a gate for calls. The caller closes it.
func openGate(ctx context.Context, env *environment, f *flags) (*app.Runtime, error) {
	rt, err := app.OpenForCalls(ctx, &env.Environment, f.config)
	return rt, refuseStart(err)
}

// refuseStart returns the error of a command that cannot start, or nil.
func refuseStart(err error) error {
	if err == nil {
		return nil
	}
	return usageError(err)
}

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
