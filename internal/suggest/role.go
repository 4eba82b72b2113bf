package suggest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

const (
	// maxClosed bounds the tools of one server that are closed one by one.
	maxClosed = 200
	// maxRemarks bounds what is said.
	maxRemarks = 500
)

// Role is the role as it is today.
type Role struct {
	// Personality is what it means.
	Personality *sallyport.Personality
	// Text is what its file says; nil for a role that no file has.
	Text *yamldoc.Value
	// Spell returns a path as a configuration spells it; nil leaves it.
	Spell func(path string) string
}

// Wide says why parts of the role stay as they are today, by their names: "toolset", the
// name of a group such as "network", or "arguments." with the id of a tool.
type Wide map[string]string

// Remark says what was not narrowed, or not taken, and why.
type Remark struct {
	// Part is a key of the role, a tool, or an argument as "tool /pointer".
	Part string `json:"part"`
	// Why is the reason, on one line.
	Why string `json:"why"`
}

// Draft is a role that has to be proved.
type Draft struct {
	// Role is its text as a tree.
	Role *yamldoc.Value
	// LeftOut says what it leaves as it is today, and what it does not take, with the
	// reason.
	LeftOut []Remark
}

// Tools returns the ids of the tools that were used, sorted.
func (r *Record) Tools() []string { return slices.Sorted(maps.Keys(r.tools)) }

// Draft returns the least role that would have allowed the calls, but for the parts that
// stay wide.
func (r *Record) Draft(role *Role, wide Wide) *Draft {
	d := drafter{record: r, role: role, wide: wide, out: &Draft{Role: newMapping()}}
	if role.Text != nil && role.Text.Kind == yamldoc.KindMapping {
		d.out.Role = cloneValue(role.Text)
	}
	for _, part := range slices.Sorted(maps.Keys(wide)) {
		d.addRemark(part, "stays as it is today: "+wide[part])
	}
	if _, ok := wide[partTools]; !ok {
		d.listTools()
	}
	for i := range group.All() {
		if g := &group.All()[i]; wide[g.Name] == "" {
			d.listGroup(g)
		}
	}
	d.boundArguments()
	return d.out
}

// The names of parts.
const (
	partTools     = "toolset"
	partArguments = "arguments."
)

type drafter struct {
	record *Record
	role   *Role
	wide   Wide
	out    *Draft
}

// addRemark says something. Names and values are those of others: they go on one line.
func (d *drafter) addRemark(part, why string) {
	if len(d.out.LeftOut) < maxRemarks {
		d.out.LeftOut = append(d.out.LeftOut, Remark{text.Clip(text.PrintableLine(part), 200), text.Clip(text.PrintableLine(why), 400)})
	}
	if len(d.out.LeftOut) == maxRemarks {
		d.out.LeftOut[maxRemarks-1] = Remark{"more", "further remarks are not listed"}
	}
}

// setKey sets a key of the role, spelled as the role spells its keys.
func (d *drafter) setKey(key string, v *yamldoc.Value) {
	setValue(d.out.Role, v, d.pathOf(key)...)
}

func (d *drafter) pathOf(key string) []string {
	return strings.Split(group.SpellKey(d.role.Personality, key), ".")
}

// Offers reports whether the lists of a role offer a tool.
func Offers(p *sallyport.Personality, t *sallyport.Tool) bool {
	switch server := t.Server(); {
	case server != "":
		return slices.Contains(p.MCPServers, server)
	case t.Plugin != "":
		return slices.Contains(p.Plugins, t.Plugin)
	default:
		return p.Toolset == nil || t.AlwaysInclude || slices.Contains(p.Toolset, t.Name) ||
			t.Toolset != "" && slices.Contains(p.Toolset, "@"+t.Toolset)
	}
}

// listTools lists the tools, servers and plugins that were used.
func (d *drafter) listTools() {
	p, tools, servers, plugins := d.role.Personality, []string{}, []string{}, []string{}
	for _, id := range d.record.Tools() {
		switch t := d.record.tools[id].tool; {
		case t.Server() != "":
			servers = append(servers, t.Server())
		case t.Plugin != "":
			plugins = append(plugins, t.Plugin)
		default:
			tools = append(tools, t.Name)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(d.record.gone)) {
		said := text.CountOf(d.record.gone[id], "call") + " of it, which the role does not offer today"
		if server := (&sallyport.Tool{Name: id}).Server(); slices.Contains(p.MCPServers, server) {
			servers = append(servers, server)
			said = text.CountOf(d.record.gone[id], "call") + " of it, which its server does not offer today; the server stays listed"
		}
		d.addRemark(id, said)
	}
	d.setKey("toolset", newList(slices.Compact(slices.Sorted(slices.Values(tools)))))
	if len(p.MCPServers)+len(servers) > 0 {
		d.setKey("mcp_servers", newList(slices.Compact(slices.Sorted(slices.Values(servers)))))
	}
	if len(p.Plugins)+len(plugins) > 0 {
		d.setKey("plugins", newList(slices.Compact(slices.Sorted(slices.Values(plugins)))))
	}
}

// listGroup lists what was touched of a group, where the role has a list of it today or a
// tool that was used asks for some of it.
func (d *drafter) listGroup(g *group.Group) {
	asked := false
	for _, id := range d.record.Tools() {
		u := d.record.tools[id]
		if !g.Declared(&u.tool.Capabilities) {
			continue
		}
		asked = true
		if why := u.whole[g.Name]; why != "" && g.Granted(u.tool.Grant) && hasCeiling(g) {
			d.addRemark(id+" "+g.Name, "all that it may touch today is listed: "+why)
		}
	}
	for i := range g.Reaches {
		if r := &g.Reaches[i]; r.Ceiling.Key != "" && r.Granted != nil && !r.Denied {
			asked = asked || findValue(d.role.Text, d.pathOf(r.Ceiling.Key)...) != nil
		}
	}
	if !asked {
		return
	}
	for i := range g.Reaches {
		if r := &g.Reaches[i]; r.Ceiling.Key != "" && r.Granted != nil && !r.Denied {
			d.listReach(r)
		}
	}
}

func hasCeiling(g *group.Group) bool {
	return slices.ContainsFunc(g.Reaches, func(r group.Reach) bool { return r.Ceiling.Key != "" && r.Granted != nil && !r.Denied })
}

// listReach sets one list of the role.
func (d *drafter) listReach(r *group.Reach) {
	var items, today []string
	after := map[string]bool{} // only after untrusted content
	for _, id := range d.record.Tools() {
		u := d.record.tools[id]
		items, today = append(items, u.needed(r)...), append(today, r.Granted(u.tool.Grant)...)
		for item, t := range u.items[r.Name] {
			own, before := after[item]
			after[item] = t.untrusted == t.calls && (own || !before)
		}
		if n := u.lost[r.Name]; n > 0 {
			d.addRemark(id+" "+r.Name, "what it touched in "+text.CountOf(n, "place")+" is beyond the role today, and stays so")
		}
	}
	for _, item := range slices.Sorted(maps.Keys(after)) {
		if after[item] {
			d.addRemark(r.Name, "look at "+item+": it was touched only after untrusted content was read")
		}
	}
	list := foldList(r, slices.Compact(slices.Sorted(slices.Values(items))), slices.Compact(slices.Sorted(slices.Values(today))))
	if group.Within(r.Name, group.Network) {
		list = d.listPrivate(list)
	}
	if group.Within(r.Name, group.Files) && d.role.Spell != nil {
		for i := range list {
			list[i] = d.role.Spell(list[i])
		}
	}
	d.setKey(r.Ceiling.Key, newList(list))
}

// listPrivate takes the addresses off a list of hosts that the role lets through one by
// one, and lists them there.
func (d *drafter) listPrivate(hosts []string) (left []string) {
	n := d.role.Personality.Network
	if n == nil || n.Private == nil {
		return hosts
	}
	private := []string{}
	for _, host := range hosts {
		if slices.Contains(n.Private, host) {
			private = append(private, host)
		} else {
			left = append(left, host)
		}
	}
	d.setKey("safety.network.allow_private", newList(private))
	return left
}

// boundArguments bounds the arguments of the tools that were used, and closes the other
// tools of the servers that were used.
func (d *drafter) boundArguments() {
	ceilings := cloneValue(findValue(d.out.Role, "arguments"))
	if ceilings == nil || ceilings.Kind != yamldoc.KindMapping {
		ceilings = newMapping()
	}
	for _, id := range d.record.Tools() {
		u := d.record.tools[id]
		if d.wide[partArguments+id] != "" {
			continue
		}
		if u.unread > 0 {
			d.addRemark(id, "its arguments stay as they are today: "+text.CountOf(u.unread, "call")+" cannot be decided again")
			continue
		}
		d.boundTool(ceilings, u)
	}
	if d.wide[partTools] == "" {
		d.closeUnused(ceilings)
	}
	if len(ceilings.Fields) > 0 {
		setValue(d.out.Role, ceilings, "arguments")
	}
}

// boundTool adds what the arguments of a tool were to its ceiling.
func (d *drafter) boundTool(ceilings *yamldoc.Value, u *usage) {
	id, today := u.tool.ID(), findValue(ceilings, u.tool.ID())
	if t := findValue(today, "type"); t != nil && t.Kind == yamldoc.KindText {
		d.addRemark(id, "its ceiling today is a schema of all arguments, which stays")
		return
	}
	s := shaper{tool: u.tool, kindOf: d.record.o.KindOf, say: func(pointer, why string) {
		d.addRemark(id+" "+pointer, "no bound: "+why)
	}}
	learnt := &yamldoc.Value{Kind: yamldoc.KindMapping, Fields: s.shapeProperties(u.args, "", "")}
	if len(learnt.Fields) > 0 {
		setValue(ceilings, narrowNodes(today, learnt), id)
	}
}

// closeUnused closes the tools that were not used of servers that were.
func (d *drafter) closeUnused(ceilings *yamldoc.Value) {
	servers, closed := map[string]bool{}, map[string]int{}
	for _, u := range d.record.tools {
		servers[u.tool.Server()] = true
	}
	for _, id := range slices.Sorted(maps.Keys(d.record.o.Tools)) {
		t := d.record.o.Tools[id]
		server := t.Server()
		if server == "" || !servers[server] || d.record.tools[id] != nil || t.Form != sallyport.FormTool {
			continue
		}
		if closed[server]++; closed[server] == maxClosed+1 {
			d.addRemark(server, fmt.Sprintf("more than %d of its tools were not used; the others stay open", maxClosed))
		}
		if closed[server] <= maxClosed {
			setValue(ceilings, newFalse(), id)
		}
	}
}
