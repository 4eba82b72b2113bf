package output

import (
	"encoding/hex"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/needs"
)

// slowed returns a Cleaner for the same values that reads one character after
// another, each in all ways.
func slowed(c *Cleaner) *Cleaner {
	s := newCleaner(slices.Collect(maps.Keys(c.values))...)
	for shape := range s.automata {
		a := newFormAutomaton(s.needles, formShape(shape))
		a.single, a.plain = new([256]bool), strings.Repeat("\x00", len(a.plain))
		for i := range a.labels {
			a.labels[i] = true
		}
		s.automata[shape] = func() *automaton { return a }
	}
	return s
}

// TestReadingAloneFindsTheSame compares what is found by going on with a reading
// that is alone with what is found one character after another.
func TestReadingAloneFindsTheSame(t *testing.T) {
	t.Parallel()
	needs.NoRace(t)
	const seeds = 2000
	found := 0
	for seed := range uint64(seeds) {
		r := writer{rand.New(rand.NewPCG(seed, 5))}
		values := []string{r.value(), r.value()}
		if r.IntN(2) == 0 {
			values = append(values, values[0]+r.value())
		}
		c := newCleaner(values...)
		s := r.text(values)
		got, _ := huntIn(c, s)
		want, _ := huntIn(slowed(c), s)
		found += len(want)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: found %v in %q for %q, one after another %v", seed, got, s, c.needles, want)
		}
	}
	if found < seeds {
		t.Errorf("the texts hold %d values, too few to say anything", found)
	}
}

// TestReadingAloneSeesOtherWays has texts that go on in another way just behind
// what was read alone.
func TestReadingAloneSeesOtherWays(t *testing.T) {
	t.Parallel()
	abc := strings.Repeat("abc", 8)
	for _, tt := range []struct {
		name, text, want string
		values           []string
	}{
		{"a value begins inside an escape", "aaaaaaaaaaaa%61bcdefghij", "aaaaaaaaaaaa%[REDACTED:secret]", []string{strings.Repeat("a", 20), "61bcdefghij"}},
		{"blanks begin", abc[:13] + " " + strings.Join(strings.Split(abc[1:]+"X", ""), " "), abc[:12] + "[REDACTED:secret]", []string{abc + "X"}},
		{"an escaped backslash is escaped", `aaaaaaaa%5C%5Cbcd`, "[REDACTED:secret]", []string{`aaaaaaaa\bcd`}},
		{"a carriage return was added", hex.EncodeToString([]byte("abcdefgh\r\nijkl")), "[REDACTED:secret]", []string{"abcdefgh\nijkl"}},
		{"a line begins with a sign", "-abcdefgh\n-ijkl", "-[REDACTED:secret]", []string{"abcdefghijkl"}},
		{"a line begins with a sign that a value has", "- abcdefgh\n-ijkl", "- [REDACTED:secret]", []string{"abcdefgh-ijkl"}},
	} {
		c := newCleaner(tt.values...)
		for name, c := range map[string]*Cleaner{"alone": c, "one after another": slowed(c)} {
			if got := string(c.Text(tt.text)); got != tt.want {
				t.Errorf("%s, %s: Text(%q) = %q, want %q", tt.name, name, tt.text, got, tt.want)
			}
		}
	}
}

func TestCommonPrefix(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 6))
		word := func() string {
			b := make([]byte, r.IntN(40))
			for i := range b {
				b[i] = 'a'
				if r.IntN(20) == 0 {
					b[i] = "\x00\x01b\x80\xff"[r.IntN(5)]
				}
			}
			return string(b)
		}
		a, b := word(), word()
		want := 0
		for want < min(len(a), len(b)) && a[want] == b[want] && a[want] != 0 {
			want++
		}
		if got := commonPrefix(a, b); got != want {
			t.Fatalf("commonPrefix(%q, %q) = %d, want %d", a, b, got, want)
		}
	}
}

func TestCountVisible(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 7))
		b := []byte("!aZ~09_`")
		for range r.IntN(3) {
			b[r.IntN(len(b))] = byte(r.IntN(256))
		}
		want := 0
		for want < 8 && symbols[b[7-want]] != 0 {
			want++
		}
		if got := countVisible(string(b)); got > want || want == 8 && got < 8 {
			t.Fatalf("countVisible(%q) = %d, want %d", b, got, want)
		}
	}
}
