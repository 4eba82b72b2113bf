package signin

import (
	"context"
	"errors"
	"slices"

	"github.com/sallyport/sallyport"
)

// Way is how a person signed in.
type Way string

// The ways of signing in.
const (
	// WayLink is a link of sallyport page; so is none, in a state of an earlier version.
	WayLink Way = "link"
	// WayToken is the token of a principal. The sign-in counts while the token does, for
	// what the principal may do then.
	WayToken Way = "token"
	// WayIssuer is an issuer that said who the person is. The sign-in counts while that
	// issuer is trusted.
	WayIssuer Way = "oidc"
)

// Entry is a sign-in by a token or an issuer that is to begin.
type Entry struct {
	who    Person
	way    Way
	behind string // the hash of the token, or the issuer
}

// Name identifies who signs in.
func (e *Entry) Name() string { return e.who.Name }

// Way is how.
func (e *Entry) Way() Way { return e.way }

// FindTokenEntry returns the sign-in of the principal whose token has a hash. The error matches
// [ErrToken], whatever makes that no sign-in.
func (b *Book) FindTokenEntry(ctx context.Context, hash string) (*Entry, error) {
	holder, ok, err := b.holder(ctx, hash)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, ErrToken
	}
	e := &Entry{Person{Name: holder.Name}, WayToken, hash}
	return e, b.checkEntry(ctx, e)
}

// FindIssuerEntry returns the sign-in of a person whom an issuer named. The error matches
// [ErrReads], or [ErrToken] when the person is stopped or the issuer is not trusted.
func (b *Book) FindIssuerEntry(ctx context.Context, who *sallyport.Principal, issuer string) (*Entry, error) {
	person, err := PersonOf(who)
	if err != nil {
		return nil, err
	}
	e := &Entry{person, WayIssuer, issuer}
	return e, b.checkEntry(ctx, e)
}

func (b *Book) checkEntry(ctx context.Context, e *Entry) error {
	who, ok, err := b.findPerson(ctx, &kept{SignIn: SignIn{Person: e.who, Way: e.way}, Behind: e.behind})
	if err == nil && !ok {
		err = ErrToken
	}
	e.who = who
	return err
}

// EnterPage begins a sign-in and returns its token. The error matches [ErrFull].
func (b *Book) EnterPage(ctx context.Context, e *Entry) (token string, in SignIn, err error) {
	token, hash := b.newToken()
	in = SignIn{Person: e.who, Way: e.way, Since: b.now().UTC(), Expires: b.now().Add(Life).UTC()}
	err = b.changeBook(ctx, func(p *people) error {
		own := func(k kept) bool { return k.Way == e.way && k.Name == e.who.Name }
		for n := countKept(p.People, own); n >= maxOwn; n-- {
			i := slices.IndexFunc(p.People, own)
			p.People = slices.Delete(p.People, i, i+1)
		}
		if len(p.People) >= maxPeople {
			return ErrFull
		}
		p.People = append(p.People, kept{in, hash, e.behind})
		return nil
	})
	if err != nil {
		return "", SignIn{}, err
	}
	return token, in, nil
}

func countKept(list []kept, is func(k kept) bool) (n int) {
	for _, k := range list {
		if is(k) {
			n++
		}
	}
	return n
}

// findPerson returns who a sign-in stands for now, with what that person may do; ok is
// false when it does not count any more.
func (b *Book) findPerson(ctx context.Context, k *kept) (who Person, ok bool, err error) {
	if stopped, err := b.stopped(ctx, k.Name); stopped || err != nil {
		return Person{}, false, err
	}
	switch k.Way {
	case "", WayLink:
		return k.Person, true, nil
	case WayIssuer:
		return k.Person, b.trusts(k.Behind), nil
	case WayToken:
		holder, ok, err := b.holder(ctx, k.Behind)
		if !ok || err != nil || holder.Name != k.Name {
			return Person{}, false, err
		}
		who, err := PersonOf(&holder)
		if errors.Is(err, ErrReads) {
			return Person{}, false, nil
		}
		return who, err == nil, err
	default: // of a later version
		return Person{}, false, nil
	}
}
