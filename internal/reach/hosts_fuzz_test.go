package reach

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// FuzzParseHost holds parse and print to be inverse.
func FuzzParseHost(f *testing.F) {
	for _, s := range []string{"a.b", "*.B:1", "*", "*:9", "[::1]:80", "::1", "10.0.0.1", "BÜCHER.example."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParseHost(s)
		if err != nil {
			return
		}
		q, err := ParseHost(p.String())
		if err != nil || p != q || q.String() != p.String() {
			t.Errorf("ParseHost(%q) = %v, but ParseHost(%q) = %v, %v", s, p, p, q, err)
		}
	})
}

// universe is small, so that random lists overlap often.
var (
	universeHosts    = []string{"a", "b", "x.a", "y.x.a", "z.b", "10.0.0.1", "::1"}
	universePorts    = []uint16{80, 443, 8443}
	universePatterns = []string{"a", "b", "x.a", "*.a", "*.x.a", "*.b", "z.b", "10.0.0.1", "[::1]", "*", "y.x.a"}
)

func randomHosts(r *rand.Rand, star bool) []HostPattern {
	out := []HostPattern{}
	for range r.IntN(6) {
		s := universePatterns[r.IntN(len(universePatterns))]
		if s == "*" && !star {
			continue
		}
		if n := r.IntN(6); n < len(universePorts) {
			s += ":" + strconv.Itoa(int(universePorts[n]))
		}
		p, err := ParseHost(s)
		if err != nil {
			panic(err)
		}
		out = append(out, p)
	}
	return out
}

// FuzzIntersectHosts holds the algebra: the grant matches exactly what both
// sides match (a declared "*" aside), the sides may be exchanged, and the
// intersection of a grant with itself is the grant.
func FuzzIntersectHosts(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(seed, seed%2 == 0)
	}
	f.Fuzz(func(t *testing.T, seed uint64, star bool) {
		r := rand.New(rand.NewPCG(seed, 1))
		d, a := randomHosts(r, star), randomHosts(r, star)
		granted, dropped := IntersectHosts(d, a)
		checkMatches(t, d, a, granted)
		if again, lost := IntersectHosts(granted, granted); !slices.Equal(again, granted) && len(granted) > 0 || len(lost) > 0 {
			t.Errorf("%v with itself = %v, dropped %v", granted, again, lost)
		}
		if swapped, _ := IntersectHosts(a, d); !star && !slices.Equal(swapped, granted) {
			t.Errorf("IntersectHosts(%v, %v) = %v, exchanged %v", d, a, granted, swapped)
		}
		for _, p := range dropped {
			if left, _ := IntersectHosts([]HostPattern{p}, a); len(left) > 0 {
				t.Errorf("dropped %v, although %v of it is allowed", p, left)
			}
		}
	})
}

func checkMatches(t *testing.T, d, a, granted []HostPattern) {
	t.Helper()
	dh, ah, gh := NewHosts(d), NewHosts(a), NewHosts(granted)
	bare := slices.Contains(d, HostPattern{kind: hostAny})
	for _, host := range universeHosts {
		for _, port := range universePorts {
			want := (bare || dh.Match(host, port)) && ah.Match(host, port)
			if got := gh.Match(host, port); got != want {
				t.Errorf("declared %v, allowed %v, granted %v: Match(%s, %d) = %t, want %t", d, a, granted, host, port, got, want)
			}
		}
	}
	for _, p := range granted {
		if !ah.Covers(p) || !bare && !dh.Covers(p) {
			t.Errorf("granted %v is not covered by declared %v and allowed %v", p, d, a)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		patterns := make([]HostPattern, 0, n)
		for i := range n {
			s := "host" + strconv.Itoa(i) + ".example.com"
			if i%2 == 1 {
				s = "*." + s
			}
			patterns = append(patterns, mustHosts(b, s)[0])
		}
		h := NewHosts(patterns)
		for _, c := range []struct {
			name, host string
		}{{"hit", "host0.example.com"}, {"miss", "a.b.example.org"}} {
			b.Run(c.name+"/"+strconv.Itoa(n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					h.Match(c.host, 443)
				}
			})
		}
	}
}

func BenchmarkCanonicalHost(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := CanonicalHost("api.github.com"); err != nil {
			b.Fatal(err)
		}
	}
}

func TestMatchDoesNotAllocate(t *testing.T) {
	h := NewHosts(mustHosts(t, "a.b", "*.c.d:8443", "*:22"))
	n := testing.AllocsPerRun(100, func() {
		host, _ := CanonicalHost("x.y.c.d")
		h.Match(host, 8443)
	})
	if n != 0 {
		t.Errorf("canonical form and match allocate %v times, want 0", n)
	}
}
