package granting

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/egress"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/text"
)

// Hint returns the command that would let a tool under a role touch something that
// was refused: an item of a capability, such as a host of network. It is empty when
// there is no such command.
func Hint(c *config.Config, tool, role, capability, item string) string {
	r := Request{}
	switch capability {
	case "network":
		switch private := privateForm(item); {
		case private == "":
			r.Hosts = []string{item}
		case grantsPrivate(c, role, private):
			return "" // what is missing is the name, which no command adds
		default:
			r.Private = []string{private}
		}
	case "fs_reach.read":
		r.Read = []string{item}
	case "fs_reach.write":
		r.Write = []string{item}
	case "secrets":
		r.Secrets = []string{item}
	case "process":
		r.Binaries = []string{item}
	default:
		return ""
	}
	// A name with characters that a terminal does not show, or that reads like the
	// rest of a fix, stands in no command that a user pastes.
	if item == "" || item == "*" || item == "from-personality" || item != text.PrintableLine(item) || strings.Contains(item, ", or ") {
		return ""
	}
	if _, err := r.parseItems(&app.Environment{Dir: c.Workspace}, c); err != nil {
		return ""
	}
	if target, several := hintTarget(c, tool); target != "" {
		if several && role != "" {
			return r.Command(target) + " --role " + role
		}
		return r.Command(target)
	}
	if role == "" || c.Implicit {
		return ""
	}
	return r.Command(role)
}

// grantsPrivate reports whether a role has a private address with its port already.
func grantsPrivate(c *config.Config, role, private string) bool {
	p, ok := c.Personality(role)
	return ok && p.Network != nil && slices.Contains(p.Network.Private, private)
}

// privateForm returns a private address that can be let through, with its port; empty
// for anything else.
func privateForm(item string) string {
	host, port, err := reach.SplitHostPort(item)
	if err != nil {
		return ""
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if port == 0 {
		port = 80
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if err != nil || egress.Floor(a, false) == "" || egress.Floor(a, true) != "" {
		return ""
	}
	return netip.AddrPortFrom(a, port).String()
}

// hintTarget returns the server or action that a tool belongs to, and whether several
// roles may list it; empty for a tool of the program.
func hintTarget(c *config.Config, tool string) (target string, several bool) {
	if server := app.ServerOf(tool); server != "" {
		count := 0
		for _, name := range c.Names() {
			if p, _ := c.Personality(name); slices.Contains(p.MCPServers, server) {
				count++
			}
		}
		return server, count > 1
	}
	if slices.ContainsFunc(c.Actions, func(p config.Part) bool { return p.ID == tool }) {
		return tool, len(c.Names()) > 1
	}
	return "", false
}
