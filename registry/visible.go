package registry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
)

// assumeRole finds the role of the call, and refuses a caller whose principal
// may not take it.
func (c *call) assumeRole() bool {
	c.role = c.r.roleFor(c.caller.Personality)
	p := &c.caller.Principal
	if p.MayTake(c.caller.Personality) {
		return true
	}
	d := sallyport.Decision{
		Step: sallyport.StepVisible,
		Why:  fmt.Sprintf("principal %s may not take personality %q", p.Name, c.caller.Personality),
		Fix:  fmt.Sprintf("add %s to principals.%s.personalities", c.caller.Personality, p.Name),
	}
	return c.refuse(d, sallyport.CodeNotAvailable, "Tool "+c.q.Tool+" is not permitted for this personality")
}

func (c *call) checkVisible() bool {
	d := c.role.decideVisible(&c.entry.tool, c.caller.Exclude)
	if d.Allowed {
		return c.checkOpen() && c.allowStep(sallyport.StepVisible)
	}
	text := "Tool " + c.q.Tool + " is not permitted for this personality"
	if isExcluded(&c.entry.tool, c.caller.Exclude) {
		text = "Tool " + c.q.Tool + " is not available on this surface"
	}
	return c.refuse(d, sallyport.CodeNotAvailable, text)
}

// decideVisible decides whether the personality and the surface offer a tool. A
// surface's exclusion beats everything; then the list that is responsible
// for the tool's origin decides.
func (ro *compiledRole) decideVisible(t *sallyport.Tool, exclude []string) sallyport.Decision {
	d := sallyport.Decision{Step: sallyport.StepVisible}
	key, item, shown := ro.findList(t)
	switch {
	case isExcluded(t, exclude):
		d.Why = "excluded by the surface"
	case shown:
		d.Allowed = true
	case !ro.known:
		d.Why = "no such personality"
	case key == "toolset":
		d.Why = fmt.Sprintf("%s is not in the toolset of personality %s", item, ro.name())
		d.Source = ro.sourceOf(key)
		d.Fix = "add " + item + " to " + ro.fullKey(key)
	default:
		d.Why = fmt.Sprintf("%q is not in %s of personality %s", item, key, ro.name())
		d.Source = ro.sourceOf(key)
		d.Fix = fmt.Sprintf("add %s to personalities.%s.%s", item, ro.name(), key)
	}
	return d
}

// findList returns the key of the personality's list that decides about a tool,
// what would have to stand in it, and whether it shows the tool. The lists of
// servers and plugins mean "none" when they are absent.
func (ro *compiledRole) findList(t *sallyport.Tool) (key, item string, shown bool) {
	p := cmp.Or(ro.personality, &noPersonality)
	switch {
	case strings.HasPrefix(t.Name, "mcp__"):
		key, item = "mcp_servers", t.Server()
		shown = item != "" && slices.Contains(p.MCPServers, item)
	case t.Plugin != "":
		key, item = "plugins", t.Plugin
		shown = slices.Contains(p.Plugins, item)
	default:
		key, item = "toolset", t.Name
		shown = t.AlwaysInclude || ro.all || ro.names[item] || t.Toolset != "" && ro.labels[t.Toolset]
	}
	return key, item, shown && ro.known
}

// listsEntry reports whether the personality lists a tool.
func (ro *compiledRole) listsEntry(e *toolEntry) bool {
	_, _, shown := ro.findList(&e.tool)
	return shown
}

// isExcluded reports whether a surface leaves a tool out, by its name for every
// form of it or by its ID.
func isExcluded(t *sallyport.Tool, exclude []string) bool {
	return len(exclude) > 0 && (slices.Contains(exclude, t.Name) || slices.Contains(exclude, t.ID()))
}
