package lock

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Ref names a tool before its name is mapped. An empty Server means a tool of
// this runtime: built in, or an action of the configuration.
type Ref struct {
	// Server is the configured name of the server.
	Server string `json:"server,omitempty"`
	// Tool is the upstream name.
	Tool string `json:"tool"`
}

// unmappedName returns the name without any replacement.
func (r Ref) unmappedName() string {
	if r.Server == "" {
		return r.Tool
	}
	return "mcp__" + r.Server + "__" + r.Tool
}

// String returns "server/tool", or the bare name.
func (r Ref) String() string {
	if r.Server == "" {
		return r.Tool
	}
	return r.Server + "/" + r.Tool
}

func compareRefs(a, b Ref) int {
	return cmp.Or(strings.Compare(a.Server, b.Server), strings.Compare(a.Tool, b.Tool))
}

// ConflictKind says how names conflict.
type ConflictKind string

// The kinds of conflicts.
const (
	// ConflictCollision is one mapped name for several tools. None of them is
	// mounted.
	ConflictCollision ConflictKind = "collision"
	// ConflictConfusable is tools whose names have one [Skeleton]. None of the
	// upstream ones is mounted.
	ConflictConfusable ConflictKind = "confusable"
	// ConflictShadow is an upstream tool whose bare name is, or is taken for,
	// that of a tool of this runtime. The latter wins; the upstream tool is
	// quarantined until its definition is approved.
	ConflictShadow ConflictKind = "shadow"
)

// Conflict is tools whose names cannot stand side by side.
type Conflict struct {
	// Kind says why.
	Kind ConflictKind `json:"kind"`
	// Tools lists the upstream tools that lose, sorted.
	Tools []Ref `json:"tools"`
	// Own lists the tools of this runtime that keep their names, sorted; empty
	// when none is concerned.
	Own []string `json:"own,omitempty"`
	// Message says it in a sentence.
	Message string `json:"message"`
}

// Conflicts finds the names that cannot stand side by side among all tools:
// those of every server and those of this runtime. Whole names are compared,
// "mcp__<server>__<tool>": two servers may both have a tool "search". Names are
// compared both as the servers wrote them and as they are mapped. Tools of this
// runtime are not compared with each other. The result is sorted.
func Conflicts(tools []Ref) []Conflict {
	tools = slices.Clone(tools)
	slices.SortFunc(tools, compareRefs)
	tools = slices.Compact(tools)
	var out []Conflict
	seen := map[string]bool{}
	report := func(kind ConflictKind, group []Ref) {
		c := newConflict(kind, group)
		id := fmt.Sprintf("%q%q", c.Tools, c.Own)
		if len(c.Tools) > 0 && len(group) > 1 && !seen[id] {
			seen[id] = true
			out = append(out, c)
		}
	}
	for _, group := range groupsSharingKey(tools, func(r Ref) []string { return []string{mappedNameOf(r)} }) {
		report(ConflictCollision, group)
	}
	for _, group := range groupsSharingKey(tools, func(r Ref) []string {
		return []string{Skeleton(r.unmappedName()), Skeleton(mappedNameOf(r))}
	}) {
		report(ConflictConfusable, group)
	}
	for _, group := range shadowedTools(tools) {
		report(ConflictShadow, group)
	}
	return out
}

// newConflict splits a group into the upstream tools and the others.
func newConflict(kind ConflictKind, group []Ref) Conflict {
	c := Conflict{Kind: kind}
	for _, r := range group {
		if r.Server == "" {
			c.Own = append(c.Own, r.Tool)
		} else {
			c.Tools = append(c.Tools, r)
		}
	}
	names := make([]string, len(group))
	for i, r := range group {
		names[i] = cleanName(r.String())
	}
	switch list := strings.Join(names, ", "); kind {
	case ConflictCollision:
		c.Message = "these get one name: " + list
	case ConflictShadow:
		c.Message = fmt.Sprintf("%s has a name that is taken for the runtime's own %s, which wins: write tools: [] in a role that needs no tool of the runtime", names[len(names)-1], strings.Join(names[:len(names)-1], ", "))
	default:
		c.Message = "the names of these are taken for one another: " + list
	}
	return c
}

// mappedNameOf returns the name under which a tool appears.
func mappedNameOf(r Ref) string {
	if r.Server == "" {
		return r.Tool
	}
	if name, err := MapName(r.Server, r.Tool); err == nil {
		return name
	}
	return replaceInvalidRunes(r.unmappedName())
}

// groupsSharingKey returns the groups of tools that share a key, in the order of keys.
func groupsSharingKey(tools []Ref, keys func(Ref) []string) [][]Ref {
	groups := map[string][]Ref{}
	for _, r := range tools {
		for k := range setOf(keys(r)) {
			groups[k] = append(groups[k], r)
		}
	}
	var out [][]Ref
	for _, k := range slices.Sorted(maps.Keys(groups)) {
		if len(groups[k]) > 1 {
			out = append(out, groups[k])
		}
	}
	return out
}

// shadowedTools returns, for each upstream tool whose bare name is taken for one of
// this runtime, those and, last, the tool.
func shadowedTools(tools []Ref) [][]Ref {
	own := map[string][]Ref{}
	for _, r := range tools {
		if r.Server == "" {
			k := Skeleton(r.Tool)
			own[k] = append(own[k], r)
		}
	}
	var out [][]Ref
	for _, r := range tools {
		if r.Server == "" {
			continue
		}
		group := slices.Clone(own[Skeleton(r.Tool)])
		if group == nil {
			group = slices.Clone(own[Skeleton(replaceInvalidRunes(r.Tool))])
		}
		if group != nil {
			out = append(out, append(group, r))
		}
	}
	return out
}
