package app

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/subagent"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/registry"
)

// missingTools says which tools of MCP servers are not there, why, and what changes
// that. It is for the operator: callers are told none of it. It is safe for concurrent
// use.
type missingTools struct {
	mu      sync.Mutex
	servers map[string][]missingTool
}

// missingTool is a definition that is not mounted, and what changes that. Without a kind
// it stands for everything that the server offers.
type missingTool struct {
	upstream.Left
	fix string
}

// replaceServer notes what is missing of a server, in place of what was.
func (m *missingTools) replaceServer(server string, list []missingTool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.servers == nil {
		m.servers = map[string][]missingTool{}
	}
	m.servers[server] = list
}

// findNoted returns what is noted of a definition of a server, or of everything that
// the server offers; nil when nothing is.
func (m *missingTools) findNoted(server string, kind lock.Kind, isNamed func(*upstream.Left) bool) *missingTool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.servers[server] {
		if one.Kind == "" || one.Kind == kind && isNamed(&one.Left) {
			return &one
		}
	}
	return nil
}

// kindOf returns the kind of the definition behind the ID of a tool.
func kindOf(tool string) lock.Kind {
	form, _ := sallyport.ParseID(tool)
	return cmp.Or(lock.Kind(form), lock.KindTool)
}

// explainMissing says what holds back a tool, a prompt or a resource of an MCP server, or
// a tool of a plugin, and the command by which an operator changes that.
func (t *Deployment) explainMissing(id string) registry.MissingTool {
	if m := t.explainPlugin(id); m.Why != "" {
		return m
	}
	form, name := sallyport.ParseID(id)
	server := ServerOf(id)
	switch {
	case form == sallyport.FormTool && name == subagent.Name && t.runner != nil:
		return t.explainRunner()
	case form == sallyport.FormTool && server == "":
		return explainUnconfigured(name)
	case t.Servers.Mounts == nil:
		return registry.MissingTool{}
	case form == sallyport.FormResource && server != "":
		return t.explainResources(server, EveryLeft, EveryLeft)
	case server != "":
		return t.explainHeld(server, kindOf(id), LeftOf(id))
	case form != sallyport.FormResource:
		return registry.MissingTool{}
	}
	isURI := func(l *upstream.Left) bool { return l.Tool == name }
	covers := func(l *upstream.Left) bool { return coversURI(l.Tool, name) }
	for _, server := range t.resourceServers(name) {
		if m := t.explainResources(server, isURI, covers); m.Why != "" {
			return m
		}
	}
	return registry.MissingTool{}
}

// mayCome reports whether a name, such as mcp__bank__*, may stand for a tool once its
// server answers, or once the operator has approved it.
func (t *Deployment) mayCome(name string) bool {
	server := ServerOf(name)
	switch {
	case server == "":
		return t.explainPlugin(name).Why != ""
	case !slices.ContainsFunc(t.Config.Servers, func(p config.Part) bool { return p.ID == server }):
		return false
	}
	if strings.HasSuffix(name, "__*") || t.Servers.ListOffers()[server] == nil {
		return true
	}
	return t.explainHeld(server, lock.KindTool, LeftOf(name)).Why != ""
}

// explainResources says what holds back the resources or templates of a server that are
// selected.
func (t *Deployment) explainResources(server string, resources, templates func(*upstream.Left) bool) registry.MissingTool {
	m := t.explainHeld(server, lock.KindResource, resources)
	if m.Why == "" {
		m = t.explainHeld(server, lock.KindTemplate, templates)
	}
	m.Tool = "mcp__" + server + "__resources"
	return m
}

// explainHeld says what holds back the definitions of a server that isNamed selects.
func (t *Deployment) explainHeld(server string, kind lock.Kind, isNamed func(*upstream.Left) bool) registry.MissingTool {
	if one := t.Servers.missing.findNoted(server, kind, isNamed); one != nil {
		return registry.MissingTool{Why: one.Why, Fix: one.fix}
	}
	for _, l := range t.Servers.Mounts.Quarantined() {
		if l.Server != server || l.Kind != kind || !isNamed(&l) {
			continue
		}
		fix := ""
		if t.Servers.Pins.File != nil {
			fix = t.Servers.Pins.acceptCommand(&upstream.Left{Server: server})
		}
		return registry.MissingTool{Why: newMissingTool(l, fix).Why, Fix: fix}
	}
	return t.explainGone(server, kind, isNamed)
}

// newMissingTool describes a definition that is left out, or held back.
func newMissingTool(l upstream.Left, fix string) missingTool {
	l.Kind = cmp.Or(l.Kind, lock.KindTool)
	l.Why = "what the MCP server " + l.Server + " offers by this name is held back: " + text.PrintableLine(l.Why)
	return missingTool{l, fix}
}

// listMissing lists what is missing of a server after it was asked: all of it, or what
// is left out.
func (p *LockPins) listMissing(f *FoundServer) []missingTool {
	if f.Why == "" {
		return f.missing
	}
	all := missingTool{Left: upstream.Left{Server: f.Name, Why: f.Why}}
	if by := "MCP server " + f.Name; !strings.Contains(f.Why, by) {
		all.Why = "the " + by + " is not there: " + f.Why
	}
	switch w := p.written[f.Name]; {
	case f.hint != "":
		all.fix = p.acceptCommand(&all.Left)
	case w != nil && !w.isUnchanged():
		all.fix = w.acceptFix(p.commandLine)
	default:
		all.fix = "make it start: " + p.commandLine("check") + " tries it again"
	}
	return []missingTool{all}
}

// acceptCommand returns the command that shows what differs of a tool or of a whole
// server and pins it after a yes, or that pins a server of which nothing is pinned.
func (p *LockPins) acceptCommand(l *upstream.Left) string {
	scope := lock.Scope{Server: l.Server}
	if l.Kind == lock.KindTool {
		scope.Tool = l.Tool
	}
	if _, known := p.PinnedServer(l.Server); !known {
		return p.commandLine("lock")
	}
	return p.commandLine("lock accept " + text.ShellWord(scope.String()))
}

// LeftOf selects named tools, for commands about them. To the caller these
// tools do not exist; the operator has to learn why.
func LeftOf(ids ...string) func(l *upstream.Left) bool {
	return func(l *upstream.Left) bool {
		// A tool whose name cannot be mapped cannot be named by any command.
		mapped, _ := lock.MapName(l.Server, l.Tool)
		return slices.ContainsFunc(ids, func(id string) bool {
			_, name := sallyport.ParseID(id)
			return name == l.Tool || name == mapped
		})
	}
}
