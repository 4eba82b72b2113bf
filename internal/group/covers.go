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

// coversParsed returns the function that compares items by what they stand for.
func coversParsed[T interface{ Covers(other T) bool }](parse func(string) (T, error)) func([]string, string) bool {
	return func(list []string, item string) bool {
		want, err := parse(item)
		return slices.ContainsFunc(list, func(s string) bool {
			have, bad := parse(s)
			return s == item || err == nil && bad == nil && have.Covers(want)
		})
	}
}

// coversPath compares paths by whole elements; a variable at the beginning is
// an element. What is left to the personality covers no path that is written,
// and no other way round.
func coversPath(list []string, item string) bool {
	return slices.ContainsFunc(list, func(have string) bool { return reach.Within(have, item) })
}

// meetBy returns the function that divides the items of one list into those that
// another one covers, sorted, and the rest.
func meetBy(covers func([]string, string) bool) func(declared, allowed []string) (granted, dropped []string) {
	return func(declared, allowed []string) (granted, dropped []string) {
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
}
