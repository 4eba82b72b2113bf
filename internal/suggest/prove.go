package suggest

import (
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/replay"
)

// CheckGrant compares the grant that a tool has under a draft with what was touched, and
// with the grant of today. It adds each part that does not hold to the wide ones, and
// reports whether all hold.
func (r *Record) CheckGrant(id string, now *sallyport.Grant, wide Wide) bool {
	u, ok := r.tools[id], true
	if u == nil {
		return true
	}
	today := u.tool.Grant
	for _, g := range group.All() {
		for i := range g.Reaches {
			reach := &g.Reaches[i]
			if reach.Granted == nil || reach.Denied || reach.Ceiling.Key == "" {
				continue
			}
			given := reach.Granted(now)
			for _, item := range u.needed(reach) {
				if !reach.Covers(given, item) {
					ok = wide.keepPart(g.Name, id+" would not reach "+item+" any more") && ok
				}
			}
			for _, item := range given {
				if !reach.Covers(reach.Granted(today), item) {
					ok = wide.keepPart(g.Name, "a list would let "+id+" reach "+item+", which it does not today") && ok
				}
			}
		}
	}
	if why := widerNetwork(&today.Network, &now.Network); why != "" {
		ok = wide.keepPart(group.Network, id+" would gain "+why) && ok
	}
	return ok
}

// keepPart leaves a part as it is today. It reports false: the draft does not hold.
func (w Wide) keepPart(part, why string) bool {
	if w[part] == "" {
		w[part] = why
	}
	return false
}

// widerNetwork names what a grant lets through beside its lists that another one does not.
func widerNetwork(today, now *sallyport.NetworkGrant) string {
	switch {
	case now.AllowPrivate && !today.AllowPrivate, slices.ContainsFunc(now.Private, func(a string) bool {
		return !today.AllowPrivate && !slices.Contains(today.Private, a)
	}):
		return "private addresses"
	case now.AnyAddress && !today.AnyAddress:
		return "addresses"
	case today.ReadOnly && !now.ReadOnly:
		return "methods"
	case slices.ContainsFunc(today.Deny, func(host string) bool { return !slices.Contains(now.Deny, host) }):
		return "hosts of its deny list"
	}
	return ""
}

// KeepArguments leaves the arguments of every tool as they are today. It reports whether some
// were not yet.
func (r *Record) KeepArguments(wide Wide, why string) (fresh bool) {
	for id := range r.tools {
		fresh = wide[partArguments+id] == "" || fresh
		wide.keepPart(partArguments+id, why)
	}
	return fresh
}

// KeepCall leaves the part wide by which a draft says something else of a call than the
// role does today. It reports whether there is such a part that is not wide yet.
func (w Wide) KeepCall(tool string, v *replay.Verdict) bool {
	part := partArguments + tool
	if v.Step == sallyport.StepVisible || v.Step == sallyport.StepFind || v.Unknown != "" && strings.Contains(v.Unknown, "no such tool") {
		part = partTools
	}
	if w[part] != "" {
		return false
	}
	why := v.Why
	if v.Unknown != "" {
		why = v.Unknown
	}
	w[part] = "a call that was allowed would be " + string(v.Outcome) + ": " + why
	if v.Outcome == "" {
		w[part] = "a call that was allowed could not be decided again: " + why
	}
	return true
}
