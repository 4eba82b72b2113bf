package output

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	sallyport "github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
	"github.com/sallyport/sallyport/internal/spelling"
)

// newCleaner returns a Cleaner for those values that are searched for.
func newCleaner(values ...string) *Cleaner {
	var all []sallyport.Secret
	for _, v := range values {
		if s := sallyport.NewSecret(v); CheckSecret(s) == nil {
			all = append(all, s)
		}
	}
	c, err := New(&Options{Secrets: all})
	if err != nil {
		panic(err)
	}
	return c
}

// huntIn returns the known values that a Cleaner finds in s, and what the
// oracle finds from the same places.
func huntIn(c *Cleaner, s string) (got, want []markedSpan) {
	w := sweeper{c: c, s: s, classes: basicPlane()}
	w.sweepPlain()
	w.sweepEscaped()
	w.spans = nil
	if w.hunts != nil {
		want = oracleSpans(c, s, w.hunts.starts)
	}
	w.huntNeedles()
	return mergeSpans(w.spans), want
}

// everywhere returns all places of a text for each shape.
func everywhere(s string) (starts [shapes]placeSet) {
	for shape := range starts {
		starts[shape] = make(placeSet, len(s)/64+1)
		for i := range len(s) {
			starts[shape].add(i)
		}
	}
	return starts
}

// uncovered returns the first of spans that lies outside of all others.
func uncovered(spans, others []markedSpan) (markedSpan, bool) {
	for _, x := range spans {
		if !slices.ContainsFunc(others, func(o markedSpan) bool { return o.start <= x.start && x.end <= o.end }) {
			return x, true
		}
	}
	return markedSpan{}, false
}

// writer writes values in ways that are chosen at random.
type writer struct{ *rand.Rand }

func (r writer) pick(all ...string) string { return all[r.IntN(len(all))] }

// value makes a value that is likely to repeat itself.
func (r writer) value() string {
	alphabet := []rune(r.pick("ab", "aA1", `a\`, "%41", "a%2", "+ a", "a &;", "\\n\n", "a\nb ", "=-_/", "a\u200bé", "\\u0061", "x0\\", "一二a", "\ta\r\n", "abcdefgh0123456789"))
	word := func(n int) string {
		chars := make([]rune, 1+r.IntN(n))
		for i := range chars {
			chars[i] = alphabet[r.IntN(len(alphabet))]
		}
		return string(chars)
	}
	if r.IntN(3) == 0 {
		return word(40)
	}
	return strings.Repeat(word(4), 1+r.IntN(12)) + word(3) + strings.Repeat(word(2), r.IntN(6))
}

// write writes v in one of the forms that are searched for.
func (r writer) write(v string) string {
	var b strings.Builder
	switch r.IntN(8) {
	case 0:
		return v
	case 1:
		quoted, _ := json.Marshal(v)
		return string(quoted[1 : len(quoted)-1])
	case 2:
		return r.pick(url.QueryEscape(v), url.PathEscape(v), strings.ReplaceAll(v, `\`, r.pick(`\\`, `\\\\`)))
	case 3:
		h := hex.EncodeToString([]byte(r.pick(v, strings.ReplaceAll(v, "\n", "\r\n"))))
		separator := r.pick("", "", ":", " ", "-", ", ", ",0x", `\x`, "\n")
		for i := 0; i < len(h); i += 2 {
			b.WriteString(h[i:i+2] + separator)
		}
		return r.pick("", "3", "0x") + b.String()
	case 4:
		digits := base64.StdEncoding.EncodeToString([]byte(r.pick("", "x", "yz") + v + r.pick("", "q")))
		if split := r.IntN(20); split > 3 && split < len(digits) {
			digits = digits[:split] + r.pick("\n", `\n`, "\u200b", `\r\n`) + digits[split:]
		}
		return strings.NewReplacer("+", r.pick("+", "-", "%2B", `\u002b`), "/", r.pick("/", "_", "%2f", `\/`)).Replace(digits)
	case 5:
		return strings.Join(strings.Split(v, ""), r.pick(" ", "  ", "   ", " \u00a0", "\u00a0"))
	default:
		mixed := r.IntN(3) > 0
		for _, c := range v {
			way := string(c)
			if mixed && r.IntN(3) == 0 {
				way = r.pick(spelling.Ways(way)...)
			}
			b.WriteString(way)
			if r.IntN(12) == 0 {
				b.WriteString(r.pick("\n", "\u200b", "\u00a0", "\n> ", "\n+", "\t", " "))
			}
		}
		return b.String()
	}
}

// text writes values, parts of them and other things.
func (r writer) text(values []string) string {
	var b strings.Builder
	for range 1 + r.IntN(6) {
		v := values[r.IntN(len(values))]
		if v == "" {
			continue
		}
		switch r.IntN(6) {
		case 0:
			b.WriteString(r.pick(" ", "x", "\n", "%", `\`, "&", "ab", "\u200b", "0", "+", "%25", `\n`, "; "))
		case 1:
			b.WriteString(r.write(v[:r.IntN(len(v))]))
		case 2:
			b.WriteString(strings.Repeat(v[:1+r.IntN(min(len(v), 5))], r.IntN(12)))
		case 3:
			b.WriteString(r.write(v)[r.IntN(3)/2:])
		default:
			b.WriteString(r.write(v))
		}
	}
	return strings.ToValidUTF8(b.String(), "")
}

// TestHuntFindsWhatWholeComparisonsFind compares what is found with what
// comparisons of whole values find, from the same places.
func TestHuntFindsWhatWholeComparisonsFind(t *testing.T) {
	t.Parallel()
	needs.NoRace(t)
	const seeds = 1500
	found := 0
	for seed := range uint64(seeds) {
		r := writer{rand.New(rand.NewPCG(seed, 1))}
		values := []string{r.value(), r.value()}
		values = append(values, values[0]+r.value(), values[1][len(values[1])/3:])
		c := newCleaner(values...)
		s := r.text(values)
		got, want := huntIn(c, s)
		found += len(want)
		if x, ok := uncovered(want, got); ok {
			t.Fatalf("seed %d: %q in %q is not found for %q: found %v, want %v", seed, s[x.start:x.end], s, c.needles, got, want)
		}
		if len(got) == 0 || widened(s, c.needles) {
			continue
		}
		if x, ok := uncovered(got, oracleSpans(c, s, everywhere(s))); ok {
			t.Fatalf("seed %d: %q in %q is found for %q: found %v", seed, s[x.start:x.end], s, c.needles, got)
		}
	}
	if found < seeds {
		t.Errorf("the texts hold %d values, too few to say anything", found)
	}
}

// widened reports whether more is found than by comparing whole values: those
// with any number of backslashes, split by escaped controls, with blanks of
// several kinds beside each other, with blanks after each character although
// they have some, and with more line ends in a dump.
func widened(s string, needles []string) bool {
	return strings.ContainsAny(s, "\\%\u00a0") || slices.ContainsFunc(needles, func(raw string) bool {
		return slices.ContainsFunc(splitUnits(raw), func(u needleUnit) bool { return u.optional || u.r == ' ' })
	})
}

func FuzzHunt(f *testing.F) {
	for seed := range uint64(40) {
		r := writer{rand.New(rand.NewPCG(seed, 2))}
		values := []string{r.value(), r.value()}
		f.Add(values[0], values[1], r.text(values))
	}
	f.Fuzz(func(t *testing.T, value, other, s string) {
		if len(value)+len(other)+len(s) > 2000 {
			t.Skip("the oracle is slow")
		}
		c := newCleaner(value, other)
		got, want := huntIn(c, s)
		if x, ok := uncovered(want, got); ok {
			t.Errorf("%q in %q is not found for %q: found %v", s[x.start:x.end], s, c.needles, got)
		}
	})
}
