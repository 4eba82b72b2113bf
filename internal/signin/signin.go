// Package signin keeps who is signed in at the operator's page: links that sign a person
// in once, and sign-ins by a link, by a token of a principal or by an issuer. They are kept
// as hashes in the state, so that every process on it agrees.
//
// Start with [New].
package signin

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
)

// The permissions of the operator's side. None of them lets a tool be called.
const (
	// PermissionRead lets a person look at the page.
	PermissionRead = "page:read"
	// PermissionDecide lets a person, or a program, decide about held calls.
	PermissionDecide = "approvals:decide"
	// PermissionStop lets a person stop calls, and release what is stopped.
	PermissionStop = "calls:stop"
)

// Prefix begins the name of every principal that signed in by a link. No principal of the
// configuration, the state or an issuer has such a name.
const Prefix = "page:"

const (
	// LinkLife is how long a link can be used.
	LinkLife = 10 * time.Minute
	// Life is how long a sign-in counts.
	Life = 12 * time.Hour
	// maxLinks and maxPeople bound the links and the sign-ins of a state, maxOwn the
	// sign-ins of one name by a token or an issuer: one more ends the oldest.
	maxLinks, maxPeople, maxOwn = 50, 200, 5
	// maxName bounds the name of a person, in bytes.
	maxName = 48
)

var (
	// ErrLink: the code of a link is not known, was used before, or is too old.
	ErrLink = errors.New("the link was used before, is too old, or was never made")
	// ErrToken: a token is not known or counts no more, or its principal may not look at
	// the page. It says no more than that.
	ErrToken = errors.New("the token signs in no one")
	// ErrReads: a principal may not look at the page.
	ErrReads = errors.New("does not hold " + PermissionRead)
	// ErrFull: too many links or sign-ins are kept.
	ErrFull = errors.New("too many people are signed in: sallyport page end ends sign-ins")
)

// Person is who signs in.
type Person struct {
	// Name identifies the person in records. That of a link begins with [Prefix]; a
	// token and an issuer give the name that a caller with them has.
	Name string `json:"name"`
	// Permissions is what the person may do at the page.
	Permissions []string `json:"permissions"`
}

// NewPerson returns the person of a name, which has 1 to 48 letters, digits, '_' and '-'.
// A reader may look and nothing more.
func NewPerson(name string, reader bool) (Person, error) {
	plain := func(r rune) bool {
		return 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' || r == '_' || r == '-'
	}
	if name == "" || len(name) > maxName || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return Person{}, fmt.Errorf("expected a name of 1 to %d letters, digits, '_' and '-'", maxName)
	}
	p := Person{Name: Prefix + name, Permissions: []string{PermissionRead}}
	if !reader {
		p.Permissions = append(p.Permissions, PermissionDecide, PermissionStop)
	}
	return p, nil
}

// newPrincipal returns the principal of a person: one that takes no role and so calls no
// tool.
func (p *Person) newPrincipal() sallyport.Principal {
	return sallyport.Principal{Name: p.Name, Permissions: slices.Clone(p.Permissions), Personalities: []string{}, Person: true}
}

// PersonOf returns what a principal may do at the page: of its permissions those of the
// page, and of these, when it can take a role, looking alone. The error matches [ErrReads].
func PersonOf(p *sallyport.Principal) (Person, error) {
	who := Person{Name: p.Name}
	for _, permission := range []string{PermissionRead, PermissionDecide, PermissionStop} {
		if slices.Contains(p.Permissions, permission) && (permission == PermissionRead || takesNoRole(p)) {
			who.Permissions = append(who.Permissions, permission)
		}
	}
	if !slices.Contains(who.Permissions, PermissionRead) {
		return Person{}, fmt.Errorf("%s %w", p.Name, ErrReads)
	}
	return who, nil
}

// MayDecide reports whether a principal may decide about held calls: it has the
// permission, and takes no role. One that can call tools decides nothing, whatever
// permissions it has.
func MayDecide(p *sallyport.Principal) bool { return mayUse(p, PermissionDecide) }

// MayRead reports whether a principal may look at the page.
func MayRead(p *sallyport.Principal) bool { return mayUse(p, PermissionRead) }

// MayStop reports whether a principal may stop calls.
func MayStop(p *sallyport.Principal) bool { return mayUse(p, PermissionStop) }

func mayUse(p *sallyport.Principal, permission string) bool {
	return takesNoRole(p) && slices.Contains(p.Permissions, permission)
}

// takesNoRole reports whether a principal calls no tool.
func takesNoRole(p *sallyport.Principal) bool {
	return p.Personalities != nil && len(p.Personalities) == 0
}
