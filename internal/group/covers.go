package group

import (
	"slices"

	"github.com/sallyport/sallyport/internal/reach"
)

func coversEqual(list []string, item string) bool { return slices.Contains(list, item) }

// coversAny is for lists whose items are not told apart.
func coversAny(list []string, _ string) bool { return len(list) > 0 }

func coversKind(list []string, item string) bool {
	return slices.Contains(list, Everything) || slices.Contains(list, item)
}

// coversHost compares hosts by what they match. "*" means whatever the
// personality allows, which is nothing without one: it covers no host.
func coversHost(list []string, item string) bool {
	if slices.Contains(list, item) {
		return true
	}
	p, err := reach.ParseHost(item)
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

func coversRef(list []string, item string) bool {
	want, err := reach.ParseRef(item)
	return slices.ContainsFunc(list, func(s string) bool {
		have, bad := reach.ParseRef(s)
		return s == item || err == nil && bad == nil && have.Covers(want)
	})
}

func coversBinary(list []string, item string) bool {
	want, err := reach.ParseBinary(item)
	return slices.ContainsFunc(list, func(s string) bool {
		have, bad := reach.ParseBinary(s)
		return s == item || err == nil && bad == nil && have.Covers(want)
	})
}

// coversPath compares paths by whole elements; a variable at the beginning is
// an element. What is left to the personality covers no path that is written,
// and no other way round.
func coversPath(list []string, item string) bool {
	return slices.ContainsFunc(list, func(have string) bool { return reach.Within(have, item) })
}

// meetEqual intersects two lists of words, sorted.
func meetEqual(declared, allowed []string) (granted, dropped []string) {
	return meetBy(coversEqual, declared, allowed)
}

// meetKinds intersects two lists of kinds, sorted.
func meetKinds(declared, allowed []string) (granted, dropped []string) {
	return meetBy(coversKind, declared, allowed)
}

// meetBy returns the items of the first list that the second covers, sorted,
// and the others.
func meetBy(covers func([]string, string) bool, declared, allowed []string) (granted, dropped []string) {
	for _, item := range declared {
		if covers(allowed, item) {
			granted = append(granted, item)
		} else {
			dropped = append(dropped, item)
		}
	}
	slices.Sort(granted)
	return granted, dropped
}
