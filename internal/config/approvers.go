package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
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
// one tool or server.
type approverRule struct{ role, tool string }

// Approvers returns who may decide about a held call of a tool under a role. What an entry
// for the tool does not say is as the entry for its server says, and then as the role says.
// A call without a role has no rule.
func (c *Config) Approvers(role, tool string) approvals.Approvers {
	if _, known := c.Personalities[role]; !known && role != "" {
		return approvals.Approvers{NoRole: true}
	}
	form, name := sallyport.ParseID(tool)
	merged := c.approvers[approverRule{role, ""}]
	if server := (&sallyport.Tool{Name: name}).Server(); server != "" {
		merged = mergeApprovers(merged, c.approvers[approverRule{role, "mcp__" + server + "__*"}])
	}
	if form == sallyport.FormTool {
		merged = mergeApprovers(merged, c.approvers[approverRule{role, name}])
	}
	return merged
}

// ApproversWithin returns who may decide about held calls of the tools for which a key of the
// ceilings of a role stands: the rule of the tool that it names, or all rules of the role.
func (c *Config) ApproversWithin(role, key string) []approvals.Approvers {
	within := []approvals.Approvers{c.Approvers(role, key)}
	if nameOK(key) {
		return within
	}
	for at := range c.approvers {
		if at.role == role && at.tool != "" {
			within = append(within, c.Approvers(role, at.tool))
		}
	}
	return within
}

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
		KeyDoc: KeyDoc{approversKey + ".tools", TypeNames, false, true, "as the role says", "Who may decide about the held calls of single tools: by name, or by server as `mcp__notes__*`. What an entry does not say is as the role says.", `{"mcp__bank__*": {needed: 2}}`},
		chosen: (*scope).ruledApprovers, form: "^(mcp__[a-zA-Z0-9_-]{1,64}__\\*|[a-zA-Z0-9_-]{1,64})$",
	})
	return append(rows, approverKeysOf(approversKey+".tools.<name>", "One tool or server.", "as the role says")...)
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

// ruledApprovers judges the name of a tool or server.
func (s *scope) ruledApprovers(v string) error {
	name := v
	if rest, ok := strings.CutPrefix(v, "mcp__"); ok {
		name = strings.TrimSuffix(rest, "__*")
	}
	switch {
	case strings.HasPrefix(v, "@"):
		return errors.New(`labels are not accepted here: expected the name of a tool, or a server as "mcp__notes__*"`)
	case !nameOK(name):
		return fmt.Errorf(`%s is not a tool: expected a name, or a server as "mcp__notes__*"; names are %s`, yamldoc.Quote(v), nameForm)
	}
	return nil
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
		key, r := "personalities."+at.role+".approvals.approvers", l.cfg.approvers[approverRule{at.role, ""}]
		if at.tool != "" {
			key += ".tools." + at.tool
			if server := (&sallyport.Tool{Name: at.tool}).Server(); server != "" {
				r = mergeApprovers(r, l.cfg.approvers[approverRule{at.role, "mcp__" + server + "__*"}])
			}
			r = mergeApprovers(r, l.cfg.approvers[at])
		}
		own := l.cfg.approvers[at]
		if !l.checkApproverRule(key, &r, cmp.Or(l.cfg.Personalities[at.role].Approvals.Expires, runtimeExpiry)) {
			bad[at.role] = at.tool == ""
		}
		for i, name := range own.By {
			l.checkApprover(at.role, fmt.Sprintf("%s.by.%d", key, i), name)
		}
		for i, name := range own.To {
			l.checkApprover(at.role, fmt.Sprintf("%s.escalate.to.%d", key, i), name)
		}
	}
}

// checkApproverRule checks the keys of one rule together, and reports whether they fit.
func (l *loader) checkApproverRule(key string, r *approvals.Approvers, expires time.Duration) (ok bool) {
	people := slices.Concat(r.By, r.To)
	switch {
	case r.By != nil && len(r.By) == 0:
		l.faultNear(key+".by", "no one could decide: expected at least one name; leave the key out for all who may decide")
	case r.AsksSeveral() && r.By == nil:
		l.faultNear(key+".needed", "%d different people are needed, and one who decides under several names would count as several: expected by, with a name of each", r.Needed)
	case r.After > 0 && r.By == nil:
		l.faultNear(key+".escalate", "all may decide from the beginning: expected by, with those who may decide before")
	case r.After > 0 && len(r.To) == 0:
		l.faultNear(key+".escalate.to", "expected at least one name")
	case r.After >= expires:
		l.faultNear(key+".escalate.after", "a held call expires after %s, before %s are over: expected less", inUnits(expires), inUnits(r.After))
	case r.By != nil && r.Needed > approvals.CountPeople(people):
		l.faultNear(key+".needed", "%d different people are needed, and %d may decide: a name counts once, wherever that person decides", r.Needed, approvals.CountPeople(people))
	default:
		return true
	}
	return false
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
