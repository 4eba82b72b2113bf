package conversation

import (
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/internal/provenance"
)

// TestWordsHoldWhatThePersonNamed and nothing that only looks like it, or is a part of it.
func TestWordsHoldWhatThePersonNamed(t *testing.T) {
	t.Parallel()
	w := newWords(`Please write to Bob <bob@company.com>, pay DE02 1203-0000 0000 2020 51 and put it into Notes/Plan A.txt.
See https://www.site.example/plan?id=7 or docs.example.org. Post it to www.our-site.example.They know. Tell Zoë Müller in #general that "the river rose by a hand and fell again".`)
	for _, c := range []struct {
		kind  sallyport.ValueKind
		value string
		holds bool
	}{
		{effect.Mail, "bob@company.com", true},
		{effect.Mail, "BOB@company.com", true},
		{effect.Mail, "bob@company.co", false},
		{effect.Mail, "ob@company.com", false},
		{effect.Mail, "bob@cómpany.com", false},
		{effect.Mail, "bob@com\u200bpany.com", false},
		{effect.Mail, "bob@com pany.com", false},
		{effect.Mail, "", false},
		{effect.Account, "DE02120300000000202051", true},
		{effect.Account, "DE02120300000000202052", false},
		{effect.Account, "DE0212030000000020", false},
		{effect.Account, "120300000000202051", false},
		{effect.Account, "river", false},
		{effect.Account, "generalthat", false},
		{effect.Path, "Notes/Plan A.txt", true},
		{effect.Path, "notes/plan a.txt", false},
		{effect.Path, "Notes/PlanA.txt", false},
		{effect.Path, "A.txt", true},
		{effect.URL, "http://site.example/plan?id=7", true},
		{effect.URL, "https://site.example/plan", false},
		{effect.URL, "https://evil.example/?site.example/plan?id=7", false},
		{effect.Host, "site.example", true},
		{effect.Host, "example", false},
		{effect.Host, "docs.example.org", true},
		{effect.Host, "company.com", true},
		{effect.Host, "company.co", false},
		{effect.URL, "our-site.example", true},
		{effect.URL, "our-site.exam", false},
		{effect.Name, "Zoë Müller", true},
		{effect.Name, "zoë  müller", true},
		{effect.Name, "Zoe Muller", false},
		{effect.Name, "general", true},
		{effect.Name, "gen", false},
		{effect.User, "Müller", true},
		{effect.Text, "The river rose by a HAND", true},
		{effect.Text, "the river fell", false},
		{"", "pay", true},
	} {
		if got := w.Hold(c.kind, provenance.Exact(c.kind, c.value)); got != c.holds {
			t.Errorf("Hold(%s, %q) = %v, want %v", c.kind, c.value, got, c.holds)
		}
	}
	if (Words{}).Hold(effect.Text, "a") || newWords("").Hold(effect.Name, "a") {
		t.Error("no words hold something")
	}
}
