package output

import (
	"math/rand/v2"
	"testing"
)

// plainByOne is toPlainText with a look at each character.
func plainByOne(s string) string {
	p := plainPass{s: s, classes: basicPlane(), invalid: -1}
	for i := 0; i < len(s); {
		switch b := s[i]; {
		case stops[b] == 0:
			p.prev, p.marks = rune(b), 0
			i++
		case b < 0x80:
			i = p.handleControl(i, b)
		default:
			i = p.handleWide(i)
		}
	}
	return string(append(p.out, p.s[p.from:]...))
}

func TestPlainTextSkipsOnlyWhatStays(t *testing.T) {
	t.Parallel()
	parts := []string{
		"a", " ", "1", "#", "\x00", "\r", "\n", "\x1b[m", "é", "я", "\u0301", "\u0483", "م", "क", "\u094d", "一", "葛", "。", "ｆ",
		"\u200b", "\u200c", "\u200d", "\u2028", "\ufe0f", "\ufe00", "\u20e3", "❤", "👨", "🏳", "🏴", "\U0001FAFF", "\U0001FB00", "\U0001FFFE",
		"\U000E0067", "\U000E0100", "\U00020000", "\u0085", "\u009b", "\xff", "\xf0\x9f", "\xe2\x80", "\xed\xa0\x80", "\xc0\x80",
	}
	changed := 0
	for seed := range uint64(20000) {
		r := rand.New(rand.NewPCG(seed, 4))
		s := ""
		for range 1 + r.IntN(12) {
			s += parts[r.IntN(len(parts))]
		}
		got, want := toPlainText(s), plainByOne(s)
		if got != want {
			t.Fatalf("seed %d: toPlainText(%q) = %q, want %q", seed, s, got, want)
		}
		if got != s {
			changed++
		}
	}
	if changed < 1000 || changed > 19900 {
		t.Errorf("%d of 20000 texts change, which says little", changed)
	}
}
