package sallyport

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Personality is the ceiling that an operator sets for one role of an agent.
// It is immutable once it is handed to a registry.
type Personality struct {
	// Name identifies the role.
	Name string
	// Description is for people.
	Description string
	// Toolset lists built-in tools by name, or by label as "@file". nil
	// means all of them, an empty list none.
	Toolset []string
	// MCPServers lists the upstream servers whose tools are visible. Both nil
	// and an empty list mean none.
	MCPServers []string
	// Plugins lists the plugins whose tools are visible. Both nil and an empty
	// list mean none.
	Plugins []string
	// FSReach is the file ceiling; nil means that no path is reachable, unless
	// DeclarationsStand.
	FSReach *Reach
	// Network is the network ceiling. nil means that the declaration stands,
	// except that "*" gives no host.
	Network *NetworkPolicy
	// Secrets is the ceiling of secret references. nil means that the
	// declaration stands, an empty list that no secret is granted.
	Secrets []string
	// Process is the ceiling of binaries. nil means that the declaration
	// stands, an empty list that no binary is granted.
	Process []string
	// Input is the ceiling of what tools may ask behind their caller. nil means
	// that the declaration stands, an empty list that tools may ask nothing.
	Input []InputKind
	// Arguments holds ceilings over the arguments of tools: by name, by label as
	// "@file", by server as "mcp__notes__*", or "*". All that match a tool count. Each
	// is a JSON Schema over the arguments, or an object that has one for each of
	// them, with the words known, sum, from_untrusted and else; false permits no
	// call. nil means that what the tools declare stands.
	Arguments map[string]json.RawMessage
	// Effects says what a call of a tool does, by the name of the tool, in place of
	// [Tool.Does]; nil leaves that.
	Effects map[string][]Effect
	// Destinations says which arguments of a tool name where something goes, by the name
	// of the tool, in place of [Tool.Destinations]; nil leaves that.
	Destinations map[string]map[string]ValueKind
	// Approvals lists the tools whose calls a human approves; nil means none.
	Approvals *Approvals
	// DeclarationsStand has what the operator declared for an MCP server or an
	// action count without a list of the personality: see
	// [Personality.FilesStand]. A declared "*" binary then gives nothing without a
	// list. False means that files need a list.
	DeclarationsStand bool
	// Flow says what happens to calls after the conversation has read certain
	// content. The zero value is the default rule.
	Flow Flow
	// Sources maps a key below this personality, such as
	// "safety.network.allow", to the position of its definition as
	// file:line:column. It may be nil.
	Sources map[string]string
}

// Approvals says which calls a human has to approve.
type Approvals struct {
	// Require lists tools by name.
	Require []string
	// Wait is how long a call waits for the decision.
	Wait time.Duration
	// WaitForPerson has a call wait only while a person is connected who can
	// decide; without one it answers at once.
	WaitForPerson bool
	// Expires is how long a request may be decided and its approval used; 0
	// means the default of the runtime.
	Expires time.Duration
	// OperatorOnly leaves the decision to operators: an edge that could ask the
	// person behind the client does not ask them.
	OperatorOnly bool
}

// FilesStand reports whether the files that a tool declares are granted without
// a list of the personality. That needs DeclarationsStand, an MCP server or an
// action that the personality lists (an action by name or label, so that an
// absent toolset lists none), and an FSReach without a list: with one direction
// listed, the other one is empty, and an empty list is a list. Those of a plugin
// never stand: their author declared them, not the operator.
func (p *Personality) FilesStand(t *Tool) bool {
	switch reach := p.FSReach; {
	case !p.DeclarationsStand, reach != nil && (reach.Read != nil || reach.Write != nil):
		return false
	case t.Server() != "":
		return slices.Contains(p.MCPServers, t.Server())
	case t.Sources == nil, t.Plugin != "":
		return false // the program or the plugin declared it, not the operator
	default:
		return slices.Contains(p.Toolset, t.Name) || t.Toolset != "" && slices.Contains(p.Toolset, "@"+t.Toolset)
	}
}

// Source returns the position at which a key was defined. When the key itself
// has none, it returns that of the nearest parent, or "" when nothing is known.
// Keys are dotted.
func (p *Personality) Source(key string) string {
	if p == nil {
		return ""
	}
	for {
		if s, ok := p.Sources[key]; ok {
			return s
		}
		i := strings.LastIndexByte(key, '.')
		if i < 0 {
			return p.Sources[""]
		}
		key = key[:i]
	}
}

// Personalities finds a personality by name; ok is false when there is none.
// The result never changes afterwards: a reload returns another pointer. Otherwise a
// name keeps its pointer, since a gate keeps what it has found out about it.
// It must be safe for concurrent use.
type Personalities interface {
	Personality(name string) (p *Personality, ok bool)
}
