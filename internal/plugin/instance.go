package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"

	"github.com/sallyport/sallyport/internal/text"
)

// instance is one module with a memory of its own. It runs one call at a time.
type instance struct {
	plugin *Plugin
	module api.Module
	// asked are the exported functions, by name.
	asked map[string]api.Function
	key   poolKey
	// stop ends the wait for the next call.
	stop func() bool
}

// startInstance makes an instance and lets it prepare itself.
func (p *Plugin) startInstance(ctx context.Context, r *run) (*instance, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	r.ctx = ctx
	ctx = context.WithValue(ctx, runKey{}, r)
	module, err := p.runtime.InstantiateModule(ctx, p.module, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, p.describeEnd(ctx, r, err)
	}
	i := &instance{plugin: p, module: module, asked: map[string]api.Function{}}
	if f := module.ExportedFunction("_initialize"); f != nil {
		if _, err := f.Call(ctx); err != nil {
			i.close()
			return nil, p.describeEnd(ctx, r, err)
		}
	}
	return i, nil
}

// close frees the instance.
func (i *instance) close() { _ = i.module.Close(context.Background()) }

// askModule calls an exported function and returns what the module answered. After an error
// the instance cannot be used again.
func (i *instance) askModule(ctx context.Context, r *run, export string) (answer []byte, err error) {
	r.ctx = ctx
	f := i.asked[export]
	if f == nil {
		f = i.module.ExportedFunction(export)
		i.asked[export] = f
	}
	defer r.endUpdate()
	err = f.CallWithStack(context.WithValue(ctx, runKey{}, r), nil)
	r.log.flushLine()
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return nil, i.plugin.describeEnd(ctx, r, err)
	}
	if !r.answered {
		return nil, pluginFault("the plugin " + i.plugin.Name + " did not answer")
	}
	return r.answer, nil
}

// pluginFault is the end of a run by the module's fault, in words of this package.
type pluginFault string

func (f pluginFault) Error() string { return string(f) }

// describeEnd says why a run ended. What the module itself says is not in it, but for
// its first line when it could not be started, which the operator reads.
func (p *Plugin) describeEnd(ctx context.Context, r *run, err error) error {
	said := ""
	if r.call == nil && r.log.first != "" {
		said = "; it wrote: " + text.PrintableLine(text.Clip(r.log.first, 200))
	}
	exit, exited := errors.AsType[*sys.ExitError](err)
	fault, broke := errors.AsType[hostFault](err)
	first, _, _ := strings.Cut(err.Error(), "\n")
	_, trap, trapped := strings.Cut(first, "wasm error: ")
	if strings.HasPrefix(first, "stack overflow") {
		trap, trapped = "stack overflow", true
	}
	switch {
	case ctx.Err() != nil && r.call != nil:
		return ctx.Err()
	case ctx.Err() != nil:
		return pluginFault(fmt.Sprintf("the plugin %s did not start in time%s", p.Name, said))
	case broke:
		return pluginFault(fmt.Sprintf("the plugin %s was ended: %s%s", p.Name, string(fault), said))
	case exited:
		return pluginFault(fmt.Sprintf("the plugin %s ended itself with the status %d%s", p.Name, exit.ExitCode(), said))
	case trapped:
		return pluginFault(fmt.Sprintf("the plugin %s stopped: %s%s", p.Name, trap, said))
	default:
		return pluginFault(fmt.Sprintf("the plugin %s could not run%s", p.Name, said))
	}
}
