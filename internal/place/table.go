package place

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

// Write is one path of a configuration below which tools may write, as it is
// spelled.
type Write struct {
	// Path is absolute; others are left out.
	Path string
	// By says for whom, such as "personality default".
	By string
}

// Input is what a table is computed from, besides the disk.
type Input struct {
	// Workspace is the folder whose content comes from others: a clone, a pull
	// request. Its links are not the operator's. Empty means none.
	Workspace string
	// Writes is where the configuration in force lets tools write.
	Writes []Write
	// Known is where tools could write before, free of links.
	Known []sallyport.WritePlace
	// ForgetCommand returns the command that makes a write place one no more; nil means
	// that of the program with the usual configuration.
	ForgetCommand func(path string) string
	// Without leaves parts of the decision out, for the tests that show that each
	// of them is needed.
	Without Part
}

// Part names parts of the decision, for tests.
type Part uint8

// The parts.
const (
	// PartGround is that links in write places are not followed.
	PartGround Part = 1 << iota
	// PartRoot is that a write place is none when the way to it leads through
	// another.
	PartRoot
	// PartKnown is that the write places of the state come before those of the
	// configuration.
	PartKnown
)

type writeGround struct {
	path string
	by   string
	// until is when it was last in force; zero while it is.
	until time.Time
	// workspace is true for the workspace, even if no tool can write there.
	workspace bool
}

// Table says where paths lead. It is immutable and safe for concurrent use.
type Table struct {
	grounds []writeGround // the most telling first
	// physical is the grounds, and what is mounted below them, as places of file
	// systems.
	physical []fsLocation
	mounts   *mountList
	// fresh is the write places of the configuration that are not known yet.
	fresh []sallyport.WritePlace
	// inForce is every write place of the configuration.
	inForce []sallyport.WritePlace
	unkept  bool
	without Part
	forget  func(path string) string
	walked  walkMemory
}

// maxWalked bounds what a table remembers.
const maxWalked = 4096

// walkMemory remembers where walks led. Nothing in the write places changes
// them; what an operator changes is found when the next table is computed.
type walkMemory struct {
	mu   sync.Mutex
	ways map[string]walkResult
}

func (m *walkMemory) lookup(path string) (w walkResult, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, ok = m.ways[path]
	return w, ok
}

func (m *walkMemory) store(path string, w walkResult) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ways == nil {
		m.ways = map[string]walkResult{}
	}
	if len(m.ways) < maxWalked {
		m.ways[path] = w
	}
}

// hasMoved reports whether a path that was walked leads elsewhere in another
// table.
func (m *walkMemory) hasMoved(next *Table) bool {
	m.mu.Lock()
	ways := maps.Clone(m.ways)
	m.mu.Unlock()
	for path, w := range ways {
		if next.walkOnce(path).path != w.path {
			return true
		}
	}
	return false
}

// walkOnce is [Table.walkPath], once for each path.
func (t *Table) walkOnce(path string) walkResult {
	w, known := t.walked.lookup(path)
	if !known {
		w = t.walkPath(path)
		t.walked.store(path, w)
	}
	return w
}

// Compile computes a table. It reads the disk and changes nothing.
//
// It begins with the write places that the state knows, which the way to no other
// place may lead through. Those of the configuration are walked against them; one
// that is reached by a link in another one is walked again once that one is known,
// until nothing changes. Two that lead through each other, which a configuration
// can spell and no state knows yet, are both closed to links: neither is trusted.
func Compile(in Input) *Table {
	t := &Table{mounts: readMounts(), without: in.Without, forget: in.ForgetCommand}
	if in.Without&PartKnown == 0 {
		for _, k := range in.Known {
			t.addGround(writeGround{path: k.Path, by: k.By, until: k.Last})
		}
	}
	writes := cleanWrites(in.Writes)
	if in.Workspace != "" {
		if p, err := reach.CleanPath(in.Workspace); err == nil {
			writes = append(writes, writeGround{path: p, by: "the workspace", workspace: true})
		}
	}
	found := t.findGrounds(writes)
	if in.Without&PartKnown != 0 {
		for _, k := range in.Known {
			t.addGround(writeGround{path: k.Path, by: k.By, until: k.Last})
		}
	}
	t.rankGrounds(found)
	t.listForLedger(found, in.Known)
	return t
}

// cleanWrites drops what is no path and what is there twice.
func cleanWrites(writes []Write) []writeGround {
	var list []writeGround
	for _, w := range writes {
		if p, err := reach.CleanPath(w.Path); err == nil {
			list = append(list, writeGround{path: p, by: w.By})
		}
	}
	slices.SortStableFunc(list, func(a, b writeGround) int {
		return cmp.Or(strings.Compare(a.path, b.path), strings.Compare(a.by, b.by))
	})
	return slices.CompactFunc(list, func(a, b writeGround) bool { return a.path == b.path })
}

// findGrounds finds the places of the write entries and adds them to the grounds.
func (t *Table) findGrounds(writes []writeGround) (found []writeGround) {
	for {
		found = found[:0]
		reached := make([]walkResult, len(writes))
		round := &Table{grounds: slices.Clone(t.grounds), physical: slices.Clone(t.physical), mounts: t.mounts}
		for i, w := range writes {
			reached[i] = t.walkPath(w.path)
			if p := reached[i].path; p != "" {
				w.path = p
				found = append(found, w)
				round.addGround(w)
			}
		}
		added, left := false, []writeGround(nil)
		for i, w := range writes {
			if w.path = reached[i].path; w.path == "" || t.isGround(w.path) {
				continue
			}
			if t.without&PartRoot != 0 || !slices.ContainsFunc(reached[i].through, round.inGround) {
				t.addGround(w)
				added = true
				continue
			}
			left = append(left, w)
		}
		switch {
		case added:
		case len(left) > 0:
			for _, w := range left {
				t.addGround(w)
			}
		default:
			return found
		}
	}
}

func (t *Table) addGround(g writeGround) {
	if t.isGround(g.path) {
		return
	}
	t.grounds = append(t.grounds, g)
	t.physical = append(t.physical, t.mounts.locationsOf(g.path)...)
}

func (t *Table) isGround(path string) bool {
	return slices.ContainsFunc(t.grounds, func(g writeGround) bool { return g.path == path })
}

// inGround reports whether what is looked up in a folder, which is given without
// links, may be an agent's doing.
func (t *Table) inGround(dir string) bool {
	return t.groundOf(dir) != nil
}

// groundOf returns the ground that holds a path, nil when there is none.
func (t *Table) groundOf(path string) *writeGround {
	for i := range t.grounds {
		if isWithin(t.grounds[i].path, path) {
			return &t.grounds[i]
		}
	}
	if t.mounts.hasSingleNames() {
		return nil
	}
	at := t.mounts.spotOf(path)
	for _, s := range t.physical {
		if s.contains(at) {
			return &writeGround{path: path, by: "another name of this folder"}
		}
	}
	return nil
}

// rankGrounds records of each ground who may write there, or could, and puts
// first what says most: what is in force before what was, the workspace last,
// outer folders before those within.
func (t *Table) rankGrounds(found []writeGround) {
	for i := range t.grounds {
		g := &t.grounds[i]
		if n := slices.IndexFunc(found, func(f writeGround) bool { return f.path == g.path }); n >= 0 {
			*g = found[n]
		}
	}
	slices.SortStableFunc(t.grounds, func(a, b writeGround) int {
		return cmp.Or(compareBool(a.workspace, b.workspace), compareBool(!a.until.IsZero(), !b.until.IsZero()),
			cmp.Compare(len(a.path), len(b.path)), strings.Compare(a.path, b.path))
	})
}

// compareBool puts false before true.
func compareBool(a, b bool) int {
	if a == b {
		return 0
	}
	if b {
		return -1
	}
	return 1
}

// listForLedger lists what the ledger has to know.
func (t *Table) listForLedger(found []writeGround, known []sallyport.WritePlace) {
	for _, f := range found {
		if f.workspace || slices.ContainsFunc(t.inForce, func(w sallyport.WritePlace) bool { return w.Path == f.path }) {
			continue
		}
		w := sallyport.WritePlace{Path: f.path, By: f.by}
		t.inForce = append(t.inForce, w)
		if !slices.ContainsFunc(known, func(k sallyport.WritePlace) bool { return k.Path == f.path }) {
			t.fresh = append(t.fresh, w)
		}
	}
}

// equalTo reports whether two tables decide alike, for the same disk.
func (t *Table) equalTo(o *Table) bool {
	return slices.Equal(t.grounds, o.grounds) && slices.Equal(t.physical, o.physical) && t.unkept == o.unkept
}
