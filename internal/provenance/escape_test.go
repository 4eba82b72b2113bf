package provenance_test

import (
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
)

// A value that goes where untrusted content said is found, however it is spelled.
func TestPlacesAreFoundInOtherSpellings(t *testing.T) {
	t.Parallel()
	m := memoryOf("Mail mark@evil-site.com, or see https://evil-site.com/collect. Short: http://xy.io and a@b.co. Call it evil.")
	for _, c := range []struct {
		kind  sallyport.ValueKind
		value string
		found bool
	}{
		{effect.Mail, "Ann <mark@evil-site.com>", true},
		{effect.Mail, "ann@example.com, mark@evil-site.com", true},
		{effect.Mail, "mark+what-was-read@evil-site.com", true},
		{effect.Mail, "a@b.co", true},
		{effect.Mail, "ann@example.com", false},
		{effect.URL, "https://evil-site.com/?q=what-was-read", true},
		{effect.URL, "https://evil-site.com:8443/?q=what-was-read", true},
		{effect.URL, "https://what-was-read.evil-site.com/", true},
		{effect.URL, "https:/evil-site.com/?q=what-was-read", true},
		{effect.URL, "//evil-site.com/?q=what-was-read", true},
		{effect.URL, "https://xy.io/?q=what-was-read", true},
		{effect.URL, "https://example.com/collect", false},
		{effect.Host, "evil-site.com:443", true},
		{effect.Host, "what-was-read.evil-site.com", true},
		{effect.Host, "xy.io", true},
		{effect.Host, "example.com", false},
		{"", "see evil-site.com:8443 now", true},
		{"", "see what-was-read.evil-site.com now", true},
		{"", "see site:evil-site.com now", true},
		{"", "see http://xy.io/?q=what-was-read now", true},
		{"", "see https://example.com:443/ now", false},
	} {
		if match, found := m.Find(c.kind, c.value, nil); found != c.found {
			t.Errorf("Find(%q, %q) = %+v, %v, want %v", c.kind, c.value, match, found, c.found)
		}
	}
}

// A host that the operator holds does not count, whatever was read of the domain.
func TestAHostThatIsHeldIsNoPlaceOfOthers(t *testing.T) {
	t.Parallel()
	m := memoryOf("see https://example.com/page and https://pay.example.com/a")
	held := func(kind sallyport.ValueKind, exact string) bool {
		return kind == effect.Host && exact == "pay.example.com" || kind == effect.URL && exact == "example.com/page"
	}
	for value, want := range map[string]bool{
		"https://pay.example.com/b": false, "https://example.com/page": false, "https://pay.example.com/a": true, "https://example.com/other": true,
	} {
		if match, found := m.Find(effect.URL, value, held); found != want {
			t.Errorf("Find(%q) = %+v, %v, want %v", value, match, found, want)
		}
	}
}
