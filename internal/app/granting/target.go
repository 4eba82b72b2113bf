package granting

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

// The kinds of targets, as they stand in front of a name.
const (
	targetServer = "server"
	targetRole   = "role"
	targetTool   = "tool"
)

// target is what a request is about.
type target struct {
	kind, name string
	// declared is what a server or tool declares.
	declared sallyport.Capabilities
	// tool is a tool of the server, or the tool itself, as roles list it.
	tool sallyport.Tool
	// roles are those that list a server or tool.
	roles []*sallyport.Personality
}

// findTarget finds the server, role or tool that a request names.
func findTarget(rt *app.Runtime, r *Request) (*target, error) {
	c := rt.InForce().Config
	want, name, prefixed := strings.Cut(r.Target, ":")
	if !prefixed {
		want, name = "", r.Target
	}
	if server := app.ServerOf(name); server != "" {
		return nil, fmt.Errorf("%s is a tool of the MCP server %s, which is granted as a whole: %s", name, server, r.Command(server))
	}
	kinds := slices.DeleteFunc(kindsOf(rt, name), func(k string) bool { return prefixed && k != want })
	switch len(kinds) {
	case 0:
		return nil, unknownTarget(rt, r, name)
	case 1:
	default:
		return nil, fmt.Errorf("%s is the name of a %s: say which, as in %s", name, strings.Join(kinds, " and of a "), r.Command(kinds[0]+":"+name))
	}
	t := &target{kind: kinds[0], name: name}
	switch t.kind {
	case targetRole:
		p, _ := c.Personality(name)
		t.roles = []*sallyport.Personality{p}
		return t, nil
	case targetServer:
		for i := range rt.InForce().Servers.Declared {
			if rt.InForce().Servers.Declared[i].Name == name {
				t.declared = rt.InForce().Servers.Declared[i].Capabilities
				t.tool = sallyport.Tool{Name: "mcp__" + name + "__"}
			}
		}
		for _, role := range rt.InForce().RolesWith(name) {
			p, _ := c.Personality(role)
			t.roles = append(t.roles, p)
		}
	case targetTool:
		for i := range rt.InForce().Tools {
			if rt.InForce().Tools[i].Name == name {
				t.declared, t.tool = rt.InForce().Tools[i].Capabilities, rt.InForce().Tools[i]
			}
		}
		for _, role := range rolesOffering(rt, name) {
			p, _ := c.Personality(role)
			t.roles = append(t.roles, p)
		}
	}
	return t, t.limitRoles(r)
}

// kindsOf returns the kinds of what has a name.
func kindsOf(rt *app.Runtime, name string) (kinds []string) {
	has := func(parts []config.Part) bool {
		return slices.ContainsFunc(parts, func(p config.Part) bool { return p.ID == name })
	}
	if has(rt.InForce().Config.Servers) {
		kinds = append(kinds, targetServer)
	}
	if _, ok := rt.InForce().Config.Personality(name); ok && !rt.InForce().Config.Implicit {
		kinds = append(kinds, targetRole)
	}
	if has(rt.InForce().Config.Actions) {
		kinds = append(kinds, targetTool)
	}
	return kinds
}

// limitRoles leaves only the role that a request names.
func (t *target) limitRoles(r *Request) error {
	if r.Role == "" {
		return nil
	}
	t.roles = slices.DeleteFunc(t.roles, func(p *sallyport.Personality) bool { return p.Name != r.Role })
	if len(t.roles) == 0 {
		return fmt.Errorf("the role %s does not list the %s %s", text.PrintableLine(r.Role), t.kind, t.name)
	}
	return nil
}

// commandForRoles returns the request about a tool of the program as one about its
// role: the one that the request names, or those that offer the tool, else all.
func commandForRoles(rt *app.Runtime, r *Request, tool string) string {
	commandFor := func(role string) string { return rt.ShortCommand(strings.TrimPrefix(r.Command(role), "sallyport ")) }
	if r.Role != "" {
		return commandFor(r.Role)
	}
	roles := rolesOffering(rt, tool)
	if len(roles) == 0 {
		roles = rt.InForce().Config.Names()
	}
	command := commandFor(roles[0])
	if len(roles) > 1 {
		command += ", or the same with " + strings.Join(roles[1:], " or ")
	}
	return command
}

// rolesOffering returns the names of the roles that offer a tool.
func rolesOffering(rt *app.Runtime, name string) []string {
	return slices.DeleteFunc(rt.InForce().Config.Names(), func(role string) bool {
		return !slices.ContainsFunc(rt.InForce().Registry.List(&sallyport.Caller{Personality: role}), func(t sallyport.Tool) bool { return t.Name == name })
	})
}

// unknownTarget describes a name that nothing in the configuration has.
func unknownTarget(rt *app.Runtime, r *Request, name string) error {
	names := rt.InForce().Config.Names()
	for _, parts := range [][]config.Part{rt.InForce().Config.Servers, rt.InForce().Config.Actions} {
		for i := range parts {
			names = append(names, parts[i].ID)
		}
	}
	at := slices.IndexFunc(rt.InForce().Tools, func(t sallyport.Tool) bool { return t.Name == name })
	builtin := at >= 0
	if builtin && !r.Revoke {
		if err := adviseOnCode(rt, r, &rt.InForce().Tools[at]); err != nil {
			return err
		}
	}
	switch {
	case builtin && rt.InForce().Config.Implicit:
		return fmt.Errorf("%s is a tool of the program, which may touch what its role allows: the configuration has no personalities yet", name)
	case builtin:
		return fmt.Errorf("%s is a tool of the program, which may touch what its role allows: %s", name, commandForRoles(rt, r, name))
	case rt.InForce().Config.Implicit:
		return fmt.Errorf("no server, role or tool has the name %s: the configuration has no personalities yet", text.PrintableLine(name))
	}
	if near := yamldoc.Suggest(name, names); near != "" {
		return fmt.Errorf("no server, role or tool has the name %s; did you mean %s?", text.PrintableLine(name), near)
	}
	return fmt.Errorf("no server, role or tool has the name %s: expected one of %s", text.PrintableLine(name), strings.Join(names, ", "))
}

// adviseOnCode says that the code of a tool has to declare what a request names before a
// grant gives it; nil where it does.
func adviseOnCode(rt *app.Runtime, r *Request, tool *sallyport.Tool) error {
	items, fault := r.parseItems(rt.Env, rt.InForce().Config)
	if fault != nil {
		return nil // the command about the role says what is wrong
	}
	p := &planner{rt: rt, inWorkspace: *rt.Env}
	t := target{kind: targetTool, name: tool.Name, tool: *tool}
	var lacks, where []string
	granted := true
	for _, item := range items {
		if p.reachesItem(&tool.Capabilities, item) {
			continue
		}
		lacks, where = append(lacks, item.text), append(where, "capabilities."+lists[item.kind].reach)
		for _, role := range rolesOffering(rt, tool.Name) {
			personality, _ := rt.InForce().Config.Personality(role)
			has, err := t.allowsItem(personality, item)
			granted = granted && has && err == nil
		}
	}
	if len(lacks) == 0 {
		return nil
	}
	then := ""
	if !granted && !rt.InForce().Config.Implicit {
		then = ", and then run " + commandForRoles(rt, r, tool.Name)
	}
	return fmt.Errorf("%s is a tool of the program, whose code does not declare %s: declare it in the tool's %s%s",
		tool.Name, text.PrintableLine(strings.Join(lacks, ", ")), strings.Join(slices.Compact(where), ", "), then)
}
