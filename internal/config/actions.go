package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

const (
	// actionKey is the key of an action in the table.
	actionKey = "actions[]"
	// layersKey is the key of the documents' form.
	layersKey = "layers"
	// maxActions bounds the actions of all files: a model cannot choose
	// between more tools, and each costs a schema.
	maxActions = 1000
)

// shownOfActions lists the keys of an action whose values snippets may show.
var shownOfActions = []string{"id", "name", "description", "parameters", "returns", "permissions", "rateLimit", "rate_limit", "capabilities", "timeout", "maxResultChars", "does", "destinations", "toolset", "cost", "cache", "available"}

func actionKeys() []row {
	const caps = layersKey + ".capabilities"
	list := func(key, doc string) row {
		return row{KeyDoc: KeyDoc{key, TypeActions, false, true, "none", doc, "[{id: get-weather, handler: ./weather.py}]"}, adds: true}
	}
	rows := []row{
		list("actions", "Tools declared in this file. The actions of all files add up."),
		{
			KeyDoc: KeyDoc{actionKey + ".id", TypeText, true, true, "", "Name of the tool, 1 to 64 letters, digits, `_` or `-`, unique in all files. The other keys of an action are in [actions](../guides/actions.md).", "get-weather"},
			check:  (*scope).actionID,
		},
		{KeyDoc: KeyDoc{layersKey, TypeMapping, false, true, "", "Another spelling of `actions` and `security`. A JSON file with this key alone needs no `version`.", "{capabilities: {actions: []}}"}, adds: true},
		{KeyDoc: KeyDoc{caps, TypeMapping, false, true, "", "The only layer that is read.", "{actions: []}"}, adds: true},
		list(caps+".actions", "As `actions`."),
	}
	return slices.Concat(rows, securityKeys(caps+".security", "defaultPermissions", "requireAuth", "auditLog"))
}

// onlyLayers reports whether a file is the documents' form, which has no
// version.
func (f *file) onlyLayers() bool {
	for _, fd := range f.Root.Fields {
		if fd.Name != layersKey {
			return false
		}
	}
	return f.JSON && len(f.Root.Fields) > 0
}

func (s *scope) actionID(v string) (string, error) {
	switch {
	case strings.HasPrefix(v, "mcp__"):
		return "", fmt.Errorf("%s: names that begin with mcp__ are for the tools of MCP servers", yamldoc.Quote(v))
	case !nameOK(v):
		return "", fmt.Errorf("%s is not a name: expected %s", yamldoc.Quote(v), nameForm)
	}
	return v, nil
}

// readActions reads a list of actions. One that is at fault is left out.
func (s scope) readActions(key string, n *yamldoc.Value) {
	for i, item := range n.Items {
		at := key + "." + strconv.Itoa(i)
		if s.declared++; s.declared > maxActions {
			s.addFault(s.file, item.At, at, "%s: expected at most %d actions in all files", key, maxActions)
			return
		}
		if s.expectKind(s.table.byKey[actionKey+".id"], at, item, yamldoc.KindMapping) {
			s.readAction(at, item)
		}
	}
}

func (s scope) readAction(key string, n *yamldoc.Value) {
	a, ok := s.readPart("action", key, n, shownOfActions)
	id, known := s.readActionID(key, n)
	if !ok || !known {
		return
	}
	a.ID = id
	s.cfg.Actions = append(s.cfg.Actions, a)
}

// readActionID reads the id of an action.
func (s scope) readActionID(key string, n *yamldoc.Value) (string, bool) {
	r, key := s.table.byKey[actionKey+".id"], key+".id"
	i := slices.IndexFunc(n.Fields, func(f yamldoc.Field) bool { return f.Name == "id" })
	if i < 0 {
		s.addFault(s.file, n.At, key, "missing key %s: expected id: %s", key, r.Example)
		return "", false
	}
	v := n.Fields[i].Value
	if !s.expectKind(r, key, v, yamldoc.KindText) {
		return "", false
	}
	id, ok := s.parseText(r, key, v)
	if !ok {
		return "", false
	}
	if first, dup := s.ids[id]; dup {
		s.addFault(s.file, v.At, key, "%s: an action %s is already defined at %s: expected a unique id", key, yamldoc.Quote(id), first)
		return "", false
	}
	s.ids[id] = filePosition{s.file, v.At}
	return id, true
}
