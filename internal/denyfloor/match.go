package denyfloor

import (
	"strings"
)

// ruleSet finds the rule that matches the beginning of a relative path,
// without allocating: rules are indexed by their first element, except for the
// few whose first element is a pattern.
type ruleSet struct {
	// begins tells the bytes with which a matching path can begin. Nearly
	// every rule begins with a dot and nearly no element of a path does.
	begins   [256]bool
	byFirst  map[string][]compiledRule
	patterns []compiledRule
}

type compiledRule struct {
	elems []string
	rule  *Rule
}

func (s *ruleSet) addRule(path string, r Rule) {
	if s.byFirst == nil {
		s.byFirst = make(map[string][]compiledRule)
	}
	c := compiledRule{elems: strings.Split(strings.ToLower(path), "/"), rule: &r}
	s.begins[c.elems[0][0]] = true
	if first := c.elems[0]; !strings.Contains(first, "*") {
		s.byFirst[first] = append(s.byFirst[first], c)
		return
	}
	s.patterns = append(s.patterns, c)
}

// findMatch returns the rule that covers the relative path p, nil when none
// does.
func (s *ruleSet) findMatch(p string, write bool) *Rule {
	if p == "" || !s.begins[p[0]] {
		return nil
	}
	first, _, _ := strings.Cut(p, "/")
	if r := matchRules(s.byFirst[first], p, write); r != nil {
		return r
	}
	return matchRules(s.patterns, p, write)
}

func matchRules(rules []compiledRule, p string, write bool) *Rule {
	for i := range rules {
		if (write || !rules[i].rule.WriteOnly) && rules[i].matchesPath(p) {
			return rules[i].rule
		}
	}
	return nil
}

func (c *compiledRule) matchesPath(p string) bool {
	more := true
	for _, pattern := range c.elems {
		if !more {
			return false
		}
		var elem string
		elem, p, more = strings.Cut(p, "/")
		if !MatchElement(pattern, elem) {
			return false
		}
	}
	return true
}

// MatchElement matches one element of a path against one of a pattern, with at most
// one star.
func MatchElement(pattern, elem string) bool {
	before, after, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == elem
	}
	return len(elem) >= len(before)+len(after) && strings.HasPrefix(elem, before) && strings.HasSuffix(elem, after)
}
