package ceiling

import "strings"

// Untrusted returns what becomes of a call when the value at a path of arguments, such
// as "to.address", came out of untrusted content: what the nearest word says, and the
// key of that. Both are empty where the ceiling does not say.
func (c *Ceiling) Untrusted(path string) (action Action, key string) {
	r := c.root.untrustedAt(path, untrustedRule{})
	return r.action, r.key
}

// untrustedRule is a word from_untrusted and where it stands.
type untrustedRule struct {
	action Action
	key    string
}

// strictness orders what may become of a value: where nothing is said, other rules
// hold, so that "allow" is the mildest.
func (r untrustedRule) strictness() int {
	switch r.action {
	case Allow:
		return 0
	case "":
		return 1
	case Hold:
		return 2
	default:
		return 3
	}
}

// untrustedAt returns the rule for a path from here, given that of what is around it. A
// name may have dots, so that a path may mean several arguments: the strictest rule
// counts.
func (n *node) untrustedAt(path string, around untrustedRule) untrustedRule {
	if n.untrusted != "" {
		around = untrustedRule{n.untrusted, n.key}
	}
	var found *untrustedRule
	consider := func(r untrustedRule) {
		if found == nil || r.strictness() > found.strictness() {
			found = &r
		}
	}
	if n.items != nil {
		consider(n.items.untrustedAt(path, around))
	}
	for _, name := range n.names {
		rest, within := strings.CutPrefix(path, name)
		if sub := n.props[name]; within && sub != nil && (rest == "" || rest[0] == '.') {
			consider(sub.untrustedAt(strings.TrimPrefix(rest, "."), around))
		}
	}
	if found == nil {
		return around
	}
	return *found
}

// RulesUntrusted reports whether the ceiling says of some argument what becomes of a value
// that came out of untrusted content.
func (c *Ceiling) RulesUntrusted() bool { return c.root.rulesUntrusted() }

func (n *node) rulesUntrusted() bool {
	if n == nil {
		return false
	}
	if n.untrusted == Hold || n.untrusted == Refuse || n.items.rulesUntrusted() {
		return true
	}
	for _, name := range n.names {
		if n.props[name].rulesUntrusted() {
			return true
		}
	}
	return false
}
