package output

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestAutomatonFindsTheLongestPattern compares the links of random patterns with
// what they stand for.
func TestAutomatonFindsTheLongestPattern(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		word := func(n int) string {
			b := make([]byte, n)
			for i := range b {
				b[i] = "abc"[r.IntN(2+int(seed%2))]
			}
			return string(b)
		}
		a := newAutomaton()
		var patterns []string
		for range 1 + r.IntN(6) {
			patterns = append(patterns, word(1+r.IntN(8)))
			a.addPattern([]rune(patterns[len(patterns)-1]), false, false)
		}
		a.link()
		s := word(60)
		v, steps := int32(0), 0
		for i := range len(s) {
			v = a.nextNode(v, rune(s[i]), &steps)
			longest, read := 0, s[:i+1]
			for _, p := range patterns {
				if strings.HasSuffix(read, p) {
					longest = max(longest, len(p))
				}
			}
			if got := int(a.nodes[v].found); got != longest {
				t.Fatalf("seed %d: %q ends with %d characters of %q, want %d", seed, read, got, patterns, longest)
			}
			if d := int(a.nodes[v].depth); !slices.ContainsFunc(patterns, func(p string) bool { return strings.HasPrefix(p, read[len(read)-d:]) }) {
				t.Fatalf("seed %d: %q is no beginning of %q", seed, read[len(read)-d:], patterns)
			}
			if u := a.nodes[v].fail; v != 0 && (!a.endsWith(v, u) || !a.endsWith(v, v) || a.endsWith(u, v)) {
				t.Fatalf("seed %d: node %d and its end %d are not in order", seed, v, u)
			}
		}
	}
}

func TestTrailKnowsWhereCharactersBegan(t *testing.T) {
	t.Parallel()
	var tr trail
	tip, fork := noStep, noStep
	for i := range 300 {
		tip = tr.add(tip, 2*i)
		if i == 100 {
			fork = tip
		}
		if i >= 100 {
			fork = tr.add(fork, -i)
		}
	}
	for count := 1; count <= 300; count++ {
		if got, want := tr.startOf(tip, count), 2*(300-count); got != want {
			t.Fatalf("startOf(%d) = %d, want %d", count, got, want)
		}
	}
	if got := tr.startOf(fork, 201); got != 200 {
		t.Errorf("behind the fork: %d, want 200", got)
	}
	tip = tr.keep(tip, 50)
	if got := tr.startOf(tip, 50); got != 500 || len(tr.steps) != 50 || tr.steps[tip].count != 300 {
		t.Errorf("keep: the first is %d of %d steps, count %d", got, len(tr.steps), tr.steps[tip].count)
	}
}
