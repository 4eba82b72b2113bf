// Package group is the table of the capability groups: for each one its name,
// how a declaration spells it, what has to be wired for it, what a grant holds
// of it and how two declarations or grants of it compare.
//
// Start with [All]. Code that treats every group alike loops over the table,
// so that a new group is a row in table.go and is not forgotten anywhere. What
// only one group needs stays where it is used. Which files a new group
// touches is listed in docs/internals/walks.md.
//
// The package decides nothing about calls. It is safe for concurrent use.
package group

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
)

// Declared items that mean "whatever the personality gives".
const (
	// Everything is the spelling of a list without a bound.
	Everything = "*"
	// FromPersonality stands for a list that is left to the personality.
	FromPersonality = "from-personality"
)

// Fault receives what is wrong with a declaration: the reach that it is about,
// and a format with its arguments.
type Fault func(capability, format string, args ...any)

// Group is one capability group. Check, Clone, Normalize and Grant may be called
// only with a declaration that names the group; every other function may also be
// called with a declaration, grant or set of backends that does not have it.
type Group struct {
	// Name is the group as declarations, grants and decisions spell it.
	Name string
	// Keys are the keys of its object in a declaration; nil for a group that is
	// a list.
	Keys []string
	// Field returns a pointer to the field of a declaration that holds the
	// group.
	Field func(*sallyport.Capabilities) any
	// Check reports what is wrong with the group of a declaration.
	Check func(*sallyport.Capabilities, Fault)
	// Changes reports whether a declaration asks to change something beyond the
	// tool's own store, which a tool that only reads must not; nil means never.
	Changes func(*sallyport.Capabilities) bool
	// Clone replaces the group of a declaration by a copy that shares nothing
	// with it.
	Clone func(*sallyport.Capabilities)
	// Normalize sorts the lists of the group in place and leaves out what two
	// declarations may differ in without asking for anything else.
	Normalize func(*sallyport.Capabilities)
	// Wired reports whether something serves the group; nil means that nothing
	// has to be wired.
	Wired func(*sallyport.Backends) bool
	// Grant sets what a grant holds of the group to the declaration as it
	// stands; nil for a group whose items have to be resolved first.
	Grant func(*sallyport.Capabilities, *sallyport.Grant)
	// Granted reports whether a grant holds anything of the group.
	Granted func(*sallyport.Grant) bool
	// Targets returns the names in a grant that stand for something of the
	// operator's, and the backend that may say for what; nil when there are no
	// such names.
	Targets func(*sallyport.Grant, *sallyport.Backends) (namer any, names []string)
	// Reaches are the lists of the group.
	Reaches []Reach
	// notes says in words what bounds or widens the lists of a grant; nil says
	// nothing.
	notes func(*sallyport.Grant) []string
	// lost names what the first grant holds, besides lists that meet, and the
	// second does not; nil looks at the lists alone.
	lost func(was, now *sallyport.Grant) string
}

// Reach is one list of a group, or a word that bounds it, as a list of one.
type Reach struct {
	// Name is the list as decisions and dropped items spell it.
	Name string
	// Short is the word of listings for it; empty means the group's name.
	Short string
	// Pointer is the place below the capabilities at which the lock reports a
	// change; empty for what the lock compares otherwise.
	Pointer string
	// Declared lists what a declaration asks for.
	Declared func(*sallyport.Capabilities) []string
	// Granted lists what a grant holds; nil for a word that no list shows.
	Granted func(*sallyport.Grant) []string
	// Denied says that Granted lists what a grant keeps out.
	Denied bool
	// Accessed says that an accessor decides about the items one by one, Probed
	// that it can do so before a call.
	Accessed, Probed bool
	// Writes says that to gain an item is to gain the right to change
	// something.
	Writes bool
	// Covers reports whether a list reaches everything that an item does.
	Covers func(list []string, item string) bool
	// Meet intersects two lists; nil for a list that no other one bounds.
	Meet func(declared, allowed []string) (granted, dropped []string)
	// Ceiling is what bounds the list in a personality.
	Ceiling Ceiling
}

// Ceiling is the list of a personality that bounds a list of declarations. The
// zero value bounds nothing.
type Ceiling struct {
	// Key is the key below the personality; empty when there is none.
	Key string
	// List returns the list of a personality. With nil the declaration stands.
	// The function is nil where more than two lists decide.
	List func(*sallyport.Personality) []string
	// Reason is the format of the reason why an item is not granted.
	Reason string
	// Set replaces the list of a grant.
	Set func(*sallyport.Grant, []string)
}

// All returns the groups in the order of a declaration. They are shared: read
// only.
func All() []Group { return table[:] }

// FindReach returns the reach of a name as decisions spell it; ok is false when
// there is none.
func FindReach(name string) (r *Reach, ok bool) {
	for i := range table {
		for k := range table[i].Reaches {
			if r := &table[i].Reaches[k]; r.Name == name && !r.Denied {
				return r, true
			}
		}
	}
	return nil, false
}

// Probed lists the names of the reaches about whose items an accessor can
// decide before a call.
func Probed() (names []string) {
	for _, g := range All() {
		for _, r := range g.Reaches {
			if r.Probed {
				names = append(names, r.Name)
			}
		}
	}
	return names
}

// Clone returns a copy of a declaration that shares nothing with it.
func Clone(c *sallyport.Capabilities) sallyport.Capabilities {
	out := *c
	for i := range table {
		if g := &table[i]; g.Named(c) {
			g.Clone(&out)
		}
	}
	return out
}

// Normal returns the form of a declaration in which two that ask for the same
// are equal. It shares nothing with the declaration.
func Normal(c *sallyport.Capabilities) sallyport.Capabilities {
	out := Clone(c)
	for i := range table {
		if g := &table[i]; g.Named(c) {
			g.Normalize(&out)
		}
	}
	return out
}

// Unwired lists the groups that a declaration asks for and that nothing
// serves.
func Unwired(c *sallyport.Capabilities, b *sallyport.Backends) (names []string) {
	for i := range table {
		if g := &table[i]; g.Declared(c) && g.Wired != nil && !g.Wired(b) {
			names = append(names, g.Name)
		}
	}
	return names
}

// Unusable lists the groups that a declaration names, be it with an empty list,
// other than those that are usable.
func Unusable(c *sallyport.Capabilities, usable ...string) (names []string) {
	for i := range table {
		if g := &table[i]; g.Named(c) && !slices.Contains(usable, g.Name) {
			names = append(names, g.Name)
		}
	}
	return names
}

// Names reports whether a declaration names the group of a reach.
func Names(c *sallyport.Capabilities, reach string) bool {
	for i := range table {
		if g := &table[i]; Within(reach, g.Name) {
			return g.Named(c)
		}
	}
	return false
}

// AsksToChange reports whether a declaration asks to change something beyond the
// tool's own store, hosts left aside.
func AsksToChange(c *sallyport.Capabilities) bool {
	return slices.ContainsFunc(table[:], func(g Group) bool { return g.Changes != nil && g.Changes(c) })
}

// Words names what a declaration asks for in a few words.
func Words(c *sallyport.Capabilities) (words []string) {
	for i := range table {
		g := &table[i]
		for k := range g.Reaches {
			r := &g.Reaches[k]
			word := cmp.Or(r.Short, g.Name)
			if len(r.Declared(c)) > 0 && !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
	}
	return words
}

// Lost names something that the first grant holds and the second does not,
// hosts left aside; empty when there is nothing.
func Lost(was, now *sallyport.Grant) string {
	for i := range table {
		g := &table[i]
		for k := range g.Reaches {
			if item := g.Reaches[k].lostItem(was, now); item != "" {
				return gone(g.Reaches[k].Name, item)
			}
		}
		if g.lost == nil {
			continue
		}
		if why := g.lost(was, now); why != "" {
			return why
		}
	}
	return ""
}

func gone(name, item string) string { return name + " " + item + " is not granted any more" }

// Declared reports whether a declaration asks for something of the group.
func (g *Group) Declared(c *sallyport.Capabilities) bool {
	field := reflect.ValueOf(g.Field(c)).Elem()
	return !field.IsNil() && (field.Kind() != reflect.Slice || field.Len() > 0)
}

// Notes says in words what bounds or widens the lists of a grant.
func (g *Group) Notes(grant *sallyport.Grant) []string {
	if g.notes == nil {
		return nil
	}
	return g.notes(grant)
}

// Named reports whether a declaration names the group, be it with an empty
// list.
func (g *Group) Named(c *sallyport.Capabilities) bool {
	return !reflect.ValueOf(g.Field(c)).Elem().IsNil()
}

func (r *Reach) lostItem(was, now *sallyport.Grant) string {
	if r.Granted == nil || r.Meet == nil || r.Denied {
		return ""
	}
	left := r.Granted(now)
	for _, item := range r.Granted(was) {
		if granted, _ := r.Meet([]string{item}, left); !slices.Contains(granted, item) {
			return item
		}
	}
	return ""
}

// Defers reports whether a declaration leaves the list to the personality.
func (r *Reach) Defers(c *sallyport.Capabilities) bool {
	return r.Ceiling.Key != "" && slices.ContainsFunc(r.Declared(c), func(item string) bool {
		return item == Everything || item == FromPersonality
	})
}

// Within reports whether a reach, as decisions spell it, belongs to a group:
// "fs_reach.read" is of the group "fs_reach".
func Within(reach, group string) bool {
	rest, ok := strings.CutPrefix(reach, group)
	return ok && (rest == "" || rest[0] == '.')
}
