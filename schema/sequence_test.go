package schema

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// TestSequencesMatchWhatTheirPatternsMatch, for patterns that are made of parts, and texts
// that are near to what they match.
func TestSequencesMatchWhatTheirPatternsMatch(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	parts := []string{
		"a", "b", "ab", "-", "/", `\.`, "é", "[ab]", "[^a]", "[0-9]", `\d`, `\w`, `\s`, ".", "(a)", "(?i)a", "(?:ab)", "(?:a|b)", "(?:)", "^", "$", `\z`, `\A`, `\b`, "(?m)^", "(?m)$", "x*a", "[a-c]",
	}
	counts := []string{"", "", "", "*", "+", "?", "{2}", "{0}", "{1,3}", "{0,2}", "{2,}", "*?", "{1,2}?"}
	pieces := []string{"a", "b", "ab", "-", "/", ".", "é", "1", "22", " ", "\n", "\xff", "A", "c", "_", "\u212a"}
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	plain := 0
	for range 20_000 {
		expr := "^"
		if r.IntN(20) == 0 {
			expr = pick([]string{"", "(?i)^", "(?m)^", "(?s)^", `\A`})
		}
		for range r.IntN(4) {
			expr += pick(parts) + pick(counts)
		}
		expr += pick([]string{"", "$", "$", `\z`, "(?m)$"})
		made, err := compilePattern(expr)
		if err != nil || made.(pattern).plain == nil {
			continue
		}
		plain++
		for range 20 {
			var text strings.Builder
			for range r.IntN(6) {
				text.WriteString(pick(pieces))
			}
			checkSequence(t, made.(pattern), text.String())
		}
	}
	if plain < 1000 {
		t.Errorf("%d of the patterns are sequences, want 1000 or more: the test says little", plain)
	}
}

func checkSequence(t *testing.T, p pattern, text string) {
	t.Helper()
	if want := p.Regexp.MatchString(text); p.plain.matches(text) != want || p.MatchString(text) != want {
		t.Errorf("the sequence of %q matches %q: %v, want %v", p.Regexp, text, !want, want)
	}
}

// TestPatternsThatPeopleWriteAreSequences, and those that leave a choice are not.
func TestPatternsThatPeopleWriteAreSequences(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]bool{
		"^[0-9]{4}-[0-9]{2}-[0-9]{2}$": true, "^notes/": true, `^\d+$`: true, "^[a-z][a-z0-9_]*$": true, "^$": true, "^": true, `^v\d+\.\d+$`: true, "^a?b": true,
		"notes/": false, "^a*a": false, "^a?b?c": false, "^(a|bc)$": false, "^é": false, "^[^a]": false, "(?i)^a": false, "^a$b": false, "^.*$": false, "(?m)^a": false, "": false,
	} {
		made, err := compilePattern(expr)
		if err != nil || (made.(pattern).plain != nil) != want {
			t.Errorf("compilePattern(%q) = %+v, %v, want a sequence: %v", expr, made, err, want)
		}
	}
}

func FuzzSequence(f *testing.F) {
	f.Add("^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "2026-11-26")
	f.Add("^notes/", "notes/plan.md")
	f.Add("^a*b?$", "aab")
	f.Fuzz(func(t *testing.T, expr, text string) {
		if made, err := compilePattern(expr); err == nil && made.(pattern).plain != nil {
			checkSequence(t, made.(pattern), text)
		}
	})
}

func BenchmarkPattern(b *testing.B) {
	for _, c := range []struct{ expr, text string }{{"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "2026-11-26"}, {"^notes/", "notes/plan.md"}} {
		made, err := compilePattern(c.expr)
		if err != nil {
			b.Fatal(err)
		}
		for name, match := range map[string]func(string) bool{"sequence": made.(pattern).MatchString, "regexp": regexp.MustCompile(c.expr).MatchString} {
			b.Run(fmt.Sprintf("%s/%s", c.expr, name), func(b *testing.B) {
				for b.Loop() {
					if !match(c.text) {
						b.Fatal("no match")
					}
				}
			})
		}
	}
}
