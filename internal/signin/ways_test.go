package signin_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/signin"
)

const issuer = "https://login.example.com page"

// agent is a principal with the permissions of the page; roles is nil for one that may take any.
func agent(roles []string, permissions ...string) *sallyport.Principal {
	return &sallyport.Principal{Name: "ci", Permissions: permissions, Personalities: roles}
}

func TestWhoCallsToolsOnlyLooks(t *testing.T) {
	t.Parallel()
	all := []string{"approvals:decide", "file:read", "page:read", "calls:stop"}
	for _, tt := range []struct {
		p    *sallyport.Principal
		want string
	}{
		{agent([]string{}, all...), "page:read approvals:decide calls:stop"},
		{agent([]string{}, "page:read"), "page:read"},
		{agent([]string{"default"}, all...), "page:read"},
		{agent(nil, all...), "page:read"},
		{agent([]string{}, "approvals:decide", "calls:stop"), ""},
		{agent([]string{}), ""},
	} {
		who, err := signin.PersonOf(tt.p)
		if got := strings.Join(who.Permissions, " "); got != tt.want || errors.Is(err, signin.ErrReads) != (tt.want == "") {
			t.Errorf("PersonOf(%q in %q) = %q, %v, want %q", tt.p.Permissions, tt.p.Personalities, got, err, tt.want)
		}
	}
}

// TestASignInEndsWithWhatItStandsOn signs in by a token and by an issuer.
func TestASignInEndsWithWhatItStandsOn(t *testing.T) {
	t.Parallel()
	ends := map[string]func(b *book){
		"nothing":      func(*book) {},
		"its time":     func(b *book) { b.now = b.now.Add(signin.Life) },
		"a stop":       func(b *book) { b.stopped["ci"], b.stopped["oidc:alice"] = true, true },
		"a revocation": func(b *book) { b.holders = nil; b.trusted = "" },
		"the token of another": func(b *book) {
			b.holders["h"] = &sallyport.Principal{Name: "bob", Permissions: []string{"page:read"}}
			b.trusted = "https://evil.example page"
		},
		"the loss of page:read": func(b *book) { b.holders["h"] = agent([]string{}, "approvals:decide"); b.trusted = "" },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			b.trusted = issuer
			b.holders = map[string]*sallyport.Principal{"h": agent([]string{}, "page:read", "approvals:decide")}
			byToken, err := b.FindTokenEntry(t.Context(), "h")
			if err != nil {
				t.Fatal(err)
			}
			byIssuer, err := b.FindIssuerEntry(t.Context(), &sallyport.Principal{Name: "oidc:alice", Permissions: []string{"page:read"}, Personalities: []string{}}, issuer)
			if err != nil {
				t.Fatal(err)
			}
			var tokens []string
			for _, e := range []*signin.Entry{byToken, byIssuer} {
				token, in, err := b.EnterPage(t.Context(), e)
				if err != nil || in.Expires.Sub(in.Since) != signin.Life {
					t.Fatalf("EnterPage = %v, %v, want a sign-in of the length of one by a link", in, err)
				}
				tokens = append(tokens, token)
			}
			end(b)
			list, err := b.List(t.Context())
			if want := map[bool]int{true: 2}[name == "nothing"]; err != nil || len(list) != want {
				t.Errorf("after %s List = %v, %v, want %d", name, list, err, want)
			}
			for i, token := range tokens {
				p, ok, err := b.Principal(t.Context(), token)
				if ok != (name == "nothing") || err != nil {
					t.Errorf("after %s a sign-in counts: %v, %v", name, ok, err)
				}
				if ok && (p.Name != []string{"ci", "oidc:alice"}[i] || p.Person != (i == 1) || p.Personalities == nil || len(p.Personalities) > 0) {
					t.Errorf("Principal = %+v", p)
				}
			}
		})
	}
}

// TestATokenIsLookedAtAtEachUse takes a permission away and gives it back.
func TestATokenIsLookedAtAtEachUse(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.holders = map[string]*sallyport.Principal{"h": agent([]string{}, "page:read", "approvals:decide")}
	e, err := b.FindTokenEntry(t.Context(), "h")
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := b.EnterPage(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		now  *sallyport.Principal
		want []string
	}{
		{agent([]string{}, "page:read"), []string{"page:read"}},
		{agent([]string{"default"}, "page:read", "approvals:decide"), []string{"page:read"}},
		{agent([]string{}, "page:read", "approvals:decide"), []string{"page:read", "approvals:decide"}},
	} {
		b.holders["h"] = tt.now
		if p, ok, err := b.Principal(t.Context(), token); !ok || err != nil || !slices.Equal(p.Permissions, tt.want) {
			t.Errorf("Principal = %v, %v, %v, want %q", p, ok, err, tt.want)
		}
	}
	if text, _, _ := b.state.Settings().Get(t.Context(), "page.people"); strings.Contains(text, token) {
		t.Error("the state holds the token of a sign-in")
	}
}

// TestNoOneElseSignsIn tries tokens and people that do not open the page.
func TestNoOneElseSignsIn(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.stopped["stopped"], b.trusted = true, issuer
	b.holders = map[string]*sallyport.Principal{
		"reads not": agent([]string{}, "approvals:decide"),
		"stopped":   {Name: "stopped", Permissions: []string{"page:read"}},
	}
	for _, hash := range []string{"", "unknown", "reads not", "stopped"} {
		if _, err := b.FindTokenEntry(t.Context(), hash); !errors.Is(err, signin.ErrToken) || err.Error() != signin.ErrToken.Error() {
			t.Errorf("FindTokenEntry(%q) = %v, want no more than %v", hash, err, signin.ErrToken)
		}
	}
	for _, tt := range []struct {
		who    *sallyport.Principal
		issuer string
		want   error
	}{
		{agent([]string{}), issuer, signin.ErrReads},
		{agent([]string{}, "page:read"), "https://evil.example page", signin.ErrToken},
		{&sallyport.Principal{Name: "stopped", Permissions: []string{"page:read"}}, issuer, signin.ErrToken},
	} {
		if _, err := b.FindIssuerEntry(t.Context(), tt.who, tt.issuer); !errors.Is(err, tt.want) {
			t.Errorf("FindIssuerEntry(%v, %s) = %v, want %v", tt.who, tt.issuer, err, tt.want)
		}
	}
}

// TestSignInsOfANameAreBounded: one more than five ends the oldest, and leaves others alone.
func TestSignInsOfANameAreBounded(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.holders = map[string]*sallyport.Principal{"h": agent([]string{}, "page:read")}
	link, _, err := b.Redeem(t.Context(), b.link(t, "alice", true))
	if err != nil {
		t.Fatal(err)
	}
	var tokens []string
	for range 6 {
		e, err := b.FindTokenEntry(t.Context(), "h")
		if err != nil {
			t.Fatal(err)
		}
		token, _, err := b.EnterPage(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, token)
	}
	for i, token := range append(tokens, link) {
		if _, ok, err := b.Principal(t.Context(), token); ok != (i > 0) || err != nil {
			t.Errorf("sign-in %d of 7 counts: %v, %v", i+1, ok, err)
		}
	}
}
