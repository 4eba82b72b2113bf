package lock

import (
	"encoding/json"
	"slices"
)

// CheckTool reports whether a tool's definition, as a server lists it now, is the
// pinned one, and why not. It looks the tool up and compares one digest, so
// that it can be asked about every tool of every list. The reason is safe to
// show: it holds names of the configuration only, nothing that the server
// sent.
func (f *File) CheckTool(server string, definition json.RawMessage) (ok bool, why string) {
	return f.CheckDefinition(server, KindTool, definition)
}

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
// pinned, and may touch exactly the same. It is asked before the server runs.
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
	if len(d.out) == 0 {
		return false, "the launch is not the pinned one"
	}
	return false, slices.MinFunc(d.out, compareChanges).Message
}
