package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/registry"
)

// The names of the configuration file and of the folder beside it that holds
// state and key.
const (
	configName = "sallyport.yaml"
	stateDir   = ".sallyport"
)

// roles finds personalities for the gate.
type roles map[string]*sallyport.Personality

// Personality finds a role by name.
func (r roles) Personality(name string) (*sallyport.Personality, bool) {
	p, ok := r[name]
	return p, ok
}

// rolesOf returns the personalities of a configuration. The implicit one of a
// file without any offers the built-in tools that need no reach.
func rolesOf(c *config.Config) roles {
	out := roles{}
	for name, p := range c.Personalities {
		if c.Implicit {
			implicit := *p
			implicit.Toolset = []string{}
			for _, t := range builtins() {
				if t.Capabilities.FSReach == nil && t.Capabilities.Network == nil {
					implicit.Toolset = append(implicit.Toolset, t.Name)
				}
			}
			p = &implicit
		}
		out[name] = p
	}
	return out
}

// checkNames refuses a toolset that names no tool and no label.
func (g *gate) checkNames() error {
	var names, labels []string
	for _, t := range g.registry.Tools() {
		names = append(names, t.Name)
		labels = append(labels, "@"+t.Toolset)
	}
	known := append(slices.Clone(names), labels...)
	var faults config.Faults
	for _, role := range g.config.Names() {
		p, _ := g.config.Personality(role)
		for i, item := range p.Toolset {
			if slices.Contains(known, item) || strings.HasPrefix(item, "mcp__") {
				continue
			}
			text := fmt.Sprintf("%q is no tool", item)
			if strings.HasPrefix(item, "@") {
				text = fmt.Sprintf("%q is no label of a tool", item)
			}
			if near := config.Suggest(item, known); near != "" {
				text += fmt.Sprintf(" (did you mean %q?)", near)
			}
			faults = append(faults, g.config.Fault(role, "toolset", i, text))
		}
	}
	if len(faults) > 0 {
		return faults
	}
	return nil
}

// caller is the local user in a role. The session is a fresh one when none is
// named.
func (g *gate) caller(personality, principal, session string) (*sallyport.Caller, error) {
	if principal != "" && principal != sallyport.LocalPrincipal {
		return nil, fmt.Errorf("not supported yet: principal %q: the command line is principal %q", principal, sallyport.LocalPrincipal)
	}
	p, err := g.config.Choose(personality)
	if err != nil {
		return nil, err
	}
	if session == "" {
		session = "cli-" + rand.Text()
	}
	if len(session) > maxSessionBytes || !utf8.ValidString(session) || strings.ContainsFunc(session, unicode.IsControl) {
		return nil, errors.New("--session: expected at most 256 bytes of text without control characters")
	}
	return &sallyport.Caller{
		Principal: sallyport.Principal{Name: sallyport.LocalPrincipal},
		Session:   session, Personality: p.Name, Platform: sallyport.PlatformCLI,
		Workspace: g.config.Workspace,
	}, nil
}

const maxSessionBytes = 256

// randomKey seals a chain that does not outlive the process.
func randomKey() (audit.Key, error) {
	secret := make([]byte, audit.KeyBytes)
	// Read never fails since Go 1.24: it aborts the program instead.
	_, _ = rand.Read(secret)
	return audit.NewKey(secret)
}

// roleRow is a personality's line in the table of check.
func (g *gate) roleRow(name string, misfits registry.Faults) []string {
	count := 0
	for _, m := range misfits {
		if m.Personality == name {
			count++
		}
	}
	tools := g.registry.List(&sallyport.Caller{Personality: name})
	return []string{name, fmt.Sprint(len(tools)), fmt.Sprint(count)}
}
