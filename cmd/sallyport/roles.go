package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/action"
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
// file without any offers the actions of the files and the built-in tools that
// need no reach.
func rolesOf(c *config.Config, tools []sallyport.Tool) roles {
	out := roles{}
	for name, p := range c.Personalities {
		if c.Implicit {
			implicit := *p
			implicit.Toolset = []string{}
			for _, t := range tools {
				if t.Toolset == action.Toolset || !needsReach(&t) {
					implicit.Toolset = append(implicit.Toolset, t.Name)
				}
			}
			p = &implicit
		}
		out[name] = p
	}
	return out
}

// needsReach reports whether a tool is of no use without reach. What looks
// after processes is, because nothing starts one.
func needsReach(t *sallyport.Tool) bool {
	c := &t.Capabilities
	return c.FSReach != nil || c.Network != nil || c.Process != nil || t.Toolset == "terminal"
}

// caller is a principal in a role. The session is a fresh one when none is
// named. A principal that names no role gets the first of its own when it may
// not take the usual one.
func (g *gate) caller(ctx context.Context, personality, principal, session string) (*sallyport.Caller, error) {
	who, err := g.principal(ctx, principal)
	if err != nil {
		return nil, err
	}
	if personality == "" && len(who.Personalities) > 0 {
		usual := ""
		if p, err := g.config.Choose(""); err == nil {
			usual = p.Name
		}
		personality = who.Role("", usual)
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
		Principal: who, Session: session, Personality: p.Name,
		Platform: sallyport.PlatformCLI, Workspace: g.config.Workspace,
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
