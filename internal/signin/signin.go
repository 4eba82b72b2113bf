// Package signin keeps who is signed in at the operator's page: links that sign a person
// in once, and the sign-ins that came of them. Both are kept as hashes in the state, so
// that every process on it agrees.
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
	// maxLinks and maxPeople bound the links and the sign-ins of a state.
	maxLinks, maxPeople = 50, 200
	// maxName bounds the name of a person, in bytes.
	maxName = 48
)

var (
	// ErrLink: the code of a link is not known, was used before, or is too old.
	ErrLink = errors.New("the link was used before, is too old, or was never made")
	// ErrFull: too many links or sign-ins are kept.
	ErrFull = errors.New("too many people are signed in: sallyport page end ends sign-ins")
)

// Person is who signs in by a link.
type Person struct {
	// Name identifies the person in records; it begins with [Prefix].
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

// MayDecide reports whether a principal may decide about held calls: it has the
// permission, and takes no role. One that can call tools decides nothing, whatever
// permissions it has.
func MayDecide(p *sallyport.Principal) bool { return mayUse(p, PermissionDecide) }

// MayRead reports whether a principal may look at the page.
func MayRead(p *sallyport.Principal) bool { return mayUse(p, PermissionRead) }

// MayStop reports whether a principal may stop calls.
func MayStop(p *sallyport.Principal) bool { return mayUse(p, PermissionStop) }

func mayUse(p *sallyport.Principal, permission string) bool {
	return p.Personalities != nil && len(p.Personalities) == 0 && slices.Contains(p.Permissions, permission)
}
