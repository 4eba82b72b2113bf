package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/sallyport/sallyport/internal/plugin/wire"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/schema"
)

// Options are how a module runs. nil means the zero value.
type Options struct {
	// MemoryMiB bounds the memory of one instance; 0 means 64.
	MemoryMiB int
	// Cache is an absolute folder in which translated modules are kept, which no
	// tool can reach; empty keeps none.
	Cache string
}

// Plugin is a module that was checked and translated. It is safe for concurrent use.
type Plugin struct {
	// Name is the name under which an operator knows it.
	Name string
	// Definitions are the tools that it declares, each as the text of an action
	// without a handler. They depend on the module alone. Read only.
	Definitions []json.RawMessage

	runtime wazero.Runtime
	cache   wazero.CompilationCache
	module  wazero.CompiledModule
	pool    instancePool
}

// Load checks a module, translates it, and asks it for its tools, all within bounds.
// The error says what is wrong in words for the operator. The caller closes the
// plugin.
func Load(ctx context.Context, name string, module []byte, o *Options) (_ *Plugin, err error) {
	if o == nil {
		o = &Options{}
	}
	prepared, err := prepareModule(module)
	if err != nil {
		return nil, err
	}
	p := &Plugin{Name: name}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	if err := p.openRuntime(ctx, prepared, o); err != nil {
		return nil, err
	}
	if err := p.compileModule(ctx, prepared); err != nil {
		return nil, err
	}
	p.pool.startInstance(p)
	return p, p.readDefinitions(ctx)
}

// compilerWorkers bounds what translating modules takes of the machine. With one the
// runtime translates to the end, whatever its context says.
const compilerWorkers = 2

// openRuntime makes a runtime that has everything that the module may import.
func (p *Plugin) openRuntime(ctx context.Context, m *preparedModule, o *Options) (err error) {
	features := api.CoreFeaturesV2.SetEnabled(api.CoreFeatureSIMD, false)
	if !m.fixedTables {
		// The instruction that makes tables larger has no bound of its own.
		features = features.SetEnabled(api.CoreFeatureReferenceTypes, false)
	}
	pages := min(cmp.Or(o.MemoryMiB, defaultMemoryMiB), MaxMemoryMiB) * 16
	config := wazero.NewRuntimeConfig().WithCoreFeatures(features).
		WithMemoryLimitPages(uint32(pages)).WithDebugInfoEnabled(false)
	if o.Cache != "" {
		if p.cache, err = wazero.NewCompilationCacheWithDir(o.Cache); err != nil {
			return fmt.Errorf("the folder of translated modules: %w", err)
		}
		config = config.WithCompilationCache(p.cache)
	}
	p.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	for _, module := range [...]string{wire.Module, wasiModule} {
		host := p.runtime.NewHostModuleBuilder(module)
		for _, f := range offered() {
			if f.module == module {
				results := slices.Repeat([]api.ValueType{api.ValueTypeI32}, f.results)
				host = host.NewFunctionBuilder().WithGoModuleFunction(f.run, f.params, results).Export(f.name)
			}
		}
		if _, err := host.Instantiate(ctx); err != nil {
			return err
		}
	}
	return nil
}

// compileModule translates the module and checks what it exports.
func (p *Plugin) compileModule(ctx context.Context, m *preparedModule) (err error) {
	ctx, cancel := context.WithTimeout(experimental.WithCompilationWorkers(ctx, compilerWorkers), compileTimeout)
	defer cancel()
	if p.module, err = p.runtime.CompileModule(ctx, m.code); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("translating the module took longer than it may, which is %v", compileTimeout)
		}
		why := "the module is not valid: " + text.PrintableLine(text.Clip(err.Error(), 300))
		if !m.fixedTables {
			why += "; it has a table without a maximum, so that reference types are refused"
		}
		return errors.New(why)
	}
	functions := p.module.ExportedFunctions()
	for _, name := range [...]string{wire.ExportTools, wire.ExportCall} {
		f, ok := functions[name]
		if !ok {
			return fmt.Errorf("the module does not export the function %s", name)
		}
		if len(f.ParamTypes())+len(f.ResultTypes()) > 0 {
			return fmt.Errorf("the exported function %s has parameters or results: expected none", name)
		}
	}
	if _, ok := p.module.ExportedMemories()["memory"]; !ok {
		return errNoMemory
	}
	if _, ok := functions["_start"]; ok {
		return errors.New("the module is a program that runs once: build it as a library (a WASI reactor), such as with -buildmode=c-shared")
	}
	return nil
}

// readDefinitions asks an instance of its own, in which time stands still and nothing
// is random.
func (p *Plugin) readDefinitions(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	r := &run{declares: true}
	i, err := p.startInstance(ctx, r)
	if err != nil {
		return err
	}
	defer i.close()
	answer, err := i.askModule(ctx, r, wire.ExportTools)
	if err != nil {
		return err
	}
	tree, err := schema.Decode(answer, nil)
	if err != nil {
		return fmt.Errorf("its list of tools: %w", err)
	}
	list, ok := tree.([]any)
	if !ok || len(list) == 0 || len(list) > maxTools {
		return fmt.Errorf("its list of tools: expected a list of 1 to %d definitions", maxTools)
	}
	return json.Unmarshal(answer, &p.Definitions)
}

// Close ends everything that runs and frees the module.
func (p *Plugin) Close() error {
	ctx := context.Background()
	var errs []error
	p.pool.close()
	if p.runtime != nil {
		errs = append(errs, p.runtime.Close(ctx))
	}
	if p.cache != nil {
		errs = append(errs, p.cache.Close(ctx))
	}
	return errors.Join(errs...)
}
