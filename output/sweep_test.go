package output

import (
	"encoding/base64"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// startsByOne returns where the anchors in s begin: the register takes one
// character after the other, and is compared with every anchor.
func startsByOne(s string, anchors []anchor) (all []int) {
	w := sweeper{s: s}
	v := uint64(0)
	for i := 0; i < len(s); {
		var sym symbol
		if sym, i = symbolAt(s, i); sym == 0 {
			continue
		}
		v = v<<symbolBits | uint64(sym&63)
		for _, a := range anchors {
			if v&a.mask == a.code {
				all = append(all, w.symbolStart(i, int(a.size)))
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestSweepFindsTheAnchorsOfEverySymbol compares looks behind every second byte
// with looks behind every symbol.
func TestSweepFindsTheAnchorsOfEverySymbol(t *testing.T) {
	t.Parallel()
	values := []string{"correct horse battery", "Gx7-kQ/2mPzWvRt9", "пароль-один-два", "\\u0041bcdefgh", "1 2 3 4 5 6 7 8 9"}
	var anchors []anchor
	for _, p := range newCleaner(values...).index.places {
		// Anchors of forms only note where they begin.
		if a := p.anchor; !p.isAhead && !slices.Contains(anchors, a) {
			a.rule, a.arg = ruleForm, int32(shapeText)
			anchors = append(anchors, a)
		}
	}
	c := &Cleaner{index: newIndex(anchors)}
	parts := append(slices.Clone(values), "<|", "<", "|", "sk-", "eyJ", "://", "SK", "pass", "word=", "bearer", "<tool_call>", "[INST]",
		" ", "  ", "\n", "\t", "a", "é", "я", "一", "\u00a0", "\u200b", "👨", "\xff", "\xe2\x80", "\xf0\x9f", "x", "47782d", "R3g3", "%", `\`)
	found := 0
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 5))
		var b strings.Builder
		for range 1 + r.IntN(12) {
			p := parts[r.IntN(len(parts))]
			b.WriteString(p[:1+r.IntN(len(p))])
		}
		s := b.String()
		w := sweeper{c: c, s: s, classes: basicPlane()}
		w.sweepPlain()
		var got []int
		if w.hunts != nil {
			for i := w.hunts.starts[shapeText].nextFrom(0); i < len(s); i = w.hunts.starts[shapeText].nextFrom(i + 1) {
				got = append(got, i)
			}
		}
		want := startsByOne(s, anchors)
		found += len(want)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: anchors begin in %q at %v, want %v", seed, s, got, want)
		}
	}
	if found < 4000 {
		t.Errorf("the texts hold %d anchors, too few to say anything", found)
	}
}

func TestBase64WithAnEscapedDigitNearItsBeginningIsRedacted(t *testing.T) {
	t.Parallel()
	const value = ">>>???-abcdefgh"
	digits := base64.StdEncoding.EncodeToString([]byte(value)) // Pj4+Pz8/LWFi…
	c := newCleaner(value)
	for _, plus := range []string{"+", "-", "%2B", "%2b", `\u002b`} {
		for _, slash := range []string{"/", "_", "%2F", `\u002F`} {
			in := "x: " + strings.NewReplacer("+", plus, "/", slash).Replace(digits) + " y"
			if got := string(c.Text(in)); got != "x: [REDACTED:secret] y" {
				t.Errorf("Text(%q) = %q", in, got)
			}
		}
	}
}
