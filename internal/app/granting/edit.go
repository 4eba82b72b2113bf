package granting

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

// lists says where the lists of a kind are: in a declaration, in a role by its long
// key, and the group that compares them.
var lists = map[kind]struct {
	declared    []string
	role, reach string
}{
	kindRead:   {[]string{"capabilities", "fs_reach", "read"}, "fs_reach.read", "fs_reach.read"},
	kindWrite:  {[]string{"capabilities", "fs_reach", "write"}, "fs_reach.write", "fs_reach.write"},
	kindHost:   {[]string{"capabilities", "network", "allowedHosts"}, "safety.network.allow", "network"},
	kindSecret: {[]string{"capabilities", "secrets"}, "safety.secrets.allow", "secrets"},
	kindBinary: {[]string{"capabilities", "process", "allowedBinaries"}, "safety.process.allow", "process"},
	// A declaration names a private address like any other host.
	kindPrivate: {[]string{"capabilities", "network", "allowedHosts"}, "safety.network.allow_private", "network"},
}

// edit is one entry that a list gets or loses.
type edit struct {
	// holder is the path of what has the list, such as mcp_servers.notes.
	holder []string
	list   []string
	item   grantItem
}

// roleKey returns the path of the list of a role, as its file spells it.
func roleKey(role *sallyport.Personality, k kind) []string {
	return strings.Split(group.SpellKey(role, lists[k].role), ".")
}

// reachesItem reports whether a declaration reaches an item already.
func (p *planner) reachesItem(c *sallyport.Capabilities, item grantItem) bool {
	r, ok := group.FindReach(lists[item.kind].reach)
	if !ok {
		return false
	}
	have := r.Declared(c)
	if r.Defers(c) && (item.kind != kindSecret && item.kind != kindBinary) {
		return true // the role says what it means
	}
	return r.Covers(p.resolveAll(item.kind, have), item.resolved)
}

// resolveAll returns entries of a list as what they mean.
func (p *planner) resolveAll(k kind, list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = p.resolveItem(k, s)
	}
	return out
}

// resolveItem returns what an entry of a list means.
func (p *planner) resolveItem(k kind, s string) string {
	if k != kindRead && k != kindWrite {
		if h, err := reach.ParseHost(s); err == nil && (k == kindHost || k == kindPrivate) {
			return h.String()
		}
		return s
	}
	if item, err := parsePath(&p.inWorkspace, p.rt.InForce().Config, s); err == nil {
		return item.resolved
	}
	return s
}

// roleList returns the list of a role that bounds a kind for a target; bounded is
// false for a role without one, under which declarations stand.
func (t *target) roleList(p *sallyport.Personality, k kind) (list []string, bounded bool) {
	n := p.Network
	switch k {
	case kindRead, kindWrite:
		if p.FilesStand(&t.tool) {
			return nil, false
		}
		if p.FSReach == nil {
			return nil, true
		}
		if k == kindRead {
			return p.FSReach.Read, true
		}
		return p.FSReach.Write, true
	case kindHost:
		if n == nil || n.Allow == nil {
			return nil, false
		}
		return slices.Concat(n.Allow, n.Private), true
	case kindPrivate:
		if n == nil {
			return nil, true
		}
		return n.Private, !n.AllowPrivate
	case kindSecret:
		return p.Secrets, p.Secrets != nil
	case kindBinary:
		return p.Process, p.Process != nil
	default:
		return nil, true
	}
}

// allowsItem reports whether a role lets an item through, and why it never would.
func (t *target) allowsItem(p *sallyport.Personality, item grantItem) (bool, error) {
	if n := p.Network; n != nil && (item.kind == kindHost || item.kind == kindPrivate) {
		if r, ok := group.FindReach("network"); ok && r.Covers(n.Deny, item.resolved) {
			return false, fmt.Errorf("%s is under safety.network.deny of the role %s, which no grant beats", item.text, p.Name)
		}
	}
	list, bounded := t.roleList(p, item.kind)
	if !bounded {
		return true, nil
	}
	if item.kind == kindPrivate {
		return slices.Contains(list, item.resolved), nil
	}
	r, ok := group.FindReach(lists[item.kind].reach)
	return ok && r.Covers(list, item.resolved), nil
}

// findAdditions returns the entries that are missing for a request.
func (p *planner) findAdditions(items []grantItem) (edits []edit, err error) {
	var roles []string
	for _, item := range items {
		if p.target.kind != targetRole && !p.reachesItem(&p.target.declared, item) {
			edits = append(edits, edit{p.holder, lists[item.kind].declared, item})
		}
		for _, role := range p.target.roles {
			ok, err := p.target.allowsItem(role, item)
			if err != nil {
				return nil, err
			}
			if p.target.kind == targetRole || p.leavesToRole(role, item) {
				if err := p.refuseFirstEntry(role, item); err != nil {
					return nil, err
				}
				ok = ok && p.target.kind == targetRole
			}
			if !ok {
				edits = append(edits, edit{[]string{"personalities", role.Name}, roleKey(role, item.kind), item})
				roles = append(roles, role.Name)
			}
		}
	}
	slices.Sort(roles)
	if roles = slices.Compact(roles); len(roles) > 1 && p.target.kind != targetRole {
		return nil, fmt.Errorf("several roles list %s and would all be widened: %s. Name one with --role, or each in turn", p.target.name, strings.Join(roles, ", "))
	}
	return edits, nil
}

// leavesToRole reports whether a declaration leaves a kind to a role that has no list
// for it, and so gives nothing.
func (p *planner) leavesToRole(role *sallyport.Personality, item grantItem) bool {
	r, ok := group.FindReach(lists[item.kind].reach)
	_, bounded := p.target.roleList(role, item.kind)
	if item.kind == kindBinary && !role.DeclarationsStand {
		return false // any binary is what it says
	}
	return ok && !bounded && r.Defers(&p.target.declared)
}

// refuseFirstEntry refuses to make the first list of a role for a kind where what a
// server or tool declares stands without one: the list would bound all of them.
func (p *planner) refuseFirstEntry(role *sallyport.Personality, item grantItem) error {
	who := "a server or tool"
	switch item.kind {
	case kindPrivate:
		return nil
	case kindRead, kindWrite:
		parts := p.rt.InForce().Config.StandingParts(role)
		if len(parts) == 0 {
			return nil
		}
		who = parts[0].ID
	default:
		if _, bounded := p.target.roleList(role, item.kind); bounded {
			return nil
		}
	}
	return fmt.Errorf("the role %s has no list for this, so that what %s declares stands: grant %s to the server or tool that needs it, or write the list by hand, which then bounds all of them", role.Name, who, item.text)
}

// findRemovals returns the entries that a request takes off.
func (p *planner) findRemovals(items []grantItem) (edits []edit, err error) {
	var faults []error
	for _, item := range items {
		list := lists[item.kind].declared
		if p.target.kind == targetRole {
			list = roleKey(p.target.roles[0], item.kind)
		}
		e := edit{p.holder, list, item}
		if e.findIn(p) < 0 {
			faults = append(faults, p.notThere(e))
		}
		edits = append(edits, e)
	}
	return edits, errors.Join(faults...)
}

// findIn returns the number of the entry that means an item; -1 for none.
func (e edit) findIn(p *planner) int {
	list := p.document.Root().Find("/" + strings.Join(slices.Concat(e.holder, e.list), "/"))
	return slices.IndexFunc(list.Items(), func(n yamldoc.Node) bool {
		s, ok := n.Text()
		return ok && p.resolveItem(e.item.kind, s) == e.item.resolved
	})
}

// notThere says why an entry cannot be taken off.
func (p *planner) notThere(e edit) error {
	key := strings.Join(slices.Concat(e.holder, e.list), ".")
	r, ok := group.FindReach(lists[e.item.kind].reach)
	for _, n := range p.document.Root().Find("/" + strings.Join(slices.Concat(e.holder, e.list), "/")).Items() {
		if s, _ := n.Text(); ok && r.Covers([]string{p.resolveItem(e.item.kind, s)}, e.item.resolved) {
			return fmt.Errorf("%s is not an entry of %s, but lies within %s: revoke that, and grant less", e.item.text, key, strconv.Quote(s))
		}
	}
	return fmt.Errorf("%s is not an entry of %s", e.item.text, key)
}
