package provenance_test

import (
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/internal/needs"
)

// TestHostileTextsAreLookedThrough: a quarter of a megabyte that was made to be slow, as what was read
// and as a value, ends in an answer.
func TestHostileTextsAreLookedThrough(t *testing.T) {
	t.Parallel()
	needs.NoRace(t)
	const size = 1 << 18
	for name, unit := range map[string]string{
		"one letter": "a", "digits": "1 ", "groups": "12 34 ", "percent": "%", "percent codes": "%25", "base64": "YWFh", "base64 words": "YWFhYWFhYWFh ",
		"addresses": "a@b.c ", "hosts": "a.b", "schemes": "a://", "marks": "a\u0327", "unseen": "\u200b", "wide": "\uff41", "long expansions": "\ufdfa",
	} {
		text := strings.Repeat(unit, size/len(unit))
		// A part of it fits into the memory, which is not flooded then.
		m := memoryOf(text[:len(unit)*(20<<10/len(unit))])
		for _, kind := range []sallyport.ValueKind{"", effect.URL, effect.Account} {
			first, found := m.Find(kind, text, nil)
			asked := 0
			if _, again := m.Find(kind, text, func(sallyport.ValueKind, string) bool { asked++; return true }); again != (asked == 1<<14) {
				t.Errorf("%s: found %v after %d pieces that are the person's own", name, again, asked)
			}
			if found != (asked > 0) {
				t.Errorf("%s as %q: found %v (%+.100v), but %d pieces were looked at", name, kind, found, first, asked)
			}
		}
	}
}
