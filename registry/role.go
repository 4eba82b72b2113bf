package registry

import (
	"cmp"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/egress"
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
	// command returns the command that lets a tool touch an item; nil for none.
	command func(tool, role, capability, item string) string
	// commandLine returns a command of an operator as it is typed.
	commandLine func(command string) string
	scopes      sync.Map // *toolEntry -> *compiledScope
	ceilings    sync.Map // *toolEntry -> *toolCeiling
	plans       sync.Map // *toolEntry -> *argumentPlan

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
		v, ok := r.roles.Load("")
		if !ok {
			v, _ = r.roles.LoadOrStore("", r.newCompiledRole(nil))
		}
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
	fresh := r.newCompiledRole(p)
	if v, replaced := r.roles.Swap(name, fresh); replaced {
		r.lists.forgetRole(v.(*compiledRole))
	}
	return fresh
}

func (r *Registry) newCompiledRole(p *sallyport.Personality) *compiledRole {
	ro := &compiledRole{personality: p, known: true, all: p == nil || p.Toolset == nil, command: r.o.FixCommand, commandLine: r.o.CommandLine}
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

func (ro *compiledRole) name() string {
	return cmp.Or(ro.personality, &noPersonality).Name
}

// noPersonality has no name and lists nothing.
var noPersonality sallyport.Personality

func (ro *compiledRole) sourceOf(key string) string { return ro.personality.Source(key) }

// fullKey returns a key of the role from the top of its file, as the file spells it.
func (ro *compiledRole) fullKey(key string) string {
	return "personalities." + ro.name() + "." + group.SpellKey(ro.personality, key)
}

// explainRefusal adds to an accessor's refusal the source of the rule and the
// smallest change, where the accessor did not know them. A floor has a source
// and no change.
func (ro *compiledRole) explainRefusal(t *sallyport.Tool, d sallyport.Decision) sallyport.Decision {
	if command, ok := strings.CutPrefix(d.Fix, "sallyport "); ok && !strings.Contains(command, orEdit) {
		// No rule refused, and the accessor knows what helps.
		d.Fix = ro.commandLine(command)
		return d
	}
	d, item := ro.addRule(t, d)
	d.Fix = ro.addCommand(t, d.Capability, item, d.Fix)
	return d
}

// addCommand puts the command that grants an item in front of an edit that adds it.
func (ro *compiledRole) addCommand(t *sallyport.Tool, capability, item, edit string) string {
	adds := strings.HasPrefix(edit, "add ") || strings.HasPrefix(edit, "declare ")
	if ro.command == nil || !adds || item == "" {
		return edit
	}
	command := ro.command(t.Name, ro.name(), capability, item)
	switch {
	case command == "":
		return edit
	case !isOutsideCode(t, capability, item):
		return command + orEdit + edit
	case ro.hasItem(capability, item):
		return edit
	default:
		return edit + ", and then run " + command
	}
}

// isOutsideCode reports whether the code of a tool declares less than an item, so that no
// grant lifts a refusal. Other declarations are in the configuration, and the command that
// grants an item adds it to them.
func isOutsideCode(t *sallyport.Tool, capability, item string) bool {
	r, ok := group.FindReach(capability)
	return ok && t.Sources == nil && t.Server() == "" && !r.Defers(&t.Capabilities) && !r.Covers(r.Declared(&t.Capabilities), item)
}

// hasItem reports whether the role grants an item to a tool that declares it.
func (ro *compiledRole) hasItem(capability, item string) bool {
	r, ok := group.FindReach(capability)
	switch p := ro.personality; {
	case !ok || p == nil:
		return false
	case capability == group.Network:
		return privateLiteral(item) == "" && (p.Network == nil || slices.Contains(p.Network.Allow, group.Everything) || r.Covers(p.Network.Allow, item))
	case r.Ceiling.List == nil:
		return false // no file that a program declares is granted by itself
	default:
		list := r.Ceiling.List(p)
		return list == nil || r.Covers(list, item)
	}
}

// orEdit joins the command and the edit of a fix.
const orEdit = ", or "

// joinFixes joins two ways to let a call pass, each of which may be empty.
func joinFixes(first, second string) string {
	if first == "" || second == "" {
		return first + second
	}
	return first + orEdit + second
}

// addRule adds the source and the edit to a refusal. It returns the item that would
// have to be granted, empty when no grant lifts the refusal.
func (ro *compiledRole) addRule(t *sallyport.Tool, d sallyport.Decision) (ruled sallyport.Decision, item string) {
	if ruled, ok := ro.addDenyRule(d); ok {
		return ruled, ""
	}
	if address := privateAddressOf(d); address != "" && ro.personality != nil {
		d.Fix = fmt.Sprintf("add %s to personalities.%s.safety.network.allow_private", address, ro.name())
		return d, address
	}
	var key string
	deferred, declared := false, false
	if r, ok := group.FindReach(d.Capability); ok {
		key, deferred = r.Ceiling.Key, r.Defers(&t.Capabilities)
		declared = d.Resource != "" && r.Covers(r.Declared(&t.Capabilities), d.Resource)
	}
	if d.Source == reach.LinkSource {
		d.Source = ro.sourceOf(key)
		return d, ""
	}
	dropped := deferred && d.Fix != "" // the personality gives the group nothing at all
	switch {
	case d.Source == reach.FloorSource:
		return d, ""
	case key == "" || d.Resource == "" || !dropped && (d.Source != "" || d.Fix != ""):
		if d.Source == "" && d.Fix != "" {
			d.Source = t.Source("capabilities")
		}
		return d, d.Resource
	case ro.personality == nil || !deferred && !declared:
		d.Fix = "declare " + d.Resource + " in the tool's capabilities." + d.Capability
		d.Source = t.Source("capabilities")
		return d, d.Resource
	}
	item = d.Resource
	if strings.HasPrefix(key, "fs_reach.") {
		// A grant that passes a link which tools may replace is withheld: only
		// the target itself can be granted.
		if real, err := filepath.EvalSymlinks(item); err == nil {
			item = real
		}
	}
	if address := privateLiteral(item); d.Capability == group.Network && address != "" && !ro.grantsAddress(address) {
		item, key = address, "safety.network.allow_private"
	}
	d.Source = ro.sourceOf(key)
	d.Fix = "add " + item + " to " + ro.fullKey(key)
	return d, item
}

// grantsAddress reports whether the role has a private address with its port already: what
// is missing then is a name for it, such as localhost.
func (ro *compiledRole) grantsAddress(address string) bool {
	n := ro.personality.Network
	return n != nil && slices.Contains(n.Private, address)
}

// privateAddressOf returns the address with its port of a host that was refused
// because it is private, which the list of a role may lift; empty for every other
// refusal.
func privateAddressOf(d sallyport.Decision) string {
	if d.Capability != group.Network || d.Source != reach.FloorSource {
		return ""
	}
	host, port, err := reach.SplitHostPort(d.Resource)
	if err != nil || !strings.Contains(d.Why, "is a private address (") {
		return ""
	}
	if port == 0 {
		port = 443
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	switch {
	case host == "localhost":
		a = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	case err != nil:
		return fmt.Sprintf("the address of %s with the port %d", host, port)
	case egress.Floor(a, true) != "":
		return ""
	}
	return netip.AddrPortFrom(a, port).String()
}

// privateLiteral returns a host that is a private address with a port, which the
// list of a role may lift; empty for every other host.
func privateLiteral(host string) string {
	name, port, err := reach.SplitHostPort(host)
	if name == "localhost" {
		name = "127.0.0.1"
	}
	a, addrErr := netip.ParseAddr(strings.Trim(name, "[]"))
	if err != nil || addrErr != nil || port == 0 || egress.Floor(a, false) == "" || egress.Floor(a, true) != "" {
		return ""
	}
	return netip.AddrPortFrom(a, port).String()
}

// requiresApproval reports whether a human decides about a tool under this
// role: its name is listed, its label as "@label", or "*".
func (ro *compiledRole) requiresApproval(t *sallyport.Tool) bool {
	if ro.personality == nil || ro.personality.Approvals == nil {
		return false
	}
	return listsTool(ro.personality.Approvals.Require, t)
}

// mayElicit reports whether the person behind a client may decide.
func (ro *compiledRole) mayElicit() bool {
	return ro.personality == nil || ro.personality.Approvals == nil || !ro.personality.Approvals.OperatorOnly
}

func (ro *compiledRole) approvalRules() sallyport.Approvals {
	if ro.personality.Approvals == nil {
		return sallyport.Approvals{Wait: defaultApprovalWait, WaitForPerson: true}
	}
	return *ro.personality.Approvals
}

// listsTool reports whether a list of tools includes one: by name, by label,
// by server, or all.
func listsTool(list []string, t *sallyport.Tool) bool {
	server := t.Server()
	return slices.ContainsFunc(list, func(item string) bool {
		return item == t.Name || item == group.Everything || t.Toolset != "" && item == "@"+t.Toolset ||
			server != "" && item == "mcp__"+server+"__*"
	})
}
