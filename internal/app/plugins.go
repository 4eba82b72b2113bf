package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/action"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/definition"
	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/plugin"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/internal/yamldoc"
	"github.com/sallyport/sallyport/registry"
)

// Plugin is a plugin of the configuration.
type Plugin struct {
	// Name is the name of the plugin in the configuration and the lock file.
	Name string
	// Why is the reason why none of its tools is offered; empty when they are. Fix is
	// the command or edit that changes it.
	Why, Fix string
	// Offer is what it is and offers; nil when that is not known.
	Offer *lock.Offer

	part     *config.Part
	declared plugin.Declaration
}

// loadPlugins loads the plugins whose modules are pinned, and adds their tools to those
// of the deployment. One that is not pinned, or at fault, is a warning: nothing of it
// runs, and no other tool is affected. Commands that compare or pin load all of them:
// what a module says of itself it says without any accessor.
func (rt *Runtime) loadPlugins(ctx context.Context, t *Deployment) error {
	var faults yamldoc.Faults
	for i := range t.Config.Plugins {
		part := &t.Config.Plugins[i]
		declared, err := plugin.Decode(part.ID, part.JSON, definition.Folders{Dir: part.Dir, Workspace: t.Config.Workspace, Home: rt.Env.Home})
		if err == nil {
			err = t.checkPluginName(part.ID)
		}
		if err != nil {
			faults = append(faults, faultsIn(part, err)...)
			continue
		}
		p := &Plugin{Name: part.ID, part: part, declared: declared}
		t.Plugins = append(t.Plugins, p)
		tools, err := rt.loadPlugin(ctx, t, p)
		if err != nil {
			p.Why = err.Error()
		}
		if p.Why != "" {
			t.warnings = append(t.warnings, part.Fault("/module", "the plugin is not offered: "+p.Why+p.Fix).Error())
		}
		t.Tools = append(t.Tools, tools...)
	}
	if len(faults) > 0 {
		return faults
	}
	return nil
}

// checkPluginName refuses the name of a server: the lock file holds both.
func (t *Deployment) checkPluginName(name string) error {
	if err := lock.CheckServer(name); err != nil {
		return err
	}
	for i := range t.Config.Servers {
		if t.Config.Servers[i].ID == name {
			return errors.New("an MCP server has this name: expected a name of its own, since the lock file holds both")
		}
	}
	return nil
}

// loadPlugin loads one plugin and returns its tools.
func (rt *Runtime) loadPlugin(ctx context.Context, t *Deployment, p *Plugin) ([]sallyport.Tool, error) {
	module, err := readModule(p.declared.Module)
	if err != nil {
		return nil, err
	}
	pins := t.Servers.Pins
	p.Offer = &lock.Offer{Launch: lock.Launch{
		Transport: lock.TransportModule, Capabilities: p.declared.Capabilities,
		Binary: &lock.Binary{Path: p.declared.Module, SHA256: digest.Text(module)},
	}}
	if pins.Policy == HoldPins {
		why := "it is not pinned"
		if _, known := pins.PinnedServer(p.Name); known {
			why = pins.checkLaunch(p.Name, &p.Offer.Launch)
		}
		if why != "" {
			p.Fix = pins.hintFor(p.Name)
			return nil, errors.New(why)
		}
	}
	loaded, err := plugin.Load(ctx, p.Name, module, &plugin.Options{MemoryMiB: p.declared.MemoryMiB, Cache: rt.findTranslations()})
	if err != nil {
		return nil, err
	}
	t.closers = append(t.closers, loaded.Close)
	return p.readTools(loaded, pins)
}

// readTools makes tools of the definitions of a plugin.
func (p *Plugin) readTools(loaded *plugin.Plugin, pins *LockPins) (tools []sallyport.Tool, err error) {
	for i, raw := range loaded.Definitions {
		var named struct {
			ID string `json:"id"`
		}
		_ = json.Unmarshal(raw, &named) // Decode says what is wrong with it.
		def, err := action.Decode(raw, &action.DecodeOptions{Run: loaded.Run(named.ID)})
		if err != nil {
			return nil, fmt.Errorf("its tool %d, %s: %s", i+1, text.PrintableLine(text.Clip(named.ID, 64)), text.PrintableLine(err.Error()))
		}
		tool, err := def.Tool()
		if err != nil {
			return nil, err
		}
		if err := p.checkReach(&tool); err != nil {
			return nil, err
		}
		tool.Plugin, tool.Toolset, tool.Revision = p.Name, pluginLabel, p.Offer.Binary.SHA256
		tool.Sources = map[string]string{"": p.part.Source("")}
		if tool.Timeout == 0 || tool.Timeout > p.declared.Timeout {
			tool.Timeout = p.declared.Timeout
		}
		tool.HonoursDeadline = true
		pinned, err := pinnedForm(raw)
		if err != nil {
			return nil, err
		}
		p.Offer.Tools = append(p.Offer.Tools, pinned)
		if pins.Policy == HoldPins {
			if ok, why := pins.checkDefinition(p.Name, lock.KindTool, pinned); !ok {
				p.Fix = pins.hintFor(p.Name)
				return nil, fmt.Errorf("its tool %s: %s", tool.Name, why)
			}
		}
		tools = append(tools, tool)
	}
	return tools, nil
}

// pluginLabel is the toolset of the tools of plugins. Roles list plugins by name.
const pluginLabel = "plugin"

// checkReach refuses a tool that declares more than the operator allows its plugin, or
// what no plugin can use.
func (p *Plugin) checkReach(tool *sallyport.Tool) error {
	c, allowed := &tool.Capabilities, &p.declared.Capabilities
	if names := plugin.Unusable(c); len(names) > 0 {
		return fmt.Errorf("its tool %s declares %s, which no plugin can use", tool.Name, names[0])
	}
	for _, g := range group.All() {
		for _, r := range g.Reaches {
			list := r.Declared(allowed)
			for _, item := range r.Declared(c) {
				if r.Covers == nil || !r.Covers(list, item) {
					p.Fix = fmt.Sprintf(": add it to plugins.%s.capabilities.%s", p.Name, g.Name)
					return fmt.Errorf("its tool %s declares %s %s, which the capabilities of the plugin do not allow", tool.Name, r.Name, text.PrintableLine(item))
				}
			}
		}
	}
	if c.Storage != nil && (allowed.Storage == nil || allowed.Storage.Scope != c.Storage.Scope) {
		p.Fix = fmt.Sprintf(": add it to plugins.%s.capabilities.storage", p.Name)
		return fmt.Errorf("its tool %s declares storage of the scope %s, which the capabilities of the plugin do not allow", tool.Name, c.Storage.Scope)
	}
	return nil
}

// pinnedForm returns a definition in the form of the lock file, with the names that
// MCP servers use, so that differences are shown alike.
func pinnedForm(raw json.RawMessage) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	out := map[string]json.RawMessage{}
	for name, v := range fields {
		if other, ok := map[string]string{"id": "name", "name": "title", "parameters": "inputSchema", "returns": "outputSchema"}[name]; ok {
			name = other
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("a definition has %s twice", text.PrintableLine(name))
		}
		out[name] = v
	}
	return json.Marshal(out)
}

// readModule reads the file of a module, once, so that what runs is what was compared.
func readModule(path string) ([]byte, error) {
	// Opening a pipe would wait for a writer.
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("there is no module to run: %s", path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the module cannot be read: %w", err)
	}
	defer func() { _ = f.Close() }() // It was only read.
	return io.ReadAll(io.LimitReader(f, plugin.MaxModule+1))
}

// translationFolder is where translated modules are kept: code that runs as it is. It is
// the user's own, which no repository brings along, and empty where the user has none.
func (rt *Runtime) translationFolder() string {
	folder := rt.Env.serverFolder()
	if folder == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(folder), "plugins")
}

// findTranslations returns the folder of translated modules, or an empty text for a command
// that leaves nothing behind.
func (rt *Runtime) findTranslations() string {
	if rt.InForce().Config.State.Path == "" {
		return ""
	}
	folder := rt.translationFolder()
	if folder == "" {
		return ""
	}
	if _, err := os.Stat(folder); err != nil && rt.views {
		return ""
	}
	return folder
}

// explainPlugin says why a tool is not offered that the lock file has of a plugin.
func (t *Deployment) explainPlugin(id string) (m registry.MissingTool) {
	for _, p := range t.Plugins {
		pinned, _ := t.Servers.Pins.PinnedServer(p.Name)
		if _, ok := pinned.Tools[id]; ok && p.Why != "" {
			return registry.MissingTool{Plugin: p.Name, Why: "the plugin " + p.Name + ", which has it, is not offered: " + p.Why, Fix: strings.TrimPrefix(p.Fix, ": ")}
		}
	}
	return m
}
