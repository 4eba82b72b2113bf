package signin_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/signin"
	"github.com/sallyport/sallyport/store/memory"
)

// book is a book with a clock that a test moves and people that it stops.
type book struct {
	*signin.Book
	state   *memory.Store
	now     time.Time
	stopped map[string]bool
	holders map[string]*sallyport.Principal // by the hash of their token
	trusted string                          // the issuer that is trusted
}

func newBook(t *testing.T) *book {
	t.Helper()
	state, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = state.Close() })
	b := &book{state: state, now: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC), stopped: map[string]bool{}}
	b.Book = signin.New(signin.Options{
		Settings: state.Settings(), NewToken: auth.NewToken, Now: func() time.Time { return b.now },
		Stopped: func(_ context.Context, name string) (bool, error) { return b.stopped[name], nil },
		Trusts:  func(issuer string) bool { return issuer == b.trusted },
		Holder: func(_ context.Context, hash string) (p sallyport.Principal, ok bool, err error) {
			if h := b.holders[hash]; h != nil {
				return *h, true, nil
			}
			return p, false, nil
		},
	})
	return b
}

func (b *book) link(t *testing.T, name string, reader bool) string {
	t.Helper()
	who, err := signin.NewPerson(name, reader)
	if err != nil {
		t.Fatal(err)
	}
	code, _, err := b.NewLink(t.Context(), who)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func TestALinkSignsInOnce(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	code := b.link(t, "alice", false)
	if who, err := b.Peek(t.Context(), code); who.Name != "page:alice" || err != nil {
		t.Errorf("Peek = %v, %v, want page:alice", who, err)
	}
	var wg sync.WaitGroup
	tokens := make(chan string, 20)
	for range 20 {
		wg.Go(func() {
			token, _, err := b.Redeem(t.Context(), code)
			switch {
			case err == nil:
				tokens <- token
			case !errors.Is(err, signin.ErrLink):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(tokens) != 1 {
		t.Fatalf("a link signed in %d times, want once", len(tokens))
	}
	token := <-tokens
	p, ok, err := b.Principal(t.Context(), token)
	if !ok || err != nil || p.Name != "page:alice" || !p.Person || p.Personalities == nil || len(p.Personalities) > 0 {
		t.Errorf("Principal = %+v, %v, %v, want a person without roles", p, ok, err)
	}
	if !signin.MayDecide(&p) || !signin.MayRead(&p) || !signin.MayStop(&p) {
		t.Errorf("permissions = %q, want all of the page", p.Permissions)
	}
	for _, text := range []string{"", code, token + "x", strings.Repeat("x", 4096)} {
		if _, ok, err := b.Principal(t.Context(), text); ok || err != nil {
			t.Errorf("Principal(%.20q) = %v, %v, want no sign-in", text, ok, err)
		}
	}
	if text, _, _ := b.state.Settings().Get(t.Context(), "page.people"); strings.Contains(text, token) {
		t.Error("the state holds a token in the clear")
	}
}

func TestASignInEnds(t *testing.T) {
	t.Parallel()
	ends := map[string]func(t *testing.T, b *book, token string){
		"expiry":         func(_ *testing.T, b *book, _ string) { b.now = b.now.Add(signin.Life) },
		"clock set back": func(_ *testing.T, b *book, _ string) { b.now = b.now.Add(-time.Minute) },
		"sign out": func(t *testing.T, b *book, token string) {
			if err := b.End(t.Context(), token); err != nil {
				t.Error(err)
			}
		},
		"an end of all": func(t *testing.T, b *book, _ string) {
			if n, err := b.EndAll(t.Context()); n != 2 || err != nil {
				t.Errorf("EndAll = %d, %v, want 2", n, err)
			}
		},
		"a stop": func(_ *testing.T, b *book, _ string) { b.stopped["page:alice"] = true },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			token, _, err := b.Redeem(t.Context(), b.link(t, "alice", true))
			if err != nil {
				t.Fatal(err)
			}
			b.link(t, "bob", true)
			if _, ok, _ := b.Principal(t.Context(), token); !ok {
				t.Fatal("a fresh sign-in does not count")
			}
			end(t, b, token)
			if _, ok, err := b.Principal(t.Context(), token); ok || err != nil {
				t.Errorf("after %s the sign-in counts: %v", name, err)
			}
		})
	}
}

func TestALinkExpires(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	code := b.link(t, "alice", false)
	b.now = b.now.Add(signin.LinkLife)
	if _, _, err := b.Redeem(t.Context(), code); !errors.Is(err, signin.ErrLink) {
		t.Errorf("Redeem of an old link = %v, want ErrLink", err)
	}
}

func TestLinksAreBounded(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	var err error
	for range 60 {
		if _, _, err = b.NewLink(t.Context(), signin.Person{Name: "page:a"}); err != nil {
			break
		}
	}
	if !errors.Is(err, signin.ErrFull) {
		t.Errorf("60 links: %v, want ErrFull", err)
	}
}

func TestNamesOfPeople(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "a b", "a:b", "<b>", "é", strings.Repeat("a", 49), "a\n"} {
		if _, err := signin.NewPerson(name, false); err == nil {
			t.Errorf("NewPerson(%q) = no error", name)
		}
	}
	p, err := signin.NewPerson("alice", true)
	if err != nil || !slices.Equal(p.Permissions, []string{"page:read"}) {
		t.Errorf("a reader has %q, %v, want page:read", p.Permissions, err)
	}
}

func TestWhoCallsToolsDecidesNothing(t *testing.T) {
	t.Parallel()
	permissions := []string{"approvals:decide", "page:read", "calls:stop"}
	for _, roles := range [][]string{nil, {"default"}} {
		p := sallyport.Principal{Name: "agent", Permissions: permissions, Personalities: roles}
		if signin.MayDecide(&p) || signin.MayRead(&p) || signin.MayStop(&p) {
			t.Errorf("a principal with the roles %q may decide, read or stop", roles)
		}
	}
}
