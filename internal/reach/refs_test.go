package reach

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseRef(t *testing.T) {
	tests := []struct {
		name    string
		in      string
		want    Ref
		wantErr string
	}{
		{name: "exact", in: "providers/exa/apiKey", want: Ref{Path: "providers/exa/apiKey"}},
		{name: "one segment", in: "API_KEY", want: Ref{Path: "API_KEY"}},
		{name: "prefix", in: "providers/exa/*", want: Ref{Path: "providers/exa", Below: true}},
		{name: "three dots is a name", in: "a/.../b", want: Ref{Path: "a/.../b"}},
		{name: "colon after a scheme", in: "vault:db/password", want: Ref{Path: "vault:db/password"}},
		{name: "letters of any script", in: "schlüssel/ключ", want: Ref{Path: "schlüssel/ключ"}},
		{name: "empty", in: "", wantErr: "empty"},
		{name: "everything", in: "*", wantErr: "after a prefix"},
		{name: "prefix of nothing", in: "/*", wantErr: "empty"},
		{name: "leading slash", in: "/etc/passwd", wantErr: "absolute"},
		{name: "drive letter", in: "C:x", wantErr: "absolute"},
		{name: "backslash", in: `a\b`, wantErr: "backslashes"},
		{name: "empty segment", in: "providers/exa//foo", wantErr: "segment"},
		{name: "trailing slash", in: "providers/", wantErr: "segment"},
		{name: "dot", in: "a/./b", wantErr: "segment"},
		{name: "two dots", in: "a/../b", wantErr: "segment"},
		{name: "two dots before the star", in: "a/../*", wantErr: "segment"},
		{name: "star inside", in: "a/*/b", wantErr: "after a prefix"},
		{name: "star in a segment", in: "a/b*", wantErr: "after a prefix"},
		{name: "two stars", in: "a/*/*", wantErr: "after a prefix"},
		{name: "NUL", in: "a\x00b", wantErr: "control"},
		{name: "newline", in: "a\nb", wantErr: "control"},
		{name: "zero width space", in: "a\u200bb", wantErr: "invisible"},
		{name: "right-to-left override", in: "a\u202eb", wantErr: "invisible"},
		{name: "invalid UTF-8", in: "a\xff", wantErr: "UTF-8"},
		{name: "too long", in: strings.Repeat("a", 513), wantErr: "512"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseRef(tt.in)
			if tt.wantErr == "" {
				if err != nil || got != tt.want {
					t.Errorf("ParseRef(%q) = %+v, %v, want %+v", tt.in, got, err, tt.want)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("ParseRef(%q) error = %v, want one with %q", tt.in, err, tt.wantErr)
			}
		})
	}
}

func TestParseExactRef(t *testing.T) {
	for s, want := range map[string]bool{"a/b": true, "a/*": false, "a//b": false, "": false} {
		if err := ParseExactRef(s); (err == nil) != want {
			t.Errorf("ParseExactRef(%q) = %v, want accepted %t", s, err, want)
		}
	}
}

func TestMatchRef(t *testing.T) {
	tests := []struct {
		name     string
		patterns []string
		ref      string
		want     bool
	}{
		{name: "exact", patterns: []string{"a/b"}, ref: "a/b", want: true},
		{name: "below", patterns: []string{"a/*"}, ref: "a/b", want: true},
		{name: "far below", patterns: []string{"a/*"}, ref: "a/b/c", want: true},
		{name: "second entry", patterns: []string{"x", "a/*"}, ref: "a/b", want: true},
		{name: "the prefix itself", patterns: []string{"a/*"}, ref: "a"},
		{name: "sibling with the same beginning", patterns: []string{"a/*"}, ref: "ab/c"},
		{name: "other case", patterns: []string{"a/b"}, ref: "A/b"},
		{name: "empty segment", patterns: []string{"a/*"}, ref: "a//b"},
		{name: "empty segment written out", patterns: []string{"a//b"}, ref: "a//b"},
		{name: "two dots written out", patterns: []string{"a/../b"}, ref: "a/../b"},
		{name: "pattern asked for", patterns: []string{"a/*"}, ref: "a/*"},
		{name: "empty", patterns: []string{""}, ref: ""},
		{name: "no patterns", ref: "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := MatchRef(tt.patterns, tt.ref); got != tt.want {
				t.Errorf("MatchRef(%q, %q) = %t, want %t", tt.patterns, tt.ref, got, tt.want)
			}
		})
	}
}

func TestIntersectRefs(t *testing.T) {
	tests := []struct {
		name              string
		declared, allowed []string
		granted, dropped  []string
	}{
		{
			name: "narrower declaration", declared: []string{"providers/exa/apiKey"},
			allowed: []string{"providers/*"}, granted: []string{"providers/exa/apiKey"},
		},
		{
			name: "narrower ceiling", declared: []string{"providers/*"},
			allowed: []string{"providers/exa/*", "mail/user"}, granted: []string{"providers/exa/*"},
		},
		{name: "nothing in common", declared: []string{"a/b"}, allowed: []string{"c/*"}, dropped: []string{"a/b"}},
		{name: "empty list", declared: []string{"a/b", "a/*"}, allowed: []string{}, dropped: []string{"a/b", "a/*"}},
		{name: "broken entry", declared: []string{"a/../b"}, allowed: []string{"a/../b"}, dropped: []string{"a/../b"}},
		{
			name: "covered entries fold", declared: []string{"a/b", "a/*", "a/b"}, allowed: []string{"a/*"},
			granted: []string{"a/*"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			granted, dropped := IntersectRefs(tt.declared, tt.allowed)
			if d := cmp.Diff(tt.granted, granted); d != "" {
				t.Errorf("IntersectRefs(%q, %q) granted (-want +got):\n%s", tt.declared, tt.allowed, d)
			}
			if d := cmp.Diff(tt.dropped, dropped); d != "" {
				t.Errorf("IntersectRefs(%q, %q) dropped (-want +got):\n%s", tt.declared, tt.allowed, d)
			}
		})
	}
}

func TestMatchBinary(t *testing.T) {
	tests := []struct {
		name    string
		entries []string
		binary  string
		want    bool
	}{
		{name: "name", entries: []string{"git"}, binary: "git", want: true},
		{name: "star", entries: []string{"*"}, binary: "g++", want: true},
		{name: "path entry", entries: []string{"/usr/bin/git"}, binary: "/usr/bin/git", want: true},
		{name: "version", entries: []string{"python3.12"}, binary: "python3.12", want: true},
		{name: "other path", entries: []string{"/usr/bin/git"}, binary: "/usr/local/bin/git"},
		{name: "path of a name", entries: []string{"git"}, binary: "/usr/bin/git"},
		{name: "name of a path", entries: []string{"/usr/bin/git"}, binary: "git"},
		{name: "star and path", entries: []string{"*"}, binary: "/usr/bin/git"},
		{name: "star asked for", entries: []string{"*"}, binary: "*"},
		{name: "unclean path written out", entries: []string{"/usr/bin/../x"}, binary: "/usr/bin/../x"},
		{name: "root", entries: []string{"/"}, binary: "/"},
		{name: "here", entries: []string{"*", "./git"}, binary: "./git"},
		{name: "prefix", entries: []string{"git"}, binary: "gitk"},
		{name: "case", entries: []string{"git"}, binary: "GIT"},
		{name: "two dots", entries: []string{"*"}, binary: ".."},
		{name: "option", entries: []string{"*"}, binary: "-c"},
		{name: "empty", entries: []string{"*", ""}, binary: ""},
		{name: "shell", entries: []string{"*", "git;id"}, binary: "git;id"},
		{name: "blank", entries: []string{"*", "git "}, binary: "git "},
		{name: "long name", entries: []string{"*"}, binary: strings.Repeat("a", 256)},
		{name: "control in a path", entries: []string{"/a\nb"}, binary: "/a\nb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := MatchBinary(tt.entries, tt.binary); got != tt.want {
				t.Errorf("MatchBinary(%q, %q) = %t, want %t", tt.entries, tt.binary, got, tt.want)
			}
		})
	}
}

func TestIntersectNames(t *testing.T) {
	tests := []struct {
		name              string
		declared, allowed []string
		granted, dropped  []string
	}{
		{name: "star declared", declared: []string{"*"}, allowed: []string{"go", "git"}, granted: []string{"git", "go"}},
		{name: "star allowed", declared: []string{"git"}, allowed: []string{"*"}, granted: []string{"git"}},
		{name: "both stars", declared: []string{"*"}, allowed: []string{"*"}, granted: []string{"*"}},
		{name: "star and a path", declared: []string{"*"}, allowed: []string{"/opt/x"}, dropped: []string{"*"}},
		{name: "partly", declared: []string{"git", "rm"}, allowed: []string{"git"}, granted: []string{"git"}, dropped: []string{"rm"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			granted, dropped := IntersectNames(tt.declared, tt.allowed)
			if d := cmp.Diff(tt.granted, granted); d != "" {
				t.Errorf("IntersectNames(%q, %q) granted (-want +got):\n%s", tt.declared, tt.allowed, d)
			}
			if d := cmp.Diff(tt.dropped, dropped); d != "" {
				t.Errorf("IntersectNames(%q, %q) dropped (-want +got):\n%s", tt.declared, tt.allowed, d)
			}
		})
	}
}

func TestIsEnvName(t *testing.T) {
	for s, want := range map[string]bool{
		"A": true, "_a1": true, "npm_config": true, "": false, "1A": false, "A B": false, "A=B": false, "A-B": false, "Ä": false,
	} {
		if got := IsEnvName(s); got != want {
			t.Errorf("IsEnvName(%q) = %t, want %t", s, got, want)
		}
	}
}

func FuzzParseRef(f *testing.F) {
	for _, s := range []string{"a/b", "a/*", "*", "/*", "a//b", "a/../b", `a\b`, "C:x", "a\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRef(s)
		if err != nil {
			if r != (Ref{}) {
				t.Fatalf("ParseRef(%q) = %+v with error %v, want the zero Ref", s, r, err)
			}
			if MatchRef([]string{s, "a/*"}, s) {
				t.Fatalf("MatchRef matches %q, which is no reference", s)
			}
			return
		}
		if r.String() != s {
			t.Fatalf("ParseRef(%q).String() = %q", s, r.String())
		}
		for segment := range strings.SplitSeq(r.Path, "/") {
			if segment == "" || segment == "." || segment == ".." || strings.ContainsAny(segment, "*\\\x00") {
				t.Fatalf("ParseRef(%q) lets the segment %q pass", s, segment)
			}
		}
		if !r.Covers(r) {
			t.Fatalf("%q does not cover itself", s)
		}
	})
}

// fuzzIntersection holds an intersection to its algebra: nothing more than
// either side matches, nothing less than both match, the same either way
// round, and no change when it is applied again.
func fuzzIntersection(t *testing.T, match func([]string, string) bool,
	intersect func(a, b []string) (granted, dropped []string), left, right, probe string,
) {
	a, b := strings.Split(left, ","), strings.Split(right, ",")
	granted, dropped := intersect(a, b)
	if got, want := match(granted, probe), match(a, probe) && match(b, probe); got != want {
		t.Fatalf("%q and %q give %q: matches %q = %t, want %t", a, b, granted, probe, got, want)
	}
	if back, _ := intersect(b, a); !slices.Equal(back, granted) {
		t.Fatalf("%q and %q give %q, the other way round %q", a, b, granted, back)
	}
	again, lost := intersect(granted, b)
	if !slices.Equal(again, granted) || len(lost) > 0 {
		t.Fatalf("%q and %q give %q, applied again %q without %q", a, b, granted, again, lost)
	}
	for _, d := range dropped {
		if !slices.Contains(a, d) || match(granted, d) {
			t.Fatalf("%q and %q give %q and drop %q", a, b, granted, d)
		}
	}
}

func FuzzIntersectRefs(f *testing.F) {
	f.Add("a/*,b/c", "a/b,b/*", "a/b")
	f.Add("a/b/*,a/*", "a/b/c,a/b/*", "a/b/c/d")
	f.Add("*,a//b,..", "*,a//b,..", "a//b")
	f.Fuzz(func(t *testing.T, left, right, probe string) {
		fuzzIntersection(t, MatchRef, IntersectRefs, left, right, probe)
	})
}

func FuzzIntersectNames(f *testing.F) {
	f.Add("git,rm", "*", "git")
	f.Add("*,/usr/bin/git", "/usr/bin/git,sh", "/usr/bin/git")
	f.Add("*", "*", "./git")
	f.Fuzz(func(t *testing.T, left, right, probe string) {
		fuzzIntersection(t, MatchBinary, IntersectNames, left, right, probe)
	})
}

func BenchmarkMatchRef(b *testing.B) {
	patterns := []string{"mail/user", "mail/password", "providers/exa/*", "providers/openweather/apiKey"}
	b.ReportAllocs()
	for b.Loop() {
		if !MatchRef(patterns, "providers/openweather/apiKey") {
			b.Fatal("MatchRef = false, want true")
		}
	}
}
