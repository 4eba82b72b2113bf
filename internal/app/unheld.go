package app

import (
	"context"
	"fmt"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/text"
)

// FindUnheld finds the permissions of tools which a role lists, and that no principal holds
// who may take the role: every call of such a tool is refused. What an OpenID provider gives
// is not known, so that nothing is said where one is trusted.
func (rt *Runtime) FindUnheld(ctx context.Context) (list []Lack, err error) {
	c := rt.InForce().Config
	if c.Implicit || c.Security.OIDC != nil {
		return nil, nil
	}
	principals, err := rt.listPrincipals(ctx)
	if err != nil {
		return nil, err
	}
	tools := rt.InForce().Registry.Tools()
	for _, role := range c.Names() {
		p, _ := c.Personality(role)
		for i := range tools {
			for _, permission := range tools[i].Permissions {
				if listsForPermission(p, &tools[i], tools, permission) && !mayHold(principals, role, permission) {
					list = append(list, Lack{
						What: "permission", Name: permission, Source: p.Source("toolset"), Fix: rt.fixUnheld(principals, role, permission),
						Why: fmt.Sprintf("no principal who may take the role %s holds it, so that every call of %s is refused", role, tools[i].Name),
					})
				}
			}
		}
	}
	return list, nil
}

// listPrincipals returns every principal with all that it holds, the local user included.
func (rt *Runtime) listPrincipals(ctx context.Context) ([]auth.Record, error) {
	entries, err := rt.Callers.Entries(ctx)
	if err != nil {
		return nil, err
	}
	all := []auth.Record{{Name: sallyport.LocalPrincipal}}
	for i := range entries {
		if entries[i].Name == sallyport.LocalPrincipal {
			all[0] = entries[i].Record
		} else {
			all = append(all, entries[i].Record)
		}
	}
	for i := range all {
		all[i].Permissions = slices.Concat(all[i].Permissions, rt.Callers.DefaultPermissions())
	}
	return all, nil
}

// listsForPermission reports whether a role lists a tool by its name, or by a label of which
// every tool needs the permission: a longer label lists what there is.
func listsForPermission(p *sallyport.Personality, t *sallyport.Tool, tools []sallyport.Tool, permission string) bool {
	if slices.Contains(p.Toolset, t.Name) {
		return true
	}
	other := func(o sallyport.Tool) bool {
		return o.Toolset == t.Toolset && !slices.Contains(o.Permissions, permission)
	}
	return t.Toolset != "" && slices.Contains(p.Toolset, "@"+t.Toolset) && !slices.ContainsFunc(tools, other)
}

// mayHold reports whether a principal who may take a role holds a permission.
func mayHold(principals []auth.Record, role, permission string) bool {
	return slices.ContainsFunc(principals, func(r auth.Record) bool {
		return mayTakeRole(&r, role) && slices.Contains(r.Permissions, permission)
	})
}

func mayTakeRole(r *auth.Record, role string) bool {
	return r.Personalities == nil || slices.Contains(r.Personalities, role)
}

// fixUnheld returns the edit that gives the local user a permission, where it may take the
// role, and the command that makes another principal with it.
func (rt *Runtime) fixUnheld(principals []auth.Record, role, permission string) string {
	add := rt.CommandLine("principals add NAME" + text.RepeatFlag("permission", []string{permission}) + text.RepeatFlag("personality", []string{role}))
	if !mayTakeRole(&principals[0], role) {
		return "run " + add
	}
	written := rt.InForce().Config.Principals
	edit := "add principals: {local: {permissions: [" + permission + "]}} to the configuration"
	if _, local := written[sallyport.LocalPrincipal]; local {
		edit = "add " + permission + " to principals.local.permissions"
	} else if len(written) > 0 {
		edit = "add local: {permissions: [" + permission + "]} to principals"
	}
	return edit + ", or run " + add
}
