package oauth

import (
	"context"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

// shelf is a store.
type shelf map[string]string

func (s shelf) Get(_ context.Context, name string) (string, bool, error) {
	v, ok := s[name]
	return v, ok, nil
}

func (s shelf) Put(_ context.Context, name, value string) error {
	s[name] = value
	return nil
}

func (s shelf) PutIfAbsent(_ context.Context, name, value string) (string, bool, error) {
	if v, ok := s[name]; ok {
		return v, false, nil
	}
	s[name] = value
	return "", true, nil
}

func (s shelf) Swap(_ context.Context, name, old, value string) (bool, error) {
	if s[name] != old {
		return false, nil
	}
	s[name] = value
	return true, nil
}

func (s shelf) Delete(_ context.Context, name string) error {
	delete(s, name)
	return nil
}

func newVault(t *testing.T, s Store, key string) *Vault {
	t.Helper()
	v, err := NewVault(s, []byte(strings.Repeat(key, keyBytes)))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAVaultKeepsItsRecordsApart(t *testing.T) {
	s := shelf{}
	v := newVault(t, s, "k")
	if err := v.saveTokens(t.Context(), "ann", tokens{Access: "the-token-of-ann"}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(s["ann"], "token") {
		t.Errorf("the store holds %q", s["ann"])
	}
	if got, err := v.loadTokens(t.Context(), "ann"); err != nil || got.Access != "the-token-of-ann" {
		t.Errorf("load() = %+v, %v", got, err)
	}
	s["bob"] = s["ann"]
	if got, err := v.loadTokens(t.Context(), "bob"); err == nil {
		t.Errorf("ann's record under bob's name = %+v, want an error", got)
	}
	if got, err := newVault(t, s, "x").loadTokens(t.Context(), "ann"); err == nil {
		t.Errorf("with another key = %+v, want an error", got)
	}
	other := map[bool]string{true: "A", false: "B"}
	s["ann"] = other[s["ann"][0] != 'A'] + s["ann"][1:]
	if got, err := v.loadTokens(t.Context(), "ann"); err == nil {
		t.Errorf("a damaged record = %+v, want an error", got)
	}
	// One that cannot be opened can be removed.
	server := &Server{Name: "far"}
	s[server.recordName("ann")] = "damaged"
	if _, err := v.Forget(t.Context(), server, "ann"); err != nil || len(s) != 2 {
		t.Errorf("Forget() = %v, with %d records left, want 2", err, len(s))
	}
	if _, err := NewVault(s, []byte("short")); err == nil {
		t.Error("a short key makes a vault")
	}
}

// TestATicketIsGoodOnce: no declaration can name a token.
func TestATicketIsGoodOnce(t *testing.T) {
	v := newVault(t, shelf{}, "k")
	asked := &asking{v: v}
	if err := v.giveToken(t.Context(), &sallyport.Call{Secrets: asked}, "far", "access", "the-access-token"); err != nil {
		t.Fatal(err)
	}
	if asked.got.Reveal() != "the-access-token" || !strings.HasPrefix(asked.ref, "oauth/far/access/") {
		t.Errorf("the call got %q for %q", asked.got.Reveal(), asked.ref)
	}
	if _, ok, _ := v.Secret(t.Context(), asked.ref); ok {
		t.Error("the ticket is good twice")
	}
	known, err := v.Known(t.Context())
	if err != nil || len(known) != 1 || known[0].Reveal() != "the-access-token" {
		t.Errorf("Known() = %d, %v, want the token", len(known), err)
	}
	// A call that may not have it does not leave a ticket behind.
	if err := v.giveToken(t.Context(), &sallyport.Call{Secrets: refusing{}}, "far", "access", "another-access-token"); err == nil || len(v.tickets) != 0 {
		t.Errorf("a refused call: %v, with %d tickets left", err, len(v.tickets))
	}
}

type asking struct {
	v   *Vault
	ref string
	got sallyport.Secret
}

func (a *asking) Get(ctx context.Context, ref string) (s sallyport.Secret, err error) {
	a.ref = ref
	a.got, _, err = a.v.Secret(ctx, ref)
	return a.got, err
}

type refusing struct{}

func (refusing) Get(_ context.Context, ref string) (sallyport.Secret, error) {
	return sallyport.Secret{}, sallyport.SecretError(ref)
}

// TestRecordsDifferByWhatMakesThemAnothers: a record of another server, issuer,
// client or principal is another record.
func TestRecordsDifferByWhatMakesThemAnothers(t *testing.T) {
	base := Server{Name: "far", URL: "https://far.example/mcp", Issuer: "https://login.example", ClientID: "us"}
	seen := map[string]string{base.recordName("ann"): "the same"}
	for what, change := range map[string]func(*Server){
		"another URL":      func(s *Server) { s.URL += "x" },
		"another issuer":   func(s *Server) { s.Issuer = "https://evil.example" },
		"another client":   func(s *Server) { s.ClientID = "them" },
		"another name":     func(s *Server) { s.Name = "near" },
		"another grant":    func(s *Server) { s.Grant = ClientCredentials },
		"another document": func(s *Server) { s.Document = "https://x.example/y" },
		"shifted":          func(s *Server) { s.URL, s.Issuer = s.URL+s.Issuer, "" },
	} {
		s := base
		change(&s)
		if other := seen[s.recordName("ann")]; other != "" {
			t.Errorf("%s has the record of %s", what, other)
		}
		seen[s.recordName("ann")] = what
	}
	if base.recordName("ann") == base.recordName("bob") || base.recordName("ann") == base.recordName("") {
		t.Error("two principals have one record")
	}
	same := base
	same.Grant = AuthorizationCode
	if same.recordName("ann") != base.recordName("ann") {
		t.Error("the default grant, written down, has another record")
	}
}
