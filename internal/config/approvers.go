package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/signin"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

const (
	// approversKey is the key of who may decide about the held calls of a role.
	approversKey = personalityKey + ".approvals.approvers"
	// runtimeExpiry is how long a held call may be decided where a role says nothing.
	runtimeExpiry = time.Hour
	// clientPrefix begins the name of the person behind the client of a principal, and
	// issuerPrefix that of who comes from an OpenID provider.
	clientPrefix, issuerPrefix = "client:", "oidc:"
	// maxIssuerName bounds such a name without its prefix, in bytes.
	maxIssuerName = 255
)

// approverRule says who may decide under a role: about every held call, or about those of
// the tools that a key names: all, a label, a server or a tool.
type approverRule struct{ role, tool string }

// FindLabel returns the label of a tool, without the @; known is false when the
// configuration in force does not have the tool.
type FindLabel func(tool string) (label string, known bool)

// Approvers returns who may decide about a held call of a tool under a role. What an entry
// for the tool does not say is as the entry for its server says, then as that for its label,
// and then as the role says. A call without a role has no rule. Labels are asked for only
// where the role has entries for some: then, a tool without a known one has no rule that counts.
func (c *Config) Approvers(role, tool string, labels FindLabel) approvals.Approvers {
	if _, known := c.Personalities[role]; !known && role != "" {
		return approvals.Approvers{NoRole: true}
	}
	form, name := sallyport.ParseID(tool)
	keys := []string{group.Everything}
	if c.hasLabels(role) {
		label, known := labels(name)
		if !known {
			return approvals.Approvers{NoRole: true}
		}
		keys = append(keys, "@"+label)
	}
	if server := (&sallyport.Tool{Name: name}).Server(); server != "" {
		keys = append(keys, "mcp__"+server+"__*")
	}
	if form == sallyport.FormTool {
		keys = append(keys, name)
	}
	return c.mergeApproverRules(role, keys...)
}

// hasLabels reports whether a role has an entry for a label.
func (c *Config) hasLabels(role string) bool {
	for at := range c.approvers {
		if at.role == role && strings.HasPrefix(at.tool, "@") {
			return true
		}
	}
	return false
}

// mergeApproverRules returns the rule of a role with what its entries say, the last of which
// is the nearest.
func (c *Config) mergeApproverRules(role string, keys ...string) approvals.Approvers {
	merged := c.approvers[approverRule{role, ""}]
	for _, key := range keys {
		merged = mergeApprovers(merged, c.approvers[approverRule{role, key}])
	}
	return merged
}

// ApproversWithin returns who may decide about held calls of the tools for which a key of the
// ceilings of a role stands: the rule of the tool that it names, or all rules of the role.
func (c *Config) ApproversWithin(role, key string, labels FindLabel) []approvals.Approvers {
	if nameOK(key) {
		return []approvals.Approvers{c.Approvers(role, key, labels)}
	}
	within := []approvals.Approvers{c.mergeApproverRules(role, group.Everything)}
	for _, at := range c.ApproverTools(role) {
		if nameOK(at) {
			within = append(within, c.Approvers(role, at, labels))
		} else {
			within = append(within, c.mergeApproverRules(role, group.Everything, at))
		}
	}
	return within
}

// ApproverTools returns the keys for tools about which a role says who may decide, sorted.
func (c *Config) ApproverTools(role string) (keys []string) {
	for at := range c.approvers {
		if at.role == role && at.tool != "" {
			keys = append(keys, at.tool)
		}
	}
	slices.Sort(keys)
	return keys
}

// ApproverFaults returns a fault for each entry of a tool or server that contradicts what
// the role and the entry for its label say, where the role has entries for labels.
func (c *Config) ApproverFaults(role string, labels FindLabel) (faults yamldoc.Faults) {
	if !c.hasLabels(role) {
		return nil // loading has reported it
	}
	expires := cmp.Or(c.Personalities[role].Approvals.Expires, runtimeExpiry)
	for _, at := range c.ApproverTools(role) {
		label, known := labels(at)
		if !known || coversLabels(at) {
			continue
		}
		r := c.Approvers(role, at, labels)
		if key, why := findContradiction(&r, expires); why != "" {
			key = "approvals.approvers.tools." + at + key
			faults = append(faults, c.Fault(role, key, -1, fmt.Sprintf("personalities.%s.%s: with what is said of @%s, %s", role, key, label, why)))
		}
	}
	return faults
}

// coversLabels reports whether a key for tools stands for tools of a label, or of all.
func coversLabels(key string) bool { return key == group.Everything || strings.HasPrefix(key, "@") }

// mergeApprovers returns a rule with what a nearer one says in its place.
func mergeApprovers(outer, inner approvals.Approvers) approvals.Approvers {
	if inner.By != nil {
		outer.By = inner.By
	}
	if inner.Needed > 0 {
		outer.Needed = inner.Needed
	}
	if inner.After > 0 {
		outer.After, outer.To = inner.After, inner.To
	}
	outer.Source = cmp.Or(inner.Source, outer.Source)
	return outer
}

// approverKeys are the keys that say who may decide.
func approverKeys() []row {
	rows := approverKeysOf(approversKey, "Who may decide about the held calls of the role. Others who may decide elsewhere see them.", "")
	rows = append(rows, row{
		KeyDoc: KeyDoc{approversKey + ".tools", TypeNames, false, true, "as the role says", "Who may decide about the held calls of some tools: by name, by server as `mcp__notes__*`, by label as `@mail`, or `*`. What an entry does not say is as that for the server says, then that for the label, then `*`, and then the role.", `{"mcp__bank__*": {needed: 2}}`},
		chosen: (*scope).approverTools, form: "^(\\*|mcp__[a-zA-Z0-9_-]{1,64}__\\*|@?[a-zA-Z0-9_-]{1,64})$",
	})
	return append(rows, approverKeysOf(approversKey+".tools.<name>", "One tool, server or label, or all.", "as the role says")...)
}

func approverKeysOf(of, doc, absent string) []row {
	set := func(store func(*approvals.Approvers, value)) func(*scope, value) {
		return func(s *scope, v value) {
			at := approverRule{s.p.Name, ""}
			key := strings.Replace(approversKey, "<name>", at.role, 1)
			if of != approversKey {
				at.tool = s.name
				key += ".tools." + s.name
			}
			editElement(&s.cfg.approvers, at, func(r *approvals.Approvers) {
				store(r, v)
				r.Source = s.places[key].String()
			})
		}
	}
	return []row{
		{KeyDoc: KeyDoc{of, TypeMapping, false, true, cmp.Or(absent, "all who may decide, each alone"), doc, "{by: [page:alice, page:bob], needed: 2}"}, set: set(func(*approvals.Approvers, value) {})},
		{
			KeyDoc: KeyDoc{of + ".by", TypeTexts, false, true, cmp.Or(absent, "all who may decide"), "The people who may decide: `local` at the command line, `page:NAME` by a link at the page, `client:PRINCIPAL` behind the client of a principal, and the name of a principal or `oidc:NAME` at `/v1/approvals` or signed in at the page.", "[page:alice, local]"},
			check:  (*scope).approverName, set: set(func(r *approvals.Approvers, v value) { r.By = v.list }),
		},
		{
			KeyDoc: KeyDoc{of + ".needed", TypeNumber, false, true, cmp.Or(absent, "1"), "How many different people have to say yes before the call runs, 1 to 5. One no refuses it.", "2"},
			check:  countCheck(1, approvals.MostNeeded), set: set(func(r *approvals.Approvers, v value) { r.Needed = int(storedNumber(v.text)) }),
		},
		{KeyDoc: KeyDoc{of + ".escalate", TypeMapping, false, true, cmp.Or(absent, "never"), "Who may decide, too, once a call has been held for a time.", "{after: 10m, to: [page:boss]}"}},
		{
			KeyDoc: KeyDoc{of + ".escalate.after", TypeText, true, true, "", "For how long a call is held before they may, from `1s`, less than it takes to expire.", "10m"},
			check:  durationCheck(time.Second, maxExpiry), set: set(func(r *approvals.Approvers, v value) { r.After = keptSpan(v.text) }),
		},
		{
			KeyDoc: KeyDoc{of + ".escalate.to", TypeTexts, true, true, "", "The people who may decide then, as in `by`.", "[page:boss]"},
			check:  (*scope).approverName, set: set(func(r *approvals.Approvers, v value) { r.To = v.list }),
		},
	}
}

// approverTools judges a key for tools. Whether there is such a tool is known when all are
// registered.
func (s *scope) approverTools(v string) error {
	_, err := s.ruledTool(v)
	return err
}

// approverName judges the form of the name of a person. Whether there can be such a person
// is known when all keys are read.
func (s *scope) approverName(v string) (string, error) {
	name := strings.TrimPrefix(v, clientPrefix)
	rest, issued := strings.CutPrefix(name, issuerPrefix)
	ok := nameOK(name)
	if person, page := strings.CutPrefix(v, signin.Prefix); page {
		_, err := signin.NewPerson(person, false)
		ok = err == nil
	} else if issued {
		blank := func(r rune) bool { return r <= ' ' || r == 0x7f }
		ok = rest != "" && len(rest) <= maxIssuerName && utf8.ValidString(rest) && !strings.ContainsFunc(rest, blank)
	}
	if !ok {
		return "", fmt.Errorf("%s names no person who could decide: expected local, page:NAME, client:PRINCIPAL, oidc:NAME or the name of a principal", yamldoc.Quote(v))
	}
	return v, nil
}

// checkApprovers reports what contradicts itself in who may decide.
func (l *loader) checkApprovers() {
	order := func(a, b approverRule) int {
		return cmp.Or(strings.Compare(a.role, b.role), strings.Compare(a.tool, b.tool))
	}
	bad := map[string]bool{} // roles whose own rule is
	for _, at := range slices.SortedFunc(maps.Keys(l.cfg.approvers), order) {
		if bad[at.role] {
			continue
		}
		key, keys := "personalities."+at.role+".approvals.approvers", []string(nil)
		if at.tool != "" {
			key += ".tools." + at.tool
			keys = append(keys, group.Everything)
			if server := (&sallyport.Tool{Name: at.tool}).Server(); server != "" {
				keys = append(keys, "mcp__"+server+"__*")
			}
			keys = append(keys, at.tool)
		}
		r := l.cfg.mergeApproverRules(at.role, keys...)
		own := l.cfg.approvers[at]
		// What tools of which label get is known when all tools are.
		later := at.tool != "" && !coversLabels(at.tool) && l.cfg.hasLabels(at.role)
		if below, why := findContradiction(&r, cmp.Or(l.cfg.Personalities[at.role].Approvals.Expires, runtimeExpiry)); why != "" && !later {
			bad[at.role] = at.tool == ""
			l.faultNear(key+below, "%s", why)
		}
		for i, name := range own.By {
			l.checkApprover(at.role, fmt.Sprintf("%s.by.%d", key, i), name)
		}
		for i, name := range own.To {
			l.checkApprover(at.role, fmt.Sprintf("%s.escalate.to.%d", key, i), name)
		}
	}
}

// findContradiction says what of one rule does not fit together, and below which key;
// both are empty when all of it does.
func findContradiction(r *approvals.Approvers, expires time.Duration) (below, why string) {
	people := approvals.CountPeople(slices.Concat(r.By, r.To))
	switch {
	case r.By != nil && len(r.By) == 0:
		return ".by", "no one could decide: expected at least one name; leave the key out for all who may decide"
	case r.AsksSeveral() && r.By == nil:
		return ".needed", fmt.Sprintf("%d different people are needed, and one who decides under several names would count as several: expected by, with a name of each", r.Needed)
	case r.After > 0 && r.By == nil:
		return ".escalate", "all may decide from the beginning: expected by, with those who may decide before"
	case r.After > 0 && len(r.To) == 0:
		return ".escalate.to", "expected at least one name"
	case r.After >= expires:
		return ".escalate.after", fmt.Sprintf("a held call expires after %s, before %s are over: expected less", inUnits(expires), inUnits(r.After))
	case r.By != nil && r.Needed > people:
		return ".needed", fmt.Sprintf("%d different people are needed, and %d may decide: a name counts once, wherever that person decides", r.Needed, people)
	}
	return "", ""
}

// checkApprover reports a name of a person who cannot decide.
func (l *loader) checkApprover(role, key, name string) {
	may := func(permissions, roles []string) bool {
		held := slices.Concat(permissions, l.cfg.Security.DefaultPermissions)
		return slices.Contains(held, signin.PermissionDecide) && roles != nil && len(roles) == 0
	}
	owner, client := strings.CutPrefix(name, clientPrefix)
	p, known := l.cfg.Principals[owner]
	issuer := l.cfg.Security.OIDC
	switch {
	case strings.HasPrefix(name, signin.Prefix), name == sallyport.LocalPrincipal:
	case client && l.cfg.Personalities[role].Approvals.OperatorOnly:
		l.faultNear(key, "no client is asked about these calls: personalities.%s.approvals.elicit is false", role)
	case strings.HasPrefix(owner, issuerPrefix) && issuer == nil:
		l.faultNear(key, "no OpenID provider is configured: security.oidc is missing")
	case client && (strings.HasPrefix(owner, issuerPrefix) || known && owner != sallyport.LocalPrincipal && !p.Person):
		l.faultNear(key, "the client of %s is not asked: person: true is written for principals alone, and not for this one", yamldoc.Quote(owner))
	case client:
	case strings.HasPrefix(name, issuerPrefix) && issuer.Page != nil: // who decides at the page
	case strings.HasPrefix(name, issuerPrefix) && (issuer.Personalities == nil || len(issuer.Personalities) > 0):
		l.faultNear(key, "who comes from this provider takes a role, and decides nothing: security.oidc.personalities is not []")
	case known && !may(p.Permissions, p.Personalities):
		l.faultNear(key, "principals.%s cannot decide: it needs the permission %s and personalities: []; the person behind its client is %s%s", name, signin.PermissionDecide, clientPrefix, name)
	}
}

// faultNear reports something at a key or, where that is in no file, at its nearest parent.
func (l *loader) faultNear(key, format string, args ...any) {
	for at := key; at != ""; at, _ = splitKey(at) {
		if p, ok := l.places[at]; ok {
			l.addFault(p.file, p.at, key, "%s: %s", key, fmt.Sprintf(format, args...))
			return
		}
	}
}
