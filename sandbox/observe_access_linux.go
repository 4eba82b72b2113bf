package sandbox

import (
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/internal/denyfloor"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/sandbox/internal/helper"
	"github.com/sallyport/sallyport/sandbox/internal/seccomp"
)

const (
	// maxObserved bounds what is remembered of a run: a build of a large tree
	// opens some ten thousand files.
	maxObserved = 50_000
	// maxListed bounds the lists that are for reading only.
	maxListed = 1000
)

// observedAccess is what a program was seen to use. Events come one at a time,
// each while its caller still waits, so that the files are as they were before
// the call. What fails then, for want of a file or a permission, would have
// failed without us, and is no need.
type observedAccess struct {
	floor *denyfloor.Floor
	free  []string
	// tmp are the folders that a child has empty and may write.
	tmp  []string
	work string

	read, write, exec map[string]pathUse
	// entered are working directories: they have to be in the tree, for which
	// any reach in or above them will do.
	entered map[string]pathUse
	// made is what came to be during the run: no grant can name it, only what
	// it came to be in.
	made map[string]bool

	programs, readPaths, writtenPaths, missed, conf, kernel boundedSet
	withheld                                                map[Withheld]bool
	more                                                    bool

	// expectPeer is told of an address before the program connects to it; see
	// [directPorts.expect]. nil knows none.
	expectPeer func(netip.AddrPort) (name string, listens bool)
}

// pathUse is one path that was used, by its real name.
type pathUse struct {
	dir bool
	// given is the name by which it was used, where a link leads to it.
	given string
}

// boundedSet is a set in the order of arrival, which is bounded.
type boundedSet struct {
	items []string
	known map[string]bool
}

func (l *boundedSet) add(s string, limit int) (full bool) {
	switch {
	case s == "" || l.known[s]:
		return false
	case len(l.items) >= limit:
		return true
	}
	if l.known == nil {
		l.known = map[string]bool{}
	}
	l.known[s] = true
	l.items = append(l.items, s)
	return false
}

func newObservedAccess(floor *denyfloor.Floor, work string, free []string) *observedAccess {
	return &observedAccess{
		floor: floor, free: free, work: work, tmp: []string{tmpDir, varTmpDir, "/dev/shm"},
		read: map[string]pathUse{}, write: map[string]pathUse{}, exec: map[string]pathUse{}, entered: map[string]pathUse{},
		made: map[string]bool{}, withheld: map[Withheld]bool{},
	}
}

// recordEvent records one event.
func (s *observedAccess) recordEvent(e *seccomp.Event) {
	switch {
	case e.Call == "execve" || e.Call == "execveat":
		s.recordProgram(e.File)
	case e.Peer != "":
		s.recordPeer(e)
	case strings.HasPrefix(e.Call, "rename"), e.Call == "link", e.Call == "linkat":
		s.recordPair(e)
	case len(e.Paths) == 1:
		s.recordPath(e, e.Paths[0])
	}
}

// recordPath records a call that names one path.
func (s *observedAccess) recordPath(e *seccomp.Event, path string) {
	switch e.Call {
	case "open", "openat", "openat2", "creat":
		s.recordOpen(path, e.Flags, e.Write)
	case "mkdir", "mkdirat", "mknod", "mknodat", "symlink", "symlinkat":
		if p := statPath(path, false); !p.exists {
			s.recordCreation(p)
		}
	case "unlink", "unlinkat", "rmdir":
		s.recordRemoval(statPath(path, false))
	case "chdir":
		if p := statPath(path, true); p.exists && p.dir && s.isGrantable(p, withheldRead) {
			s.addNeed(s.entered, p, p.real, true)
		}
	default:
		// Changes of what is there: its size, mode, owner, times, attributes.
		if p := statPath(path, true); p.exists && (p.owned || p.hasAccess(unix.W_OK)) {
			s.needWrite(p, p.real)
		} else {
			s.recordMiss(p)
		}
	}
}

// recordOpen records a call that opens a file. A descriptor that only stands
// for a place needs no right to it.
func (s *observedAccess) recordOpen(path string, flags uint64, write bool) {
	p := statPath(path, true)
	switch {
	case flags&unix.O_PATH != 0:
	case !p.exists && write && flags&unix.O_CREAT != 0 || !p.exists && write && flags == 0:
		// creat has no flags.
		s.recordCreation(p)
		if flags&unix.O_ACCMODE == unix.O_RDWR {
			s.needRead(p)
		}
	case !p.exists:
		s.recordMiss(p)
	case p.dir && write:
		if flags&unix.O_TMPFILE == unix.O_TMPFILE {
			s.needWrite(p, p.real)
		}
	case !write:
		s.recordReadOpen(p)
	case !p.hasAccess(unix.W_OK):
		s.recordMiss(p)
	default:
		s.needWrite(p, p.real)
		if flags&unix.O_ACCMODE != unix.O_WRONLY && flags != 0 {
			s.recordReadOpen(p)
		}
	}
}

func (s *observedAccess) recordReadOpen(p observedPath) {
	if !p.hasAccess(unix.R_OK) {
		s.recordMiss(p)
		return
	}
	s.needRead(p)
	if library().MatchString(p.real) {
		s.exec[p.real] = pathUse{given: p.given}
	}
}

// library matches files that are mapped for execution, which a file system
// mounted noexec refuses like an execve.
var library = text.Pattern(`\.(so(\.[0-9]+)*|node)$`)

// recordPair records a call with an old and a new name.
func (s *observedAccess) recordPair(e *seccomp.Event) {
	if len(e.Paths) != 2 {
		return
	}
	from, to := statPath(e.Paths[0], false), statPath(e.Paths[1], false)
	if !from.exists || to.parent == "" {
		return
	}
	if strings.HasPrefix(e.Call, "link") {
		s.needWrite(from, from.real)
	} else {
		s.recordRemoval(from)
	}
	if to.exists {
		s.recordRemoval(to)
		return
	}
	s.recordCreation(to)
}

// recordCreation records a name that comes to be in a folder.
func (s *observedAccess) recordCreation(p observedPath) {
	if p.parent == "" || unix.Access(p.parent, unix.W_OK) != nil {
		s.recordMiss(p)
		return
	}
	s.needWrite(p, p.parent)
	if len(s.made) < maxObserved {
		s.made[p.real] = true
	} else {
		s.more = true
	}
}

// recordRemoval records a name that goes or is replaced, for which the folder
// counts.
func (s *observedAccess) recordRemoval(p observedPath) {
	if p.exists && unix.Access(p.parent, unix.W_OK) == nil {
		s.needWrite(p, p.parent)
	}
}

// needRead notes a use of what exists.
func (s *observedAccess) needRead(p observedPath) {
	if !s.isGrantable(p, withheldRead) {
		return
	}
	s.more = s.readPaths.add(p.real, maxListed) || s.more
	s.addNeed(s.read, p, p.real, p.dir)
}

// needWrite notes a change of a path for which the right to another counts,
// which is the path or its folder.
func (s *observedAccess) needWrite(p observedPath, to string) {
	if !s.isGrantable(p, withheldWrite) {
		return
	}
	s.more = s.writtenPaths.add(p.real, maxListed) || s.more
	s.addNeed(s.write, p, to, p.dir || to != p.real)
}

// addNeed adds a path to a set, or where it did not exist when the program began,
// what it came to be in.
func (s *observedAccess) addNeed(set map[string]pathUse, p observedPath, path string, dir bool) {
	if a := s.existingAncestor(path); a != path {
		path, dir = a, true
	}
	u := pathUse{dir: dir}
	if p.real == path {
		u.given = p.given
	}
	if _, known := set[path]; !known && len(set) >= maxObserved {
		s.more = true
		return
	}
	set[path] = u
}

// existingAncestor returns the deepest folder above a path that was there when
// the program began, or the path itself when it was.
func (s *observedAccess) existingAncestor(path string) string {
	out := path
	for p := path; len(p) > 1 && p[0] == '/'; p = filepath.Dir(p) {
		if s.made[p] {
			out = filepath.Dir(p)
		}
	}
	return out
}

// isGrantable reports whether a declaration could name a path and needs to: not
// what every child has, nor what none gets.
func (s *observedAccess) isGrantable(p observedPath, op string) bool {
	anchor := s.existingAncestor(p.real)
	switch {
	case !filepath.IsAbs(p.real):
		// The name of something without one, such as a deleted folder.
		return false
	case s.isFree(p, anchor):
		return false
	case reach.Within("/sys", p.real):
		s.kernel.add(p.real, maxListed)
		return false
	case reach.Within("/dev", p.real):
		if slices.Contains(devices, p.real) || terminal().MatchString(p.real) {
			return false
		}
	case op == withheldRead && (dispensable().MatchString(p.real) || dispensable().MatchString(p.given)):
		s.conf.add(p.real, maxListed)
		return false
	}
	// What the program itself brought about is not on the floor: a repository
	// that a child creates is its own (contract, "Files").
	if why, denied := s.floor.Check(op, p.real); denied && anchor == p.real {
		s.addWithheld(Withheld{Kind: op, Item: p.real, Why: why, Floor: true})
		return false
	}
	return true
}

// terminal matches what leads to the streams that the program has anyway.
var terminal = text.Pattern(`^/dev/(tty|ptmx|console|stdin|stdout|stderr|fd|pts)(/|$)`)

// dispensable matches configuration that no child sees and that programs do
// without: of the resolver (names are the proxy's to look up), of the loader,
// of shells and readline, of the machine, of git and Python.
var dispensable = text.Pattern(`^/etc/(resolv\.conf|host\.conf|gai\.conf|hostname|ld\.so\.preload|inputrc|` +
	`bash\.bashrc|profile|environment|login\.defs|machine-id|mtab|gitconfig|npmrc|wgetrc|curlrc|locale\.alias|timezone|` +
	`python3[^/]*/sitecustomize\.py|nsswitch\.conf|shells|default/.*|security/.*|pam\.d/.*)$|^/run/(systemd/resolve|resolvconf)/`)

// isFree says whether every child has the path. In the folders for temporary
// files that is what the program puts there itself.
func (s *observedAccess) isFree(p observedPath, anchor string) bool {
	if slices.ContainsFunc(s.free, func(dir string) bool { return reach.Within(dir, p.real) }) {
		return true
	}
	if reach.Within(s.work, p.real) {
		return false
	}
	return slices.Contains(s.tmp, anchor) || slices.Contains(s.tmp, filepath.Dir(p.real)) && !p.exists
}

func (s *observedAccess) addWithheld(w Withheld) {
	if len(s.withheld) >= maxListed {
		s.more = true
		return
	}
	s.withheld[w] = true
}

// recordMiss records a failed lookup.
func (s *observedAccess) recordMiss(p observedPath) {
	if p.real != "" && !s.isFree(p, p.real) && !reach.Within("/dev", p.real) {
		s.missed.add(p.real, maxListed)
	}
}

// recordProgram records a started file and what the kernel starts for it.
func (s *observedAccess) recordProgram(file string) {
	for range 2 {
		p := statPath(file, true)
		if !p.exists || p.dir || !p.hasAccess(unix.X_OK) {
			return
		}
		s.more = s.programs.add(p.real, maxSeen) || s.more
		s.needRead(p)
		s.exec[p.real] = pathUse{}
		if file = readInterpreter(p.real); file == "" {
			return
		}
	}
}

// recordPeer records an address that was asked for without the proxy.
func (s *observedAccess) recordPeer(e *seccomp.Event) {
	addr, err := netip.ParseAddrPort(e.Peer)
	own := addr.Addr().IsLoopback() || addr.Addr().IsUnspecified()
	why := "is an address without a name: a child reaches it only where its grant lists it"
	switch {
	case err != nil:
		s.recordSocket(e.Peer)
		return
	case e.Call == "bind", own && addr.Port() == helper.ProxyPort:
		return // a server of its own on its own loopback, or the proxy
	case own && addr.Port() == helper.NamesPort:
		return // the resolver
	case own:
		why = "a child's loopback is its own: it meets the servers that it started and no others"
	case addr.Port() == helper.NamesPort:
		why = "looks names up itself: a child has a resolver of its own at 127.0.0.1"
	}
	if s.expectPeer != nil && err == nil {
		if name, listens := s.expectPeer(addr); listens {
			return // the proxy notes it
		} else if name != "" {
			s.addWithheld(Withheld{
				Kind: withheldNetwork, Item: net.JoinHostPort(name, strconv.Itoa(int(addr.Port()))),
				Why: "could not be tried, for the program listens on this port itself or uses too many: declare it by hand",
			})
			return
		}
	}
	s.addWithheld(Withheld{Kind: withheldNetwork, Item: e.Peer, Why: why})
}

// recordSocket records a unix socket. One that is not there was probed in vain,
// as the C library does for its cache.
func (s *observedAccess) recordSocket(name string) {
	if !strings.HasPrefix(name, "@") {
		if info, err := os.Stat(name); err == nil && info.Mode().Type() != fs.ModeSocket || err != nil && filepath.IsAbs(name) {
			return
		}
	}
	s.addWithheld(Withheld{Kind: withheldSocket, Item: name, Why: "a child reaches no unix socket"})
}
