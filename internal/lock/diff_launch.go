package lock

import (
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
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
	d.compareReachSet(reachSet{"env", RuleEnvGained, RuleEnvLost, was.Env, is.Env, coversEqual})
	d.compareCapabilities(was.Capabilities, is.Capabilities)
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
	a, b := reachOf(was), reachOf(is)
	for _, r := range reaches {
		d.compareReachSet(reachSet{r.field, r.gained, RuleReachLost, a[r.field], b[r.field], r.covers})
	}
	const storage = "capabilities/storage"
	if x, y := was.Storage, is.Storage; y == nil && x != nil {
		d.addChange(RuleReachLost, storage, x, absentValue{})
	} else if y != nil && (x == nil || *x != *y) {
		d.addChange(RuleStorage, storage, x, y)
	}
	if len(d.out) == before && digestOf(normalizeCapabilities(was)) != digestOf(normalizeCapabilities(is)) {
		d.addChange(RuleCapabilityWords, "capabilities", was, is)
	}
}

// reaches are the kinds of reach that are lists, or are written as such here.
var reaches = [...]struct {
	field  string
	gained Rule
	covers func(list []string, entry string) bool
}{
	{"capabilities/network", RuleReachGained, coversHost},
	{"capabilities/secrets", RuleReachGained, coversRef},
	{"capabilities/fs_reach/read", RuleReachGained, coversPath},
	{"capabilities/fs_reach/write", RuleWriteGained, coversPath},
	{"capabilities/fs_reach/mode", RuleWriteGained, coversEqual},
	{"capabilities/process/allowedBinaries", RuleReachGained, coversBinary},
	{"capabilities/process/execFrom", RuleWriteGained, coversPath},
	{"capabilities/attachments", RuleReachGained, coversKind},
	{"capabilities/database", RuleReachGained, coversEqual},
	{"capabilities/database/mode", RuleWriteGained, coversEqual},
	{"capabilities/mail/relay", RuleReachGained, coversEqual},
	{"capabilities/mail/to", RuleReachGained, coversEqual},
	{"capabilities/input", RuleReachGained, coversEqual},
}

// reachOf maps the fields of reaches to what a declaration lists there.
func reachOf(c sallyport.Capabilities) map[string][]string {
	m := map[string][]string{"capabilities/secrets": c.Secrets}
	if n := c.Network; n != nil {
		m["capabilities/network"] = n.AllowedHosts
	}
	if f := c.FSReach; f != nil {
		m["capabilities/fs_reach/read"], m["capabilities/fs_reach/write"] = pathEntries(f.Read), pathEntries(f.Write)
		if !f.Write.IsZero() && f.Mode != sallyport.FSOverlay {
			m["capabilities/fs_reach/mode"] = []string{string(sallyport.FSDirect)}
		}
	}
	if p := c.Process; p != nil {
		m["capabilities/process/allowedBinaries"], m["capabilities/process/execFrom"] = p.AllowedBinaries, p.ExecFrom
	}
	if a := c.Attachments; a != nil {
		for _, k := range a.Kinds {
			m["capabilities/attachments"] = append(m["capabilities/attachments"], string(k))
		}
		if a.All {
			m["capabilities/attachments"] = []string{anything}
		}
	}
	if b := c.Database; b != nil {
		m["capabilities/database"] = b.Connections
		if b.Mode == sallyport.ModeWrite {
			m["capabilities/database/mode"] = []string{string(b.Mode)}
		}
	}
	if t := c.Mail; t != nil {
		m["capabilities/mail/relay"], m["capabilities/mail/to"] = []string{t.Relay}, t.To
	}
	for _, k := range c.Input {
		m["capabilities/input"] = append(m["capabilities/input"], string(k))
	}
	return m
}

// anything is the spelling of a list without a bound.
const anything = "*"

// personality stands for a list that is left to the personality.
const personality = "from-personality"

func pathEntries(l sallyport.PathList) []string {
	if l.FromPersonality {
		return []string{personality}
	}
	return l.Paths
}

func coversEqual(list []string, entry string) bool { return slices.Contains(list, entry) }

func coversKind(list []string, entry string) bool {
	return slices.Contains(list, anything) || slices.Contains(list, entry)
}

// coversHost compares hosts by what they match. "*" means whatever the
// personality allows, which is nothing without one: it covers no host.
func coversHost(list []string, entry string) bool {
	if slices.Contains(list, entry) {
		return true
	}
	p, err := reach.ParseHost(entry)
	if err != nil {
		return false
	}
	var patterns []reach.HostPattern
	for _, s := range list {
		if q, err := reach.ParseHost(s); err == nil && !q.Any() {
			patterns = append(patterns, q)
		}
	}
	return reach.NewHosts(patterns).Covers(p)
}

func coversRef(list []string, entry string) bool {
	want, err := reach.ParseRef(entry)
	return slices.ContainsFunc(list, func(s string) bool {
		have, bad := reach.ParseRef(s)
		return s == entry || err == nil && bad == nil && have.Covers(want)
	})
}

func coversBinary(list []string, entry string) bool {
	want, err := reach.ParseBinary(entry)
	return slices.ContainsFunc(list, func(s string) bool {
		have, bad := reach.ParseBinary(s)
		return s == entry || err == nil && bad == nil && have.Covers(want)
	})
}

// coversPath compares paths by whole elements; a variable at the beginning is
// an element. What is left to the personality covers no path that is written,
// and no other way round.
func coversPath(list []string, entry string) bool {
	return slices.ContainsFunc(list, func(have string) bool {
		return reach.Within(have, entry)
	})
}
