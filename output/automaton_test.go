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
		a := newAutomaton(shapeText)
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

// path is a list of where characters begin, with its end in a trail.
type path struct {
	places []int
	run    int32
}

func (p *path) add(tr *trail, at int) {
	p.run = tr.add(p.run, len(p.places), at)
	p.places = append(p.places, at)
}

// TestTrailKnowsWhereCharactersBegan compares a trail with lists of places that
// were copied at each fork.
func TestTrailKnowsWhereCharactersBegan(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		var tr trail
		paths := []path{{run: noRun}}
		for range 300 {
			p := &paths[r.IntN(len(paths))]
			if len(paths) < 4 && r.IntN(20) == 0 {
				paths = append(paths, path{slices.Clone(p.places), p.run})
				p = &paths[len(paths)-1]
			}
			at := 0
			if n := len(p.places); n > 0 {
				at = p.places[n-1] + 1
			}
			switch r.IntN(8) {
			case 0:
				p.add(&tr, at+r.IntN(3))
			case 1:
				n := 1 + r.IntN(9)
				p.run = tr.addBytes(p.run, len(p.places), at, n)
				for i := range n {
					p.places = append(p.places, at+i)
				}
			default:
				stride := 1 + r.IntN(2)
				for i := range 1 + r.IntN(6) {
					p.add(&tr, at+i*stride)
				}
			}
		}
		for _, p := range paths {
			if len(p.places) == 0 {
				continue
			}
			checkTrail(t, &tr, p, 0)
			kept := trail{runs: slices.Clone(tr.runs)}
			count := 1 + r.IntN(len(p.places))
			p.run = kept.keep(p.run, len(p.places), count)
			checkTrail(t, &kept, p, len(p.places)-count)
			p.add(&kept, 1<<20)
			checkTrail(t, &kept, p, len(p.places)-count-1)
		}
	}
}

// checkTrail compares the places of all characters from one on.
func checkTrail(t *testing.T, tr *trail, p path, from int) {
	t.Helper()
	for i := from; i < len(p.places); i++ {
		if got := tr.placeOf(p.run, i+1); got != p.places[i] {
			t.Fatalf("character %d of %v begins at %d", i+1, p.places, got)
		}
	}
}
