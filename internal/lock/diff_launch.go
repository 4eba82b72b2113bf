package lock

import (
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
)

// compareLaunch compares how a server is started and what it may touch.
func (d *changeCollector) compareLaunch(was, is *Launch) {
	differs := func(r Rule, field string, a, b any) {
		if digestOf(a) != digestOf(b) {
			d.addChange(r, field, a, b)
		}
	}
	differs(RuleTransport, "transport", was.Transport, is.Transport)
	differs(RuleCommand, "command", was.Command, is.Command)
	differs(RuleBinary, "binary", was.Binary, is.Binary)
	differs(RuleProgram, "programs", normalizePrograms(was.Programs), normalizePrograms(is.Programs))
	differs(RuleDir, "cwd", was.Dir, is.Dir)
	differs(RulePackage, "package", was.Package.withoutBefore(), is.Package.withoutBefore())
	differs(RuleURL, "url", was.URL, is.URL)
	d.compareReachSet(reachSet{"env", RuleEnvGained, RuleEnvLost, was.Env, is.Env, slices.Contains[[]string]})
	d.compareCapabilities(was.Capabilities, is.Capabilities)
	d.compareStanding(was, is)
}

// compareStanding reports whether declared files stand now, for which a role needed
// a list before, and the reverse.
func (d *changeCollector) compareStanding(was, is *Launch) {
	const field, stands = "files_stand", "the declared files stand in a role that has no list for files"
	switch fs := is.Capabilities.FSReach; {
	case was.FilesStand == is.FilesStand:
	case was.FilesStand:
		d.addChange(RuleReachLost, field, stands, absentValue{})
	case fs != nil && !fs.Write.IsZero():
		d.addChange(RuleWriteGained, field, absentValue{}, stands)
	default:
		d.addChange(RuleReachGained, field, absentValue{}, stands)
	}
}

// reachSet is one list of a declaration on both sides.
type reachSet struct {
	field        string
	gained, lost Rule
	was, is      []string
	// covers reports whether a list reaches everything that one entry does.
	covers func(list []string, entry string) bool
}

// compareReachSet reports the entries that one side reaches and the other does not.
func (d *changeCollector) compareReachSet(r reachSet) {
	for _, entry := range sortedSet(r.is) {
		if !r.covers(r.was, entry) {
			d.addChange(r.gained, r.field, absentValue{}, entry)
		}
	}
	for _, entry := range sortedSet(r.was) {
		if !r.covers(r.is, entry) {
			d.addChange(r.lost, r.field, entry, absentValue{})
		}
	}
}

// compareCapabilities compares two declarations by what they reach.
func (d *changeCollector) compareCapabilities(was, is sallyport.Capabilities) {
	before := len(d.out)
	for _, g := range group.All() {
		for _, r := range g.Reaches {
			if r.Pointer == "" {
				continue
			}
			gained := RuleReachGained
			if r.Writes {
				gained = RuleWriteGained
			}
			d.compareReachSet(reachSet{"capabilities/" + r.Pointer, gained, RuleReachLost, r.Declared(&was), r.Declared(&is), r.Covers})
		}
	}
	const storage = "capabilities/storage"
	if x, y := was.Storage, is.Storage; y == nil && x != nil {
		d.addChange(RuleReachLost, storage, x, absentValue{})
	} else if y != nil && (x == nil || *x != *y) {
		d.addChange(RuleStorage, storage, x, y)
	}
	if len(d.out) == before && digestOf(group.Normal(&was)) != digestOf(group.Normal(&is)) {
		d.addChange(RuleCapabilityWords, "capabilities", was, is)
	}
}
