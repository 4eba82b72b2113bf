package registry

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

// flowHold says why what was read before holds a call: in words for those who
// decide and for the caller, and the key of the rule. Empty when it does not.
//
// Several reasons may hold a call: the key is that of the first, keys those of all, a
// line each. Those of ceilings end with the word that holds the call: a person who let an
// argument exceed a bound has not said that it may come from untrusted content.
type flowHold struct {
	why, because, key, keys string
	// unknown is every value that holds the call since it is in no set, with the
	// sets that could have it; nil when something else holds the call too.
	unknown map[string][]string
	// unread is true when an argument holds the call only since not all that was read is
	// known.
	unread bool
}

// addHold adds a reason to hold the call to those that there are.
func (c *call) addHold(h flowHold) { c.hold.add(&h) }

// add adds reasons. Those that hold the call already are not told again.
func (h *flowHold) add(more *flowHold) {
	keys := cmp.Or(more.keys, more.key)
	if h.why == "" {
		*h = *more
		h.keys = keys
		return
	}
	for key := range strings.SplitSeq(keys, betweenKeys) {
		if !h.has(key) {
			h.keys += betweenKeys + key
		}
	}
	if !strings.Contains(h.why, more.why) {
		h.why += "; " + more.why
	}
	h.unread = h.unread || more.unread
	if h.unknown == nil || more.unknown == nil {
		h.unknown = nil
		return
	}
	h.unknown = maps.Clone(h.unknown)
	maps.Copy(h.unknown, more.unknown)
}

// has reports whether a key is among those that hold the call.
func (h *flowHold) has(key string) bool {
	return strings.Contains(betweenKeys+h.keys+betweenKeys, betweenKeys+key+betweenKeys)
}

func (c *call) flowReason(key string, private, untrusted *sallyport.FactMark) (what, why string) {
	switch {
	case key != keyAfterBoth:
		return "untrusted content was read", "the tool is listed, after untrusted content" + c.sourceOf(untrusted)
	case c.flowConcern() == concernCall:
		return "untrusted content was read", "it cannot be taken back, after untrusted content" + c.sourceOf(untrusted)
	case private == nil:
		return "untrusted content was read",
			"it may itself read private data, and carry data out or write outside the workspace, after untrusted content" + c.sourceOf(untrusted)
	default:
		return "private data and untrusted content were read",
			"it may carry data out or write outside the workspace, after private data" + c.sourceOf(private) +
				" and untrusted content" + c.sourceOf(untrusted)
	}
}

// sourceOf names the call that a mark comes from.
func (c *call) sourceOf(m *sallyport.FactMark) string {
	whose := "by the principal"
	if m.Session {
		whose = "in the session"
	}
	return fmt.Sprintf(" (%s %s, call %s)", cleanWord(c.cleaner(), m.Tool), whose, m.CallID)
}

// flowFix is the smallest change that would let a call pass.
func (c *call) flowFix(key string) string {
	switch {
	case isOfTask(key):
		return ""
	case strings.HasPrefix(key, "arguments."):
		return "change personalities." + c.role.name() + "." + key
	}
	if key == keyAfterBoth {
		return fmt.Sprintf("add %s to personalities.%s.safety.flow.allow, or sallyport principals forget %s",
			c.entry.tool.Name, c.role.name(), text.ShellWord(c.caller.Principal.Name))
	}
	return fmt.Sprintf("take what covers %s off personalities.%s.%s", c.entry.tool.Name, c.role.name(), key)
}

// readFix is flowFix for a rule about an argument. Where the argument counts only since not
// all that was read is known, to forget that ends it, too.
func (c *call) readFix(key string, unread bool) string {
	fix := c.flowFix(key)
	if !unread || key == keyAfterBoth {
		return fix
	}
	forget := c.r.o.CommandLine("principals forget " + text.ShellWord(c.caller.Principal.Name))
	return joinFixes(fix, forget+", which forgets what its sessions read, and its notes")
}
