package provenance_test

import (
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/internal/provenance"
)

// FuzzFind: a text that was read is found again as a whole, by every kind; what is held is
// not; and the memory stays within its bound.
func FuzzFind(f *testing.F) {
	for _, seed := range []string{
		page, "", "aaaaaaaa", "https://www.site.example/a?b=%41", "Z29vZCBtb3JuaW5nIHRvIGFsbA==", "DE02 1203 0000 0000 2020 51", "\x00\xff\u200b\u0327",
		"ａｂｃｄｅｆｇｈ＠ｓｉｔｅ．ｅｘａｍｐｌｅ", "%%%%2525252525", "a@b@c@d.e.f://g:h:/i", "1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8",
	} {
		f.Add(seed, "before "+seed+" after")
	}
	f.Fuzz(func(t *testing.T, value, text string) {
		m := memoryOf(text, value)
		if m.Bytes() > 2*provenance.MaxBytes {
			t.Errorf("the memory takes %d bytes", m.Bytes())
		}
		for _, kind := range effect.Kinds() {
			match, found := m.Find(kind, value, nil)
			if len(provenance.Canonical(kind, value)) >= 8 && !found && kind != effect.Account {
				t.Errorf("a %s that was read is not found: %q", kind, value)
			}
			if found && match.Source.CallID != "c1" && !m.Flooded() {
				t.Errorf("%q was found without its source: %+v", value, match)
			}
			if _, found := m.Find(kind, value, func(sallyport.ValueKind, string) bool { return true }); found {
				t.Errorf("%q is found although it is the person's own", value)
			}
		}
	})
}
