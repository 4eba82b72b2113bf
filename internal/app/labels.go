package app

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/sallyport/sallyport/action"
	"github.com/sallyport/sallyport/internal/lock"
)

// mcpLabel is the label of the tools of MCP servers.
const mcpLabel = "mcp"

// findLabel returns the label of a tool for the rules about who may decide, also in a command
// that makes no tools; known is false when the configuration in force does not have it.
func (rt *Runtime) findLabel(tool string) (label string, known bool) {
	t := rt.InForce()
	if label, known = t.findLabel(tool); known || t.Registry != nil {
		return label, known
	}
	builtin, _ := allBuiltinTools() // what cannot be told is not known
	if rt.Env != nil {
		builtin = append(builtin, rt.Env.Tools...)
	}
	if i := indexOfTool(builtin, tool); i >= 0 {
		return builtin[i].Toolset, true
	}
	if t.isPluginTool(tool) {
		return pluginLabel, true
	}
	return "", false
}

// isPluginTool reports whether the lock file has a tool of a plugin of this name: nothing else
// of a plugin is offered. The file is read once.
func (t *Deployment) isPluginTool(tool string) bool {
	t.pluginTools.once.Do(func() {
		pins, err := ReadPins(t.Config, nil, HoldPins, nil)
		if err != nil {
			return // what cannot be told is not known
		}
		for i := range t.Config.Plugins {
			pinned, _ := pins.PinnedServer(t.Config.Plugins[i].ID)
			if pinned.Transport == lock.TransportModule {
				t.pluginTools.names = slices.AppendSeq(t.pluginTools.names, maps.Keys(pinned.Tools))
			}
		}
	})
	return slices.Contains(t.pluginTools.names, tool)
}

// findLabel returns the label of a tool of this deployment.
func (t *Deployment) findLabel(tool string) (label string, known bool) {
	if ServerOf(tool) != "" {
		return mcpLabel, true
	}
	if i := indexOfTool(t.Tools, tool); i >= 0 {
		return t.Tools[i].Toolset, true
	}
	for i := range t.Config.Actions {
		var declared struct {
			Toolset string `json:"toolset"`
		}
		if part := &t.Config.Actions[i]; part.ID == tool && json.Unmarshal(part.JSON, &declared) == nil {
			return cmp.Or(declared.Toolset, action.Toolset), true
		}
	}
	return "", false
}
