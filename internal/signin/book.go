package signin

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/setting"
)

const (
	// peopleSetting is the name of the setting with all links and sign-ins.
	peopleSetting = "page.people"
	// AddressSetting is the name of the setting with the address at which the page is
	// served.
	AddressSetting = "page.address"
)

// ForgetSignIns ends all links and sign-ins of a state that is not served, and forgets
// where its page was served.
func ForgetSignIns(ctx context.Context, settings interface {
	Delete(ctx context.Context, name string) error
},
) error {
	return errors.Join(settings.Delete(ctx, peopleSetting), settings.Delete(ctx, AddressSetting))
}

// maxToken bounds a code and a token before it is looked up, in bytes.
const maxToken = 128

// SignIn is a sign-in that counts.
type SignIn struct {
	Person
	// Way is how the person signed in.
	Way Way `json:"way,omitempty"`
	// Since is when the person signed in.
	Since time.Time `json:"since"`
	// Expires is when the sign-in ends.
	Expires time.Time `json:"expires"`
}

// kept is a link or a sign-in as the state has it.
type kept struct {
	SignIn
	SHA256 string `json:"sha256"`
	// Behind is what the sign-in stands on beside its own token: the hash of the token
	// of the principal, or the issuer. A link leaves nothing behind.
	Behind string `json:"behind,omitempty"`
}

// people is what the setting holds.
type people struct {
	Links  []kept `json:"links,omitempty"`
	People []kept `json:"people,omitempty"`
}

// Book keeps the links and sign-ins of a state. It is safe for concurrent use, and several
// processes may use one state.
type Book struct {
	settings setting.Store
	newToken func() (token, hash string)
	stopped  func(ctx context.Context, name string) (bool, error)
	holder   func(ctx context.Context, hash string) (sallyport.Principal, bool, error)
	trusts   func(issuer string) bool
	now      func() time.Time

	last atomic.Pointer[readText]
}

// readText is a text that was read and what it says, which is never changed.
type readText struct {
	text string
	says people
}

// Options configure a [Book]. Settings, NewToken and Stopped are required.
type Options struct {
	// Settings keeps the links and sign-ins.
	Settings setting.Store
	// NewToken returns a fresh token of 256 random bits and its SHA-256 in hexadecimal.
	NewToken func() (token, hash string)
	// Stopped reports whether an operator has stopped a principal. An error refuses.
	Stopped func(ctx context.Context, name string) (bool, error)
	// Holder returns the principal whose token has a hash, while that token counts. nil
	// knows none.
	Holder func(ctx context.Context, hash string) (p sallyport.Principal, ok bool, err error)
	// Trusts reports whether people may still be signed in by an issuer. nil trusts none.
	Trusts func(issuer string) bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// New returns the book of a state.
func New(o Options) *Book {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Holder == nil {
		o.Holder = func(context.Context, string) (p sallyport.Principal, ok bool, err error) { return p, false, nil }
	}
	if o.Trusts == nil {
		o.Trusts = func(string) bool { return false }
	}
	return &Book{settings: o.Settings, newToken: o.NewToken, stopped: o.Stopped, holder: o.Holder, trusts: o.Trusts, now: o.Now}
}

// NewLink returns a code that signs a person in once, within [LinkLife]. The error
// matches [ErrFull].
func (b *Book) NewLink(ctx context.Context, who Person) (code string, expires time.Time, err error) {
	code, hash := b.newToken()
	expires = b.now().Add(LinkLife).UTC()
	err = b.changeBook(ctx, func(p *people) error {
		if len(p.Links) >= maxLinks {
			return ErrFull
		}
		p.Links = append(p.Links, kept{SignIn: SignIn{Person: who, Since: b.now().UTC(), Expires: expires}, SHA256: hash})
		return nil
	})
	return code, expires, err
}

// Redeem signs the person of a link in and returns the token of the sign-in. The link
// counts no more, in no process. The error matches [ErrLink] or [ErrFull].
func (b *Book) Redeem(ctx context.Context, code string) (token string, who SignIn, err error) {
	token, hash := b.newToken()
	err = b.changeBook(ctx, func(p *people) error {
		i := indexOf(p.Links, code)
		switch {
		case i < 0:
			return ErrLink
		case len(p.People) >= maxPeople:
			return ErrFull
		}
		who = SignIn{Person: p.Links[i].Person, Way: WayLink, Since: b.now().UTC(), Expires: b.now().Add(Life).UTC()}
		p.Links = slices.Delete(p.Links, i, i+1)
		p.People = append(p.People, kept{SignIn: who, SHA256: hash})
		return nil
	})
	if err != nil {
		return "", SignIn{}, err
	}
	return token, who, nil
}

// Peek returns who would sign in by a code. It uses nothing up. The error matches
// [ErrLink].
func (b *Book) Peek(ctx context.Context, code string) (Person, error) {
	p, err := b.readBook(ctx)
	if err != nil {
		return Person{}, err
	}
	i := indexOf(p.Links, code)
	if i < 0 {
		return Person{}, ErrLink
	}
	return p.Links[i].Person, nil
}

// Principal returns whose sign-in a token is of; ok is false for any other text, and for a
// person whom an operator stopped. It is as package auth asks for principals.
func (b *Book) Principal(ctx context.Context, token string) (who sallyport.Principal, ok bool, err error) {
	p, err := b.readBook(ctx)
	if err != nil {
		return who, false, err
	}
	i := indexOf(p.People, token)
	if i < 0 {
		return who, false, nil
	}
	in, ok, err := b.findPerson(ctx, &p.People[i])
	if !ok || err != nil {
		return who, false, err
	}
	who = in.newPrincipal()
	who.Person = p.People[i].Way != WayToken
	return who, true, nil
}

// End ends the sign-in of a token; one that is over is no error.
func (b *Book) End(ctx context.Context, token string) error {
	return b.changeBook(ctx, func(p *people) error {
		if i := indexOf(p.People, token); i >= 0 {
			p.People = slices.Delete(p.People, i, i+1)
		}
		return nil
	})
}

// EndAll ends the sign-ins and links under some names, of all people without names, and
// returns how many there were.
func (b *Book) EndAll(ctx context.Context, names ...string) (n int, err error) {
	err = b.changeBook(ctx, func(p *people) error {
		n = len(p.Links) + len(p.People)
		gone := func(k kept) bool { return len(names) == 0 || slices.Contains(names, k.Name) }
		p.Links, p.People = slices.DeleteFunc(p.Links, gone), slices.DeleteFunc(p.People, gone)
		n -= len(p.Links) + len(p.People)
		return nil
	})
	return n, err
}

// List returns who is signed in, the oldest sign-in first.
func (b *Book) List(ctx context.Context) ([]SignIn, error) {
	p, err := b.readBook(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]SignIn, 0, len(p.People))
	for i := range p.People {
		in := p.People[i].SignIn
		who, ok, err := b.findPerson(ctx, &p.People[i])
		if err != nil {
			return nil, err
		}
		if in.Person = who; ok {
			list = append(list, in)
		}
	}
	return list, nil
}

// indexOf returns the place of what a token belongs to, -1 when it belongs to nothing.
func indexOf(list []kept, token string) int {
	if token == "" || len(token) > maxToken {
		return -1
	}
	hash := []byte(digest.Text(token))
	return slices.IndexFunc(list, func(k kept) bool { return subtle.ConstantTimeCompare(hash, []byte(k.SHA256)) == 1 })
}

// readBook returns what counts now. A text is decoded once: each stream of the page asks
// again and again.
func (b *Book) readBook(ctx context.Context) (*people, error) {
	text, ok, err := b.settings.Get(ctx, peopleSetting)
	if err != nil {
		return nil, err
	}
	if last := b.last.Load(); ok && last != nil && last.text == text {
		return b.selectCounting(&last.says), nil
	}
	says, err := decodeBook(text, ok)
	if err != nil {
		return nil, err
	}
	if ok {
		b.last.Store(&readText{text, *says})
	}
	return b.selectCounting(says), nil
}

// decodeBook returns what a text says.
func decodeBook(text string, ok bool) (*people, error) {
	var p people
	if !ok {
		return &p, nil
	}
	if err := setting.Decode(text, &p); err != nil {
		return nil, fmt.Errorf("who is signed in at the page cannot be read: %w", err)
	}
	return &p, nil
}

// selectCounting returns a copy with what counts now.
func (b *Book) selectCounting(p *people) *people {
	now := b.now()
	over := func(k kept) bool { return !now.Before(k.Expires) || now.Before(k.Since) }
	return &people{
		Links:  slices.DeleteFunc(slices.Clone(p.Links), over),
		People: slices.DeleteFunc(slices.Clone(p.People), over),
	}
}

// changeBook changes what is kept, on top of what other processes wrote.
func (b *Book) changeBook(ctx context.Context, do func(p *people) error) error {
	return setting.Change(ctx, b.settings, peopleSetting, func(was string, ok bool) (string, error) {
		says, err := decodeBook(was, ok)
		if err != nil {
			return "", err
		}
		p := b.selectCounting(says)
		if err := do(p); err != nil {
			return "", err
		}
		text, err := json.Marshal(p)
		return string(text), err
	})
}
