package sandbox

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

// makeDeclaration derives the declaration from what was seen.
func (b *observer) makeDeclaration(out *Observation, name string, prog *resolvedProgram) {
	s := b.access
	out.Binaries, out.Missed, out.Unseen = s.programs.items, s.missed.items, unseen
	out.Read, out.Written = slices.Sorted(slices.Values(s.readPaths.items)), slices.Sorted(slices.Values(s.writtenPaths.items))
	slices.Sort(out.Missed)
	out.More = s.more
	r := &rootReducer{b.o.Workspace, b.o.Home}
	write := b.declareFiles(out, r)
	b.declareBinary(out, r, name, prog, write)
	b.declareHosts(out)
	out.Withheld = slices.SortedFunc(maps.Keys(s.withheld), func(a, b Withheld) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Item, b.Item))
	})
	b.addRemarks(out)
}

// declareFiles fills in the file reach and returns the roots for writing.
func (b *observer) declareFiles(out *Observation, r *rootReducer) (write []string) {
	s := b.access
	list := func(set map[string]pathUse, kind string) []string {
		roots, wide := r.reduce(set)
		for path, why := range wide {
			s.addWithheld(Withheld{Kind: kind, Item: path, Why: why})
		}
		return roots
	}
	write = list(s.write, withheldWrite)
	read := list(s.read, withheldRead)
	shown := append(slices.Clone(read), write...)
	for dir, u := range s.entered {
		if dir != b.o.Workspace && !slices.ContainsFunc(shown, func(root string) bool {
			return reach.Within(root, dir) || reach.Within(dir, root)
		}) {
			s.read[dir] = u
		}
	}
	read = list(s.read, withheldRead)
	if len(read)+len(write) == 0 {
		return write
	}
	reached := &sallyport.FSCapability{}
	if len(read) > 0 {
		reached.Read = sallyport.Paths(r.spellAll(read)...)
	}
	if len(write) > 0 {
		reached.Write = sallyport.Paths(r.spellAll(write)...)
	}
	out.Capabilities.FSReach = reached
	return write
}

// declareBinary fills in what the gate starts. What that starts in turn needs
// no declaration: the confinement holds it to the same grant. Only what lies
// where the program may write has to be made executable.
func (b *observer) declareBinary(out *Observation, r *rootReducer, name string, prog *resolvedProgram, write []string) {
	in := func(path string) bool {
		return slices.ContainsFunc(write, func(root string) bool { return reach.Within(root, path) })
	}
	switch why := reach.RefuseLauncher(name); {
	case why != "":
		b.access.addWithheld(Withheld{Kind: withheldBinary, Item: name, Why: why})
	case in(prog.path):
		b.access.addWithheld(Withheld{Kind: withheldBinary, Item: name, Why: "lies where it writes: a child is never started from there"})
	}
	if base := filepath.Base(name); base != name {
		if p, err := b.runner.resolveProgram(base, nil); err == nil && p.path == prog.path {
			name = base
		}
	}
	p := &sallyport.ProcessCapability{AllowedBinaries: []string{name}}
	dirs := map[string]pathUse{}
	for path := range b.access.exec {
		if path != prog.path && in(path) {
			dir := b.access.existingAncestor(path)
			if dir == path {
				dir = filepath.Dir(path)
			}
			dirs[dir] = pathUse{dir: true}
		}
	}
	roots, _ := r.reduce(dirs)
	p.ExecFrom = r.spellAll(roots)
	if len(p.ExecFrom) == 0 {
		p.ExecFrom = nil
	}
	out.Capabilities.Process = p
}

// declareHosts fills in the hosts that answered.
func (b *observer) declareHosts(out *Observation) {
	if b.proxy == nil {
		return
	}
	out.Hosts = b.proxy.Uses()
	var hosts []string
	for _, u := range out.Hosts {
		item := net.JoinHostPort(u.Host, strconv.Itoa(int(u.Port)))
		switch {
		case u.Host == "*":
			out.More = true
		case !u.Allowed:
			b.access.addWithheld(Withheld{Kind: withheldNetwork, Item: item, Why: u.Why, Floor: true})
		case u.Why != "" && u.Received == 0:
			out.Notes = append(out.Notes, fmt.Sprintf("asked for %s, which failed and is not declared: %s", item, u.Why))
		case u.Port == 80 || u.Port == 443:
			hosts = append(hosts, u.Host)
		default:
			hosts = append(hosts, item)
		}
	}
	if len(hosts) == 0 {
		return
	}
	slices.Sort(hosts)
	out.Capabilities.Network = &sallyport.NetworkCapability{AllowedHosts: slices.Compact(hosts)}
	out.AllowPrivate = b.private.Load() || slices.ContainsFunc(out.Hosts, privateLiteral)
}

// addRemarks says in words what the declaration does not show.
func (b *observer) addRemarks(out *Observation) {
	add := func(format string, args ...any) { out.Notes = append(out.Notes, fmt.Sprintf(format, args...)) }
	if b.proxy == nil {
		add("this machine gives no network namespace (%v): hosts were not observed and are not declared", b.blind)
	}
	if out.AllowPrivate {
		add("a host has a private address: the personality needs allow_private_urls: true beside it")
	}
	if l := b.access.conf.items; len(l) > 0 {
		add("configuration that no child sees was read; programs do without: %s", abbreviateList(l))
	}
	if l := b.access.kernel.items; len(l) > 0 {
		add("/sys, which no child sees, was read; programs do without: %s", abbreviateList(l))
	}
	if out.Interrupted {
		add("the program was ended from outside: what it would have done later is missing")
	} else if out.ExitCode != 0 {
		add("the program failed with exit code %d: what it would have done otherwise is missing", out.ExitCode)
	}
}

// abbreviateList returns the first entries of a list and how many follow.
func abbreviateList(l []string) string {
	const shown = 5
	if len(l) <= shown {
		return strings.Join(l, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(l[:shown], ", "), len(l)-shown)
}
