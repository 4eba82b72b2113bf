package provenance

import (
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
)

// TestALongTextIsFoldedInPieces: what its pieces make is what the whole makes.
func TestALongTextIsFoldedInPieces(t *testing.T) {
	t.Parallel()
	letters := []string{"a", " ", "e\u0301", "\u0327", "\u0301", "\ufdfa", "\uff21", "\u1100", "\u1161", "\u11a8", "가", "日本", "\u200b", "ß", "\U0001d400", "\u0f71\u0f72", "\xff"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var b strings.Builder
		for b.Len() < 3*foldStep {
			b.WriteString(letters[random.IntN(len(letters))])
		}
		s := search{Reading: new(Reading), ended: t.Context().Err}
		if text := b.String(); s.mapPieces(norm.NFKD, text, Fold) != Fold(text) || s.mapPieces(norm.NFKC, text, plainText) != plainText(text) {
			t.Fatal("the pieces of a text are folded into something else")
		}
	}
	marks := strings.Repeat("\u0327", 3*foldStep)
	if n := endOfPiece(norm.NFKD, marks); n > 2*foldStep+1 {
		t.Errorf("a text of marks alone has a piece of %d bytes", n)
	}
}
