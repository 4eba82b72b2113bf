package registry

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/scoped"
)

// compiledRole is a personality with its lists compiled and its grants
// remembered. A role is replaced when the lookup returns another personality.
type compiledRole struct {
	personality *sallyport.Personality // nil when there is none
	known       bool                   // false: a name that the lookup does not know
	all         bool                   // no toolset: every built-in tool
	names       map[string]bool
	labels      map[string]bool
	scopes      sync.Map // *toolEntry -> *compiledScope

	mu      sync.Mutex
	retired []*scoped.Scope // closed with the role, for calls may run in them
}

// retireScope keeps a scope that was replaced until the role is closed.
func (ro *compiledRole) retireScope(s *scoped.Scope) {
	ro.mu.Lock()
	defer ro.mu.Unlock()
	ro.retired = append(ro.retired, s)
}

// roleFor returns the compiled personality of a name. A registry without
// personalities has one role for every name: declarations stand on their own.
func (r *Registry) roleFor(name string) *compiledRole {
	if r.backends.Personalities == nil {
		name = ""
		if v, ok := r.roles.Load(name); ok {
			return v.(*compiledRole)
		}
		v, _ := r.roles.LoadOrStore(name, newCompiledRole(nil, true))
		return v.(*compiledRole)
	}
	p, ok := r.backends.Personalities.Personality(name)
	if !ok {
		return &compiledRole{}
	}
	if v, found := r.roles.Load(name); found && v.(*compiledRole).personality == p {
		return v.(*compiledRole)
	}
	if p.FSReach != nil {
		r.noteWrites("personality "+name, p.FSReach.Write)
	}
	fresh := newCompiledRole(p, true)
	r.roles.Store(name, fresh)
	return fresh
}

func newCompiledRole(p *sallyport.Personality, known bool) *compiledRole {
	ro := &compiledRole{personality: p, known: known, all: p == nil || p.Toolset == nil}
	if ro.all {
		return ro
	}
	ro.names, ro.labels = map[string]bool{}, map[string]bool{}
	for _, item := range p.Toolset {
		if label, ok := strings.CutPrefix(item, "@"); ok {
			ro.labels[label] = true
		} else {
			ro.names[item] = true
		}
	}
	return ro
}

func (ro *compiledRole) close() {
	ro.scopes.Range(func(_, v any) bool {
		v.(*compiledScope).scope.Close()
		return true
	})
	ro.mu.Lock()
	defer ro.mu.Unlock()
	for _, s := range ro.retired {
		s.Close()
	}
}

// name returns the personality's name in messages.
func (ro *compiledRole) name() string {
	if ro.personality == nil {
		return ""
	}
	return ro.personality.Name
}

// sourceOf returns the source of a key of this personality.
func (ro *compiledRole) sourceOf(key string) string { return ro.personality.Source(key) }

// explainRefusal adds to an accessor's refusal the source of the rule and the
// smallest change, where the accessor did not know them. A floor has a source
// and no change.
func (ro *compiledRole) explainRefusal(t *sallyport.Tool, d sallyport.Decision) sallyport.Decision {
	if d.Source == reach.FloorSource && ro.deniesHost(d) {
		d.Source = ro.sourceOf("safety.network.deny")
		d.Fix = fmt.Sprintf("take what covers %s off personalities.%s.safety.network.deny", d.Resource, ro.name())
		return d
	}
	var key string
	deferred := false
	if r, ok := group.FindReach(d.Capability); ok {
		key, deferred = r.Ceiling.Key, r.Defers(&t.Capabilities)
	}
	if d.Source == reach.LinkSource {
		d.Source = ro.sourceOf(key)
		return d
	}
	dropped := deferred && d.Fix != "" // the personality gives the group nothing at all
	if key == "" || d.Resource == "" || !dropped && (d.Source != "" || d.Fix != "") {
		return d
	}
	if ro.personality == nil || !deferred {
		d.Fix = "declare " + d.Resource + " in the tool's capabilities." + d.Capability
		return d
	}
	item := d.Resource
	if strings.HasPrefix(key, "fs_reach.") {
		item = resolveLinks(item)
	}
	d.Source = ro.sourceOf(key)
	d.Fix = fmt.Sprintf("add %s to personalities.%s.%s", item, ro.name(), key)
	return d
}

// resolveLinks returns where a path leads: a grant that passes a link which
// tools may replace is withheld, so that only the target itself can be
// granted. A path of which nothing is there stays.
func resolveLinks(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// deniesHost reports whether a refused host is on the personality's own list.
// Whatever port an entry names, the host that a decision is about may stand
// without one.
func (ro *compiledRole) deniesHost(d sallyport.Decision) bool {
	if d.Capability != "network" || ro.personality == nil || ro.personality.Network == nil {
		return false
	}
	list, err := reach.ParseHosts(ro.personality.Network.Deny)
	host, port, splitErr := reach.SplitHostPort(d.Resource)
	if err != nil || splitErr != nil {
		return false
	}
	deny := reach.NewDenyHosts(list)
	if port != 0 {
		return deny.Match(host, port)
	}
	return deny.Match(host, 443) || deny.Match(host, 80)
}

// decideVisible decides whether the personality and the surface offer a tool. A
// surface's exclusion beats group.Everything; then the list that is responsible
// for the tool's origin decides.
func (ro *compiledRole) decideVisible(t *sallyport.Tool, exclude []string) sallyport.Decision {
	d := sallyport.Decision{Step: sallyport.StepVisible}
	switch server := t.Server(); {
	case isExcluded(t, exclude):
		d.Why = "excluded by the surface"
	case !ro.known:
		d.Why = "no such personality"
	case strings.HasPrefix(t.Name, "mcp__"):
		return ro.decideListed(d, "mcp_servers", server, ro.listedServers())
	case t.Plugin != "":
		return ro.decideListed(d, "plugins", t.Plugin, ro.listedPlugins())
	case t.AlwaysInclude, ro.all, ro.names[t.Name], t.Toolset != "" && ro.labels[t.Toolset]:
		d.Allowed = true
	default:
		d.Why = fmt.Sprintf("%s is not in the toolset of personality %s", t.Name, ro.name())
		d.Source = ro.sourceOf("toolset")
		d.Fix = fmt.Sprintf("add %s to personalities.%s.toolset", t.Name, ro.name())
	}
	return d
}

// isExcluded reports whether a surface leaves a tool out, by its name for every
// form of it or by its ID.
func isExcluded(t *sallyport.Tool, exclude []string) bool {
	return len(exclude) > 0 && (slices.Contains(exclude, t.Name) || slices.Contains(exclude, t.ID()))
}

// decideListed decides by a list that means "none" when it is absent.
func (ro *compiledRole) decideListed(d sallyport.Decision, key, item string, list []string) sallyport.Decision {
	if item != "" && slices.Contains(list, item) {
		d.Allowed = true
		return d
	}
	d.Why = fmt.Sprintf("%q is not in %s of personality %s", item, key, ro.name())
	d.Source = ro.sourceOf(key)
	d.Fix = fmt.Sprintf("add %s to personalities.%s.%s", item, ro.name(), key)
	return d
}

// listedServers returns the servers that the personality lists.
func (ro *compiledRole) listedServers() []string {
	if ro.personality == nil {
		return nil
	}
	return ro.personality.MCPServers
}

// listedPlugins returns the plugins that the personality lists.
func (ro *compiledRole) listedPlugins() []string {
	if ro.personality == nil {
		return nil
	}
	return ro.personality.Plugins
}

// assumeRole finds the role of the call, and refuses a caller whose principal
// may not take it.
func (c *call) assumeRole() bool {
	c.role = c.r.roleFor(c.caller.Personality)
	p := &c.caller.Principal
	if mayAssumeRole(p, c.caller.Personality) {
		return true
	}
	d := sallyport.Decision{
		Step: sallyport.StepVisible,
		Why:  fmt.Sprintf("principal %s may not take personality %q", p.Name, c.caller.Personality),
		Fix:  fmt.Sprintf("add %s to principals.%s.personalities", c.caller.Personality, p.Name),
	}
	return c.refuse(d, sallyport.CodeNotAvailable, "Tool "+c.q.Tool+" is not permitted for this personality")
}

// checkVisible refuses a tool that the role or the surface does not offer.
func (c *call) checkVisible() bool {
	d := c.role.decideVisible(&c.entry.tool, c.caller.Exclude)
	if d.Allowed {
		return c.allowStep(sallyport.StepVisible)
	}
	text := "Tool " + c.q.Tool + " is not permitted for this personality"
	if isExcluded(&c.entry.tool, c.caller.Exclude) {
		text = "Tool " + c.q.Tool + " is not available on this surface"
	}
	return c.refuse(d, sallyport.CodeNotAvailable, text)
}
