package app

import (
	"cmp"
	"encoding/json"

	"github.com/sallyport/sallyport/action"
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
	// What a plugin offers is known once it is loaded.
	return pluginLabel, len(t.Config.Plugins) > 0
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
