package auth

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

// Bounds of a [Record]. They keep a row small; nothing legitimate comes near.
const (
	// MaxPrincipals is how many records a [Store] keeps, revoked ones too.
	MaxPrincipals = 10_000
	// maxListed bounds the permissions, and the personalities, of a record.
	maxListed = 256
	// maxListedBytes bounds one permission or personality.
	maxListedBytes = 128
	// quotedBytes bounds what a message quotes.
	quotedBytes = 80
)

// The errors of a [Store].
var (
	// ErrTaken means that the name or the token belongs to a record already.
	ErrTaken = errors.New("the name is taken")
	// ErrUnknown means that there is no record of the name.
	ErrUnknown = errors.New("no principal of this name")
)

// Record is a principal as it is kept: in the configuration, or in the state
// when the command line made it.
type Record struct {
	// Name identifies the principal; see [Record.Check].
	Name string
	// TokenSHA256 is what [HashToken] returns for the token. Empty means that
	// no token leads to the principal.
	TokenSHA256 string
	// Expires is when the token ends; the zero time means never.
	Expires time.Time
	// Permissions is what the principal holds beside the default permissions.
	Permissions []string
	// Personalities lists the roles that the principal may take; nil means
	// any, an empty list none.
	Personalities []string
	// Person says that a human being is behind the principal's client; see
	// [sallyport.Principal]. The configuration says so: a [Store] does not
	// keep it, so that a principal of the state is none.
	Person bool
	// Task narrows every session of the principal; nil narrows nothing. A [Store] does
	// not keep it: only the configuration has it.
	Task *sallyport.Task
	// Created and Rotated are when the record and its present token were
	// made; they are zero for a record of the configuration.
	Created, Rotated time.Time
	// Revoked is when the principal was revoked; the zero time means that it
	// was not.
	Revoked time.Time
}

// Live reports whether the record's token counts at a moment.
func (r *Record) Live(now time.Time) bool {
	return r.TokenSHA256 != "" && r.Revoked.IsZero() && (r.Expires.IsZero() || now.Before(r.Expires))
}

// whyEnded says why the token of a record does not count any more, for the log.
func (r *Record) whyEnded() string {
	if !r.Revoked.IsZero() {
		return "the token of " + r.Name + " was revoked at " + r.Revoked.UTC().Format(time.RFC3339)
	}
	return "the token of " + r.Name + " expired at " + r.Expires.UTC().Format(time.RFC3339)
}

// Check reports everything that is wrong with a record.
func (r *Record) Check() error {
	faults := []error{checkName(r.Name)}
	if r.TokenSHA256 != "" {
		faults = append(faults, checkHash(r.TokenSHA256))
	}
	faults = append(faults, checkPermissions(r.Permissions), checkListed("personalities", r.Personalities))
	for i, err := range faults {
		if err != nil && i > 0 {
			faults[i] = fmt.Errorf("principal %q: %w", r.Name, err)
		}
	}
	return errors.Join(faults...)
}

func (r *Record) clone() Record {
	c := *r
	c.Permissions, c.Personalities = slices.Clone(r.Permissions), slices.Clone(r.Personalities)
	return c
}

// maxName bounds the name of a principal, in bytes.
const maxName = 64

// checkName refuses a name that a principal of the configuration or of the
// command line cannot have. There is no colon in a name: those such as
// oidc:alice come from an issuer and cannot be configured.
func checkName(name string) error {
	if name == "" || len(name) > maxName || !consistsOf(name, "_-") {
		return fmt.Errorf("%q is no name of a principal: expected 1 to %d letters, digits, '_' and '-'", text.ClipBytes(name, quotedBytes), maxName)
	}
	return nil
}

// consistsOf reports whether a text consists of letters, digits and others.
func consistsOf(s, others string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		letter := 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9'
		return !letter && !strings.ContainsRune(others, r)
	})
}

// checkPermissions holds permissions to the form that the configuration asks
// for. There are no wildcards, and one that looks like a wildcard would
// mislead.
func checkPermissions(list []string) error {
	for _, p := range list {
		if !consistsOf(p, ":._-/") {
			return fmt.Errorf("permissions: %q: expected a word such as http:read; there are no wildcards", text.ClipBytes(p, quotedBytes))
		}
	}
	return checkListed("permissions", list)
}

// checkHash refuses what cannot be the hash of a token: anything but 64 lower
// case hexadecimal digits, and the hash of nothing.
func checkHash(hash string) error {
	b, err := hex.DecodeString(hash)
	switch {
	case err != nil || len(b) != 32 || hash != strings.ToLower(hash):
		return errors.New("token_sha256: expected the SHA-256 of the token as 64 hexadecimal digits in lower case")
	case hash == HashToken(""):
		return errors.New("token_sha256: this is the hash of an empty token")
	}
	return nil
}

func checkListed(what string, list []string) error {
	if len(list) > maxListed {
		return fmt.Errorf("%s: at most %d, not %d", what, maxListed, len(list))
	}
	for i, item := range list {
		switch {
		case item == "" || len(item) > maxListedBytes || !utf8.ValidString(item) || strings.ContainsFunc(item, isBlank):
			return fmt.Errorf("%s: %q: expected 1 to %d bytes of text without spaces", what, text.ClipBytes(item, quotedBytes), maxListedBytes)
		case slices.Contains(list[:i], item):
			return fmt.Errorf("%s: %q is there twice", what, item)
		}
	}
	return nil
}

// isBlank reports whether a permission, a personality or a subject cannot
// hold a character: one that is not seen, or would break a line.
func isBlank(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }

// toPrincipal returns the principal of a record. The lists are the caller's
// own.
func (r *Record) toPrincipal(defaults []string) sallyport.Principal {
	return sallyport.Principal{
		Name: r.Name, Permissions: unionOf(defaults, r.Permissions),
		Personalities: slices.Clone(r.Personalities), Person: r.Person, Task: r.Task,
	}
}

// unionOf returns every item of both lists once, in a new slice.
func unionOf(a, b []string) []string {
	out := make([]string, 0, len(a)+len(b))
	for _, item := range slices.Concat(a, b) {
		if !slices.Contains(out, item) {
			out = append(out, item)
		}
	}
	return out
}
