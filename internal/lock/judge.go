package lock

import (
	"encoding/json"
	"slices"
)

// CheckDefinition reports whether a definition, as a server lists it now, is the
// pinned one, and why not. It compares one digest, so that it can be asked about
// every definition of every list. The reason is safe to show: it holds names of
// the configuration only, nothing that the server sent.
func (f *File) CheckDefinition(server string, k Kind, definition json.RawMessage) (ok bool, why string) {
	s, pinned := f.serversOrNil()[server]
	if !pinned {
		return false, "the server " + cleanName(server) + " is not pinned"
	}
	m, err := decodeObject(definition)
	if err != nil {
		return false, "the definition is not valid"
	}
	name, _ := m[k.Key()].(string)
	p, pinned := (*s.pinsOf(k))[name]
	switch {
	case name == "":
		return false, "the definition has no " + k.Key()
	case !pinned:
		return false, "the " + string(k) + " is not pinned"
	case p.SHA256 != digestOf(m):
		return false, "the definition is not the pinned one"
	}
	return true, ""
}

// CheckLaunch reports whether a server is started or reached exactly as it is
// pinned, and may touch nothing more. It is asked before the server runs. A
// declaration that reaches less than the pinned one needs no new pin.
func (f *File) CheckLaunch(server string, now *Launch) (ok bool, why string) {
	s, pinned := f.serversOrNil()[server]
	if !pinned {
		return false, "the server " + cleanName(server) + " is not pinned"
	}
	if s.Launch.Digest() == now.Digest() {
		return true, ""
	}
	d := changeCollector{server: server}
	d.compareLaunch(&s.Launch, now)
	wider := slices.DeleteFunc(d.out, func(c Change) bool { return c.Rule == RuleReachLost || c.Rule == RuleCapabilityWords })
	switch {
	case len(wider) > 0:
		return false, slices.MinFunc(wider, compareChanges).Message
	case !s.Launch.differsInReachOnly(now):
		return false, "the launch is not the pinned one"
	}
	return true, ""
}

// differsInReachOnly reports whether two launches are equal but for what they may
// touch.
func (l *Launch) differsInReachOnly(other *Launch) bool {
	same := *other
	same.Capabilities, same.FilesStand = l.Capabilities, l.FilesStand
	return l.Digest() == same.Digest()
}
