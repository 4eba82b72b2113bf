package group

import (
	"slices"

	"github.com/sallyport/sallyport"
)

// DefaultRelay is the relay of a mail declaration that names none.
const DefaultRelay = "default"

func pathItems(c *sallyport.Capabilities, write bool) []string {
	if c.FSReach == nil {
		return nil
	}
	l := c.FSReach.Read
	if write {
		l = c.FSReach.Write
	}
	if l.FromPersonality {
		return []string{FromPersonality}
	}
	return l.Paths
}

func processList(field func(*sallyport.ProcessCapability) []string) func(*sallyport.Capabilities) []string {
	return func(c *sallyport.Capabilities) []string {
		if c.Process == nil {
			return nil
		}
		return field(c.Process)
	}
}

func kindItems(a *sallyport.AttachmentsCapability) []string {
	switch {
	case a == nil:
		return nil
	case a.All:
		return []string{Everything}
	default:
		return textsOf(a.Kinds)
	}
}

func connections(d *sallyport.DatabaseCapability) []string {
	if d == nil {
		return nil
	}
	return d.Connections
}

func recipients(m *sallyport.MailCapability) []string {
	if m == nil {
		return nil
	}
	return m.To
}

// textsOf returns words as texts; nil stays nil, because a list that is not
// there differs from an empty one.
func textsOf[T ~string](list []T) []string {
	if list == nil {
		return nil
	}
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = string(list[i])
	}
	return texts
}

func kindsOf(list []string) (kinds []sallyport.InputKind) {
	for _, s := range list {
		kinds = append(kinds, sallyport.InputKind(s))
	}
	return kinds
}

// oneIf returns the list of one item when a condition holds, else none.
func oneIf(holds bool, item string) []string {
	if !holds {
		return nil
	}
	return []string{item}
}

// sortedSet returns the sorted distinct items, nil for none.
func sortedSet[T ~string](list []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

// nonNilSet returns the sorted distinct items, an empty list for none.
func nonNilSet(list []string) []string { return append([]string{}, sortedSet(list)...) }
