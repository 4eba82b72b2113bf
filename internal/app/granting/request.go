package granting

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"

	"github.com/sallyport/sallyport/egress"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/text"
)

// Request says what to add to, or to take off, what a target may touch.
type Request struct {
	// Target is the name of a server, a role or a tool of the configuration. A name
	// that means several of them has its kind in front, such as role:notes.
	Target string
	// Role limits the change to one role of those that list a server or tool.
	Role string
	// Revoke takes off instead of adding.
	Revoke bool
	// Read and Write are folders or files, as the user wrote them.
	Read, Write []string
	// Hosts are host patterns of public hosts.
	Hosts []string
	// Private are private addresses with their port.
	Private []string
	// Secrets are references, Binaries names or paths of programs.
	Secrets, Binaries []string
	// Program is how a user starts this program; empty means sallyport.
	Program string
}

// kind is one kind of thing that is granted.
type kind string

// The kinds.
const (
	kindRead    kind = "read"
	kindWrite   kind = "write"
	kindHost    kind = "host"
	kindPrivate kind = "private"
	kindSecret  kind = "secret"
	kindBinary  kind = "bin"
)

// grantItem is one thing that is granted.
type grantItem struct {
	kind kind
	// text is how the configuration spells it, resolved what it means.
	text, resolved string
}

// joinFlags returns the flags of a command for the items of a request.
func (r *Request) joinFlags() (flags string) {
	for _, list := range []struct {
		kind  kind
		items []string
	}{{kindRead, r.Read}, {kindWrite, r.Write}, {kindHost, r.Hosts}, {kindPrivate, r.Private}, {kindSecret, r.Secrets}, {kindBinary, r.Binaries}} {
		flags += text.RepeatFlag(string(list.kind), list.items)
	}
	return flags
}

// Command returns the command line of the request for another target.
func (r *Request) Command(target string) string {
	verb := "grant"
	if r.Revoke {
		verb = "revoke"
	}
	return cmp.Or(r.Program, "sallyport") + " " + verb + " " + text.ShellWord(target) + r.joinFlags()
}

// parseItems reads what a request names.
func (r *Request) parseItems(env *app.Environment, c *config.Config) (items []grantItem, err error) {
	var faults []error
	add := func(k kind, list []string, parse func(string) (grantItem, error)) {
		for _, s := range list {
			item, err := parse(s)
			if err != nil {
				faults = append(faults, fmt.Errorf("--%s %s: %w", k, text.PrintableLine(s), err))
			}
			item.kind = k
			items = append(items, item)
		}
	}
	path := func(s string) (grantItem, error) { return parsePath(env, c, s) }
	add(kindRead, r.Read, path)
	add(kindWrite, r.Write, path)
	add(kindHost, r.Hosts, r.parseHost)
	add(kindPrivate, r.Private, parsePrivate)
	add(kindSecret, r.Secrets, func(s string) (grantItem, error) {
		ref, err := reach.ParseRef(s)
		return grantItem{text: ref.String(), resolved: ref.String()}, err
	})
	add(kindBinary, r.Binaries, func(s string) (grantItem, error) {
		_, err := reach.ParseBinary(s)
		return grantItem{text: s, resolved: s}, err
	})
	if len(items) == 0 {
		faults = append(faults, errors.New("nothing is named: expected --read, --write, --host, --private, --secret or --bin"))
	}
	return items, errors.Join(faults...)
}

// parsePath reads a path as the user wrote it in the working folder. The
// configuration names what lies in the workspace by a variable, so that it can be
// moved with it.
func parsePath(env *app.Environment, c *config.Config, s string) (grantItem, error) {
	if s == "" {
		return grantItem{}, errors.New("expected a path")
	}
	if strings.HasPrefix(s, "${") {
		abs, err := reach.Expand(s, map[string]string{"workspace": c.Workspace, "home": env.Home, "self": c.Dir})
		return grantItem{text: s, resolved: abs}, err
	}
	abs := filepath.Clean(fsx.Absolute(env.Dir, s))
	spelled := abs
	if rest, err := filepath.Rel(c.Workspace, abs); err == nil && rest == "." {
		spelled = "${workspace}"
	} else if err == nil && filepath.IsLocal(rest) {
		spelled = "${workspace}/" + filepath.ToSlash(rest)
	}
	return grantItem{text: spelled, resolved: abs}, nil
}

// parseHost reads a public host. A private one is never granted by the way.
func (r *Request) parseHost(s string) (grantItem, error) {
	p, err := reach.ParseHost(s)
	if err != nil {
		return grantItem{}, err
	}
	host, port, err := reach.SplitHostPort(p.String())
	if err != nil || r.Revoke {
		return grantItem{text: p.String(), resolved: p.String()}, nil
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		host = "127.0.0.1"
	}
	if a, err := netip.ParseAddr(host); err == nil {
		if port == 0 {
			port = 80
		}
		switch private := netip.AddrPortFrom(a, port); {
		case egress.Floor(a, true) != "":
			return grantItem{}, fmt.Errorf("it is %s, which nothing lets through", egress.Floor(a, true))
		case egress.Floor(a, false) != "":
			other := Request{Program: r.Program, Private: []string{private.String()}}
			return grantItem{}, fmt.Errorf("it is %s, which --host never adds: %s", egress.Floor(a, false), other.Command(r.Target))
		}
	}
	return grantItem{text: p.String(), resolved: p.String()}, nil
}

// refuseOwn refuses an address at which the program itself listens: the entry would
// open nothing.
func (r *Request) refuseOwn(rt *app.Runtime) error {
	for _, s := range r.Private {
		at, err := netip.ParseAddrPort(s)
		if err != nil || r.Revoke {
			continue
		}
		if what, cause := rt.Listeners.Refuse(at); what != "" {
			return errors.Join(fmt.Errorf("--private %s: it is %s, which nothing lets through", s, what), cause)
		}
	}
	return nil
}

// refuseFloor refuses a path on the deny floor: the entry would open nothing.
func (r *Request) refuseFloor(rt *app.Runtime, items []grantItem) error {
	var faults []error
	for _, item := range items {
		if r.Revoke || item.kind != kindRead && item.kind != kindWrite {
			continue
		}
		if why := rt.FloorReason(string(item.kind), item.resolved); why != "" {
			faults = append(faults, fmt.Errorf("--%s %s: it is on the deny floor (%s), which no grant opens", item.kind, text.PrintableLine(item.resolved), why))
		}
	}
	return errors.Join(faults...)
}

// listLinked says of each path that is reached through a link where it leads.
func listLinked(items []grantItem) (list []string) {
	for _, item := range items {
		if item.kind != kindRead && item.kind != kindWrite {
			continue
		}
		if real, err := filepath.EvalSymlinks(item.resolved); err == nil && real != item.resolved {
			list = append(list, fmt.Sprintf("--%s %s leads to %s: that is what the entry is about", item.kind, text.PrintableLine(item.resolved), text.PrintableLine(real)))
		}
	}
	return list
}

// parsePrivate reads a private address with its port.
func parsePrivate(s string) (grantItem, error) {
	at, err := netip.ParseAddrPort(s)
	switch a := at.Addr(); {
	case err != nil || at.Port() == 0:
		return grantItem{}, errors.New("expected an address with a port, such as 127.0.0.1:8080 or [::1]:8080")
	case egress.Floor(a, true) != "":
		return grantItem{}, fmt.Errorf("it is %s, which nothing lets through", egress.Floor(a, true))
	case egress.Floor(a, false) == "":
		return grantItem{}, errors.New("it is not private: use --host")
	}
	return grantItem{text: at.String(), resolved: at.String()}, nil
}
