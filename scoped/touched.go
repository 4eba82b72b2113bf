package scoped

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/egress"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
)

// touchedKind is one kind of thing that children are seen to use.
type touchedKind int

const (
	changedOnFloor touchedKind = iota
	withheld
	refusedHosts
	usedHosts
	binaries
	written
	changedMeanwhile
	changed
	touchedKinds
)

// unknownWriter is said of what cannot be attributed: a child that writes in
// the host's folders is not the only one that can.
const unknownWriter = "changed at the same time, by an unknown writer"

// withheldWhy is said of a folder that holds too much, with the way out.
const withheldWhy = ": it holds more folders, links or paths of the always-deny floor than can be looked at; " +
	"what was there first is shown; remove what need not be there, or declare narrower fs_reach paths"

// touchedRules says how each kind is reported.
var touchedRules = [touchedKinds]struct {
	// quota bounds what one call reports. The quotas keep a child that starts a
	// thousand programs from crowding its hosts out; together, each with its
	// lines about the rest, they stay within maxNoted.
	quota int
	// rests bounds the lines about the rest, which are one for each child that
	// has a rest. Hosts have several: a later child may have sent the most.
	rests int
	// noun names the kind in a line about the rest.
	noun string
	// group is the capability that the kind belongs to.
	group string
}{
	changedOnFloor:   {10, 2, "paths on the always-deny floor", group.Files + ".write"},
	withheld:         {1, 1, "withheld folders", group.Files},
	refusedHosts:     {14, 1, "refused hosts", group.Network},
	usedHosts:        {14, 5, "hosts", group.Network},
	binaries:         {10, 1, "binaries", group.Process},
	written:          {10, 1, "written paths", group.Files + ".write"},
	changedMeanwhile: {10, 1, "paths", group.Files + ".write"},
	changed:          {10, 1, "changes", group.Files + ".write"},
}

// childRecord is what the children of a call have in common.
type childRecord struct {
	mu    sync.Mutex
	level sallyport.Level
	used  [touchedKinds]int
	rests [touchedKinds]int // lines about the rest
	more  bool              // whether a report was said to be incomplete
	seen  []string          // binaries that were reported
	// command is that of the child that was used last.
	command []string
}

func (b *Binding) recordLevel(l sallyport.Level) {
	b.children.mu.Lock()
	defer b.children.mu.Unlock()
	if b.children.level == "" || levelRank(l) < levelRank(b.children.level) {
		b.children.level = l
	}
}

// levelRank orders levels by strength. A word that is not known confines
// nothing.
func levelRank(l sallyport.Level) int {
	return slices.Index([]sallyport.Level{sallyport.LevelLandlock, sallyport.LevelFull, sallyport.LevelStrict}, l)
}

// Level returns the weakest level at which a child of the call ran so far; it
// is empty when none did. It may be called while the tool runs.
func (b *Binding) Level() sallyport.Level {
	if b == nil {
		return ""
	}
	b.children.mu.Lock()
	defer b.children.mu.Unlock()
	return b.children.level
}

// recordChildUses reports what a child was seen to use, so that the record
// shows it beside what was declared. What others may run comes first, then
// hosts: they say what may have left.
func (b *Binding) recordChildUses(s *sallyport.Spawn, res *sallyport.ProcessResult) {
	var lists [touchedKinds][]sallyport.Decision
	for _, path := range res.Touched.ChangedOnFloor {
		lists[changedOnFloor] = append(lists[changedOnFloor], newFloorDecision(s.Binary, path))
	}
	for _, path := range res.Touched.Withheld {
		d := withheld.newDecision(path, false, "shown in part to a child of "+s.Binary+withheldWhy)
		d.Source = reach.FloorSource
		lists[withheld] = append(lists[withheld], d)
	}
	hosts := sortBySent(res.Touched.Hosts)
	for i := range hosts {
		kind, d := usedHosts, b.newHostDecision(s.Binary, &hosts[i])
		if !d.Allowed {
			kind = refusedHosts
		}
		lists[kind] = append(lists[kind], d)
	}
	for i, path := range b.children.filterReported(res.Touched.Binaries) {
		lists[binaries] = append(lists[binaries], newBinaryDecision(s, path, i == 0))
	}
	// In overlay mode the changes say more about the same paths.
	if len(res.Changes) == 0 {
		for _, path := range res.Touched.Written {
			lists[written] = append(lists[written], written.newDecision(path, true, "a child of "+s.Binary+" wrote it"))
		}
	}
	for _, path := range res.Touched.Changed {
		d := changedMeanwhile.newDecision(path, true, unknownWriter+", as a child of "+s.Binary+" ran")
		d.Source = reach.UnattributedSource
		lists[changedMeanwhile] = append(lists[changedMeanwhile], d)
	}
	for i := range res.Changes {
		lists[changed] = append(lists[changed], b.newChangeDecision(s, &res.Changes[i]))
	}
	if res.LayerFull != "" {
		b.recordDecision(newLayerDecision(s.Binary, res.LayerFull))
	}
	for k, list := range lists {
		kind := touchedKind(k)
		show, say := b.children.reserveLines(kind, len(list))
		for _, d := range list[:show] {
			b.recordTouched(kind, d)
		}
		if say {
			b.recordTouched(kind, newRestDecision(kind, s.Binary, len(list)-show, hosts))
		}
	}
	if res.Touched.More && b.children.isFirstIncomplete() {
		sendDecision(b.out, newAccessDecision(group.Process, s.Binary, true, "what a child of "+s.Binary+" used is not complete: it was too much"))
	}
}

// recordTouched reports one thing. What is new on the deny floor is bounded by
// its quota alone: a tool cannot bury it under refusals that it provokes.
func (b *Binding) recordTouched(kind touchedKind, d sallyport.Decision) {
	if kind == changedOnFloor {
		sendDecision(b.out, d)
		return
	}
	b.recordDecision(d)
}

// sortBySent returns hosts in the order of what was sent to them, the most first,
// so that nothing large is among those that are not listed.
func sortBySent(uses []sallyport.HostUse) []sallyport.HostUse {
	return slices.SortedStableFunc(slices.Values(uses), func(x, y sallyport.HostUse) int {
		return cmp.Compare(y.Sent, x.Sent)
	})
}

// reserveLines returns how many of n things may be reported, and whether to say
// that there are more.
func (c *childRecord) reserveLines(kind touchedKind, n int) (show int, say bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	show = min(n, touchedRules[kind].quota-c.used[kind])
	c.used[kind] += show
	if say = n > show && c.rests[kind] < touchedRules[kind].rests; say {
		c.rests[kind]++
	}
	return show, say
}

// isFirstIncomplete reports whether this is the first report that is not complete.
func (c *childRecord) isFirstIncomplete() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := !c.more
	c.more = true
	return first
}

// filterReported returns the binaries that this call has not reported yet: a
// tool that starts git forty times fills no record.
func (c *childRecord) filterReported(paths []string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, p := range paths {
		if len(c.seen) < maxNoted && !slices.Contains(c.seen, p) {
			c.seen = append(c.seen, p)
			out = append(out, p)
		}
	}
	return out
}

// newRestDecision says how many things of a kind are not listed. Of hosts,
// which are in the order of [sortBySent], it says what was sent to them, and
// where the most.
func newRestDecision(kind touchedKind, binary string, n int, hosts []sallyport.HostUse) sallyport.Decision {
	noun := touchedRules[kind].noun
	why := fmt.Sprintf("%d further %s of a child of %s, and those of later children, are not listed", n, noun, binary)
	switch kind {
	case changedOnFloor, changedMeanwhile:
		why = fmt.Sprintf("%d further %s, %s, as a child of %s ran, and those of later children, are not listed",
			n, noun, unknownWriter, binary)
	case usedHosts:
		hosts = slices.DeleteFunc(slices.Clone(hosts), func(u sallyport.HostUse) bool { return !u.Allowed })
		hosts = hosts[len(hosts)-n:]
		var sent int64
		for i := range hosts {
			sent += hosts[i].Sent
		}
		// Names come last: a long one is clipped.
		why = fmt.Sprintf("%d further hosts of a child are not listed, nor are all of later children: sent %d bytes in all, %d of them to %s, by %s",
			n, sent, hosts[0].Sent, hosts[0].Host, binary)
	}
	d := kind.newDecision(binary, kind != refusedHosts && kind != changedOnFloor, why)
	switch kind {
	case changedOnFloor:
		d.Source = reach.FloorSource
	case changedMeanwhile:
		d.Source = reach.UnattributedSource
	}
	return d
}

// newFloorDecision says what is new on the deny floor: it is there, and no declaration
// would make it right.
func newFloorDecision(binary, path string) sallyport.Decision {
	d := changedOnFloor.newDecision(path, false, "on the deny floor, "+unknownWriter+", as a child of "+binary+
		" ran: it may run with the rights of the user of the folder; look at it or remove it")
	d.Source = reach.FloorSource
	return d
}

func newAccessDecision(capability, resource string, allowed bool, why string) sallyport.Decision {
	return sallyport.Decision{
		Step: sallyport.StepAccess, Capability: capability, Resource: clipNoted(resource), Allowed: allowed, Why: clipNoted(why),
	}
}

func (k touchedKind) newDecision(resource string, allowed bool, why string) sallyport.Decision {
	return newAccessDecision(touchedRules[k].group, resource, allowed, why)
}

// newLayerDecision says that a private layer accepted no more.
func newLayerDecision(binary, bound string) sallyport.Decision {
	d := newAccessDecision(group.Files+".write", binary, false, "the private layer of a child of "+binary+" is full: "+bound)
	d.Source = reach.CommitSource
	d.Fix = "raise sandbox.layer or sandbox.layer_files in the configuration"
	return d
}

// newHostDecision says what a child did with a host. A refusal names the rule, like
// one of the network accessor.
func (b *Binding) newHostDecision(binary string, u *sallyport.HostUse) sallyport.Decision {
	name := u.Host
	if u.Port != 80 && u.Port != 443 && u.Port != 0 {
		name = net.JoinHostPort(u.Host, strconv.Itoa(int(u.Port)))
	}
	if u.Allowed {
		why := fmt.Sprintf("a child of %s connected %d times, sent %d bytes, received %d bytes", binary, u.Connections, u.Sent, u.Received)
		if u.Why != "" {
			why += ": " + u.Why
		}
		return newAccessDecision(group.Network, name, true, why)
	}
	d := newAccessDecision(group.Network, name, false, fmt.Sprintf("a child of %s was refused %d times: %s", binary, u.Connections, u.Why))
	policy, err := egress.NewPolicy(b.scope.grant.Network)
	if err != nil {
		return d
	}
	if !outsidePolicy(policy, u) {
		// What the list lets pass was refused for its address or for how it was
		// spoken to.
		d.Source, d.Fix = reach.FloorSource, u.Fix
		if u.Port != 0 && strings.Contains(u.Why, "is a private address (") {
			d.Resource = net.JoinHostPort(u.Host, strconv.Itoa(int(u.Port))) // it is granted with its port
		}
		return d
	}
	return b.scope.explainDropped(d, func(entry string) bool {
		p, err := reach.ParseHosts([]string{entry})
		if err != nil {
			return false
		}
		set := reach.NewHosts(p)
		return set.Match(u.Host, u.Port) || u.Port == 0 && slices.ContainsFunc(set.Ports(), func(port uint16) bool { return set.Match(u.Host, port) })
	})
}

// outsidePolicy reports whether a host was refused because the grant does not hold
// it. A name that was only looked up has no port; neither has what was no target,
// or stands for several.
func outsidePolicy(policy *egress.Policy, u *sallyport.HostUse) bool {
	err := policy.Decide(u.Host, u.Port)
	if u.Port == 0 {
		if host, bad := reach.CanonicalHost(u.Host); bad != nil || host != u.Host {
			return false
		}
		err = policy.DecideName(u.Host)
	}
	refusal, ok := errors.AsType[*sallyport.Error](err)
	return ok && OutsideGrant(refusal)
}

// newBinaryDecision says whether a program was declared. The names of a grant
// decide what the runtime starts; what a child starts itself is held by its
// confinement and not by a list.
func newBinaryDecision(s *sallyport.Spawn, path string, first bool) sallyport.Decision {
	declared := reach.MatchBinary(s.Grant.Process.Binaries, path) ||
		reach.MatchBinary(s.Grant.Process.Binaries, filepath.Base(path))
	why := "a child of " + s.Binary + " asked to start it inside the confinement; it is not in the declared allowedBinaries"
	switch {
	case first && (path == s.Binary || filepath.Base(path) == filepath.Base(s.Binary)):
		why = "started as " + s.Binary
	case declared:
		why = "a child of " + s.Binary + " asked to start it; its name is in the declared allowedBinaries"
	}
	return newAccessDecision(group.Process, path, true, why)
}

// newChangeDecision says what became of a path that was written in memory. What a tool
// asked to throw away was not refused; what is outside of the grant was, like a write.
func (b *Binding) newChangeDecision(s *sallyport.Spawn, c *sallyport.Change) sallyport.Decision {
	why := fmt.Sprintf("a child of %s: %s, %d bytes", s.Binary, c.Kind, c.Bytes)
	switch {
	case c.Committed:
		why += ", carried over"
		if c.Why != "" {
			why += ": " + c.Why
		}
	case s.Options.Discard:
		why += ", thrown away as asked"
	default:
		why += ", not carried over: " + c.Why
	}
	d := changed.newDecision(c.Path, c.Committed || s.Options.Discard, why)
	switch {
	case d.Allowed:
	case c.NotGranted:
		d = b.scope.explainDropped(d, func(entry string) bool { return reach.Within(entry, c.Path) })
	default:
		d.Source = reach.CommitSource
	}
	return d
}
