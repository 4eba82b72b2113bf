package vet

import (
	"fmt"
	"strings"
)

// acceptance is a line of a file of accepted findings.
type acceptance struct {
	tool, kind, what string
	line             int
	used             bool
}

// Accept removes the findings that a person has looked at. Each line of the text
// is TOOL | KIND | WHAT | REASON, or empty, or a comment after #. The error names
// lines that are malformed, have no reason, or match nothing any more.
func (r *Report) Accept(text string) error {
	var list []*acceptance
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		parts := strings.Split(line, " | ")
		if len(parts) != 4 || strings.TrimSpace(parts[3]) == "" {
			return fmt.Errorf("line %d: expected TOOL | KIND | WHAT | REASON", i+1)
		}
		list = append(list, &acceptance{tool: parts[0], kind: parts[1], what: parts[2], line: i + 1})
	}
	for i := range r.Tools {
		t := &r.Tools[i]
		rest := []Finding{}
		for _, f := range t.Findings {
			accepted := false
			for _, a := range list {
				if a.tool == t.Tool && a.kind == string(f.Kind) && a.what == f.What {
					accepted, a.used = true, true
				}
			}
			if !accepted {
				rest = append(rest, f)
			}
		}
		t.Findings = rest
	}
	for _, a := range list {
		if !a.used {
			return fmt.Errorf("line %d: %s of %s is not found any more: %s", a.line, a.kind, a.tool, a.what)
		}
	}
	return nil
}
