package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/signin"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

const (
	// maxPermissionBytes bounds a permission: they stand in errors and in the
	// record.
	maxPermissionBytes = 128
	// firstYear is the earliest year of an expiry. The year 1 would be the
	// zero time, which means never.
	firstYear = 2000
)

// Principal is a person or program that may call.
type Principal struct {
	// Name is the name in the file.
	Name string
	// TokenSHA256 is the SHA-256 of the token, 64 lower-case hexadecimal
	// digits. Empty means that no token makes a caller this principal.
	TokenSHA256 string
	// Expires is when the principal stops being known; zero means never.
	Expires time.Time
	// Permissions is what the principal holds beside the default ones.
	Permissions []string
	// Personalities lists the roles that the principal may take. nil means
	// any, which only the local principal has.
	Personalities []string
	// Person says that a human being answers what the principal's client asks.
	Person bool
	// Task narrows every session of the principal; nil narrows nothing.
	Task *sallyport.Task
}

// narrow returns the task of a principal, which a first key makes.
func (p *Principal) narrow() *sallyport.Task {
	if p.Task == nil {
		p.Task = &sallyport.Task{}
	}
	return p.Task
}

func principalKeys() []row {
	const p = "principals.<name>"
	set := func(store func(*Principal, value)) func(*scope, value) {
		return func(s *scope, v value) { editElement(&s.cfg.Principals, s.name, func(p *Principal) { store(p, v) }) }
	}
	return []row{
		{KeyDoc: KeyDoc{"principals", TypeNames, false, true, "only the local user", "Who may call, with which permissions and personalities. `local` is the user of the command line.", "{ci-agent: {permissions: [\"weather:read\"]}}"}, hide: true},
		{
			KeyDoc: KeyDoc{p, TypeMapping, false, true, "", "One caller; the name has 1 to 64 letters, digits, `_` or `-`.", "{permissions: [\"weather:read\"]}"},
			set: func(s *scope, _ value) {
				editElement(&s.cfg.Principals, s.name, func(p *Principal) { p.Name = s.name })
			}, done: (*scope).checkCaller, hide: true,
		},
		{
			KeyDoc: KeyDoc{p + ".token_sha256", TypeText, false, true, "no token makes a caller this principal", "SHA-256 of the token, 64 hexadecimal digits. `local` has none.", "\"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\""},
			check:  (*scope).tokenHash, hide: true,
			set: set(func(p *Principal, v value) { p.TokenSHA256 = v.text }),
		},
		{
			KeyDoc: KeyDoc{p + ".expires", TypeText, false, true, "never", "When the principal stops being known: a date, which means its first moment in UTC, or a time of RFC 3339.", "2027-01-01"},
			check:  (*scope).parseExpiry,
			set:    set(func(p *Principal, v value) { p.Expires, _ = time.Parse(time.RFC3339Nano, v.text) }),
		},
		{
			KeyDoc: KeyDoc{p + ".permissions", TypeTexts, false, true, "none beside the default ones", "Permissions that the principal holds, each exact: there are no wildcards.", "[\"weather:read\", \"http:read\"]"},
			check:  (*scope).parsePermission,
			set:    set(func(p *Principal, v value) { p.Permissions = v.list }),
		},
		{
			KeyDoc: KeyDoc{p + ".personalities", TypeTexts, false, true, "the only personality, else `default`, else none; for `local` any", "Personalities that the principal may take.", "[researcher]"},
			set:    set(func(p *Principal, v value) { p.Personalities = v.list }), refersTo: "personalities",
		},
		{
			KeyDoc: KeyDoc{p + ".person", TypeBool, false, true, "false", "A human being answers what this principal's MCP client asks, so that held calls may be put before them there. Leave it out for an agent that answers for itself. `local` is a person over stdio and at the command line, and not over HTTP.", "true"},
			set:    set(func(p *Principal, v value) { p.Person = v.flag }),
		},
		{
			KeyDoc: KeyDoc{p + ".tools", TypeTexts, false, true, "those of its personality", "Narrows every session of the principal to these tools: by name, by label as `@file`, by server as `mcp__notes__*`, or `*`.", `["mcp__bank__*"]`},
			check:  (*scope).ruledTool, set: set(func(p *Principal, v value) { p.narrow().Tools = v.list }),
		},
		{
			KeyDoc: KeyDoc{p + ".arguments", TypeArguments, false, true, "those of its personality", "Narrows the arguments of every session of the principal, in the form of `personalities.<name>.arguments`.", "{send_money: {amount: {maximum: 50}}}"},
			set:    set(func(p *Principal, v value) { p.narrow().Arguments = v.ceilings }),
		},
	}
}

// tokenHash reads a digest. The text is never repeated: it may be the token
// itself, written by mistake.
func (s *scope) tokenHash(v string) (string, error) {
	sum, err := hex.DecodeString(v)
	switch {
	case err != nil || len(sum) != sha256.Size:
		return "", errors.New("expected the SHA-256 of the token as 64 hexadecimal digits")
	case [sha256.Size]byte(sum) == sha256.Sum256(nil):
		return "", errors.New("this is the SHA-256 of an empty token: expected that of a token")
	}
	return hex.EncodeToString(sum), nil
}

// parseExpiry reads a date or a time.
func (s *scope) parseExpiry(v string) (string, error) {
	t, err := time.Parse(time.DateOnly, v)
	if err != nil {
		// UnmarshalText holds to RFC 3339, which time.Parse does not.
		err = t.UnmarshalText([]byte(v))
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("%s is not a date: expected one such as 2027-01-01 or 2027-01-01T12:00:00Z", yamldoc.Quote(v))
	case t.Year() < firstYear:
		return "", fmt.Errorf("%s is out of range: expected the year %d or later", yamldoc.Quote(v), firstYear)
	}
	return t.UTC().Format(time.RFC3339Nano), nil
}

// parsePermission reads a permission: exact words, since every listed one is
// compared as it is.
func (s *scope) parsePermission(v string) (string, error) {
	if strings.Contains(v, "*") {
		return "", fmt.Errorf("%s: a permission cannot have wildcards: expected a word such as weather:read", yamldoc.Quote(v))
	}
	ok := v != "" && len(v) <= maxPermissionBytes
	for i := range len(v) {
		c := v[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
		ok = ok && (letter || i > 0 && strings.IndexByte(":._-/", c) >= 0)
	}
	if !ok {
		return "", fmt.Errorf("%s is not a permission: expected a word such as weather:read, of 1 to %d letters, digits or : . _ - /", yamldoc.Quote(v), maxPermissionBytes)
	}
	return v, nil
}

// checkCaller checks the keys of a principal together.
func (s *scope) checkCaller(key string) {
	me := s.cfg.Principals[s.name]
	if slices.Contains(me.Permissions, signin.PermissionDecide) && (me.Personalities == nil || len(me.Personalities) > 0) {
		s.keyFault(s.file, s.places[key+".permissions"].at, key+".permissions", "%s.permissions: who decides about held calls calls no tool: write personalities: [], or leave out %s", key, signin.PermissionDecide)
	}
	if s.name == sallyport.LocalPrincipal {
		for name, why := range map[string]string{
			"token_sha256": "has no token", "expires": "does not expire",
			"person": "is a person over stdio and at the command line, and not over HTTP",
		} {
			if at, ok := s.places[joinKey(key, name)]; ok {
				s.keyFault(s.file, at.at, joinKey(key, name), "%s: the local user %s: remove the key, or name another principal", joinKey(key, name), why)
			}
		}
		return
	}
	if me.TokenSHA256 == "" {
		return
	}
	if other, dup := s.tokens[me.TokenSHA256]; dup {
		s.keyFault(s.file, s.places[key+".token_sha256"].at, key+".token_sha256", "%s.token_sha256: the same token as that of principals.%s at %s: expected one of its own",
			key, other, s.places["principals."+other+".token_sha256"])
		return
	}
	s.tokens[me.TokenSHA256] = s.name
}

// setDefaultRoles gives callers without a list of personalities the one that is chosen
// by default. Only the local user, who can read and write this file,
// may take any.
func (c *Config) setDefaultRoles() {
	alone := []string{}
	if p, err := c.Choose(""); err == nil {
		alone = []string{p.Name}
	}
	for name, p := range c.Principals {
		if p.Personalities == nil && name != sallyport.LocalPrincipal {
			p.Personalities = slices.Clone(alone)
			c.Principals[name] = p
		}
	}
	if o := c.Security.OIDC; o != nil && o.Personalities == nil {
		o.Personalities = slices.Clone(alone)
	}
}
