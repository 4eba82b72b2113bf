package app

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/config"
)

// The names of the configuration file, and of the folder beside it that holds
// state and key.
const (
	ConfigName = config.FileName
	StateDir   = ".sallyport"
)

// roleTable finds personalities for the gate.
type roleTable map[string]*sallyport.Personality

// Personality returns a role by name.
func (r roleTable) Personality(name string) (*sallyport.Personality, bool) {
	p, ok := r[name]
	return p, ok
}

// rolesOf returns the personalities of a configuration. A file without
// personalities has an implicit one, which offers the actions of the files and
// the built-in tools that need no reach.
func rolesOf(c *config.Config, tools []sallyport.Tool) roleTable {
	out := roleTable{}
	for name, p := range c.Personalities {
		if c.Implicit {
			implicit := *p
			implicit.Toolset = []string{}
			for _, t := range tools {
				if t.Sources != nil || !needsReach(&t) { // an action is what the file asks for
					implicit.Toolset = append(implicit.Toolset, t.Name)
				}
			}
			p = &implicit
		}
		out[name] = p
	}
	return out
}

// needsReach reports whether a tool is of no use without reach. Tools that
// manage processes count as such, because without reach nothing starts a
// process.
func needsReach(t *sallyport.Tool) bool {
	c := &t.Capabilities
	return c.FSReach != nil || c.Network != nil || c.Process != nil || t.Toolset == "terminal"
}

// NewCaller returns a principal in a role. Without a session id it creates one. A
// principal that names no role gets the default role, or the first of its own
// roles when it may not take the default.
func (rt *Runtime) NewCaller(ctx context.Context, personality, principal, session string) (*sallyport.Caller, error) {
	who, err := rt.findPrincipal(ctx, principal)
	if err != nil {
		return nil, err
	}
	if personality == "" && len(who.Personalities) > 0 {
		usual := ""
		if p, err := rt.InForce().Config.Choose(""); err == nil {
			usual = p.Name
		}
		personality = who.Role("", usual)
	}
	p, err := rt.InForce().Config.Choose(personality)
	if err != nil {
		return nil, err
	}
	if session == "" {
		session = "cli-" + rand.Text()
	}
	if len(session) > MaxSessionBytes || !utf8.ValidString(session) || strings.ContainsFunc(session, unicode.IsControl) {
		return nil, errors.New("--session: expected at most 256 bytes of text without control characters")
	}
	return &sallyport.Caller{
		Principal: who, Session: session, Personality: p.Name,
		Platform: sallyport.PlatformCLI, Workspace: rt.InForce().Config.Workspace,
	}, nil
}

// MaxSessionBytes bounds the id of a session.
const MaxSessionBytes = 256

// randomKey returns a key for a chain that ends with the process.
func randomKey() (audit.Key, error) {
	secret := make([]byte, audit.KeyBytes)
	// Since Go 1.24 Read never returns an error: it aborts the program instead.
	_, _ = rand.Read(secret)
	return audit.NewKey(secret)
}
