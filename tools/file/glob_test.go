package file

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sallyport/sallyport/internal/needs"
)

func TestGlob(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, pattern, path string
		want                bool
	}{
		{"empty selects all", "", "a/b.go", true},
		{"name at any depth", "*.go", "a/b/c.go", true},
		{"name at the top", "*.go", "c.go", true},
		{"other ending", "*.go", "c.gone", false},
		{"path is anchored", "a/*.go", "b/a/c.go", false},
		{"star stays in a segment", "a/*.go", "a/b/c.go", false},
		{"any depth, none", "a/**/c.go", "a/c.go", true},
		{"any depth, two", "a/**/c.go", "a/x/y/c.go", true},
		{"any depth, repeated", "a/**/x/**/c.go", "a/x/b/x/y/c.go", true},
		{"everything below", "a/**", "a/b/c", true},
		{"not the folder itself", "a/**", "a", false},
		{"trailing slash", "a/", "a/b/c", true},
		{"leading dot slash", "./a/*.go", "a/c.go", true},
		{"question mark is one character", "?.go", "\u00e4.go", true},
		{"question mark is not none", "?.go", ".go", false},
		{"class", "[a-c]x", "bx", true},
		{"negated class", "[!a-c]x", "bx", false},
		{"class with bracket first", "[]]x", "]x", true},
		{"class with hyphen last", "[a-]x", "-x", true},
		{"quoted star", `\*.go`, "*.go", true},
		{"quoted star is literal", `\*.go`, "a.go", false},
		{"braces", "*.{ts,tsx}", "a/b.tsx", true},
		{"braces miss", "*.{ts,tsx}", "a/b.js", false},
		{"nested braces", "{a,b{c,d}}.x", "bd.x", true},
		{"empty alternative", "a{,b}.x", "a.x", true},
		{"single brace is literal", "{a}.x", "{a}.x", true},
		{"exclude", "!*.go", "a.go", false},
		{"exclude others", "!*.go", "a.ts", true},
		{"backtrack", "*ab*ab", "aabxab", true},
		{"case matters", "*.GO", "a.go", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, err := newGlob(tt.pattern)
			if err != nil {
				t.Fatal(err)
			}
			if got := g.match(tt.path); got != tt.want {
				t.Errorf("newGlob(%q).match(%q) = %v, want %v", tt.pattern, tt.path, got, tt.want)
			}
		})
	}
}

func TestGlobRefuses(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{
		"[a", "a[", `a\`, "!", strings.Repeat("a", maxGlobBytes+1),
		strings.Repeat("{a,b}", 20), "[z", "[!",
	} {
		if _, err := newGlob(pattern); err == nil {
			t.Errorf("newGlob(%.40q) succeeded, want an error", pattern)
		}
	}
}

// TestSegmentSteps holds the matcher to its bound with the pattern that is
// exponential for a matcher that tries every star.
func TestSegmentSteps(t *testing.T) {
	t.Parallel()
	for _, n := range []int{60, 600, 6000} {
		pattern, name := strings.Repeat("*a", 30)+"*b", strings.Repeat("a", n)
		ok, steps := matchSegment(pattern, name)
		if ok || steps > 2*len(pattern)*len(name) {
			t.Errorf("matchSegment over %d characters = %v in %d steps, want false in at most %d", n, ok, steps, 2*len(pattern)*len(name))
		}
	}
}

// referenceSegment writes a segment as a regular expression.
func referenceSegment(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); {
		switch c := pattern[i]; c {
		case '*':
			b.WriteString("(?s:.*)")
			i++
		case '?':
			b.WriteString("(?s:.)")
			i++
		case '\\':
			_, w := utf8.DecodeRuneInString(pattern[i+1:])
			b.WriteString(regexp.QuoteMeta(pattern[i+1 : i+1+w]))
			i += 1 + w
		default:
			_, w := utf8.DecodeRuneInString(pattern[i:])
			b.WriteString(regexp.QuoteMeta(pattern[i : i+w]))
			i += w
		}
	}
	return b.String()
}

// referencePath writes a path pattern as a regular expression.
func referencePath(pattern string) string {
	var b strings.Builder
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		last := i == len(parts)-1
		switch {
		case part == "**" && last:
			b.WriteString("(?s:.+)")
		case part == "**":
			b.WriteString("(?:[^/]*/)*")
		default:
			s := strings.ReplaceAll(referenceSegment(part), "(?s:.*)", "[^/]*")
			b.WriteString(strings.ReplaceAll(s, "(?s:.)", "[^/]"))
			if !last {
				b.WriteString("/")
			}
		}
	}
	return b.String()
}

// FuzzMatchPath compares the matcher with the same pattern written as a
// regular expression, classes aside, and counts its steps.
func FuzzMatchPath(f *testing.F) {
	for _, s := range [][2]string{
		{"a/**/b", "a/x/b"}, {"**", "a"}, {"*a*b", "xaxb"}, {"**/x", "a/x"}, {"a/**", "a/b"}, {`\*`, "*"}, {"?/?", "a/b"}, {"**/a/**/b", "a/a/b"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if strings.ContainsAny(pattern, "[") || strings.Contains(pattern, "**/**") || !utf8.ValidString(pattern) || !utf8.ValidString(path) ||
			!realPath(path) || strings.Contains(path+pattern, "\n") || len(pattern) > 60 || len(path) > 200 {
			t.Skip("outside of what the reference covers")
		}
		segments, err := newPath(pattern)
		if err != nil {
			return
		}
		want := regexp.MustCompile("^" + referencePath(pattern) + "$").MatchString(path)
		if got := matchPath(segments, path); got != want {
			t.Errorf("matchPath(%q, %q) = %v, want %v", pattern, path, got, want)
		}
	})
}

// FuzzMatchSegment checks that the matcher never panics, classes included,
// and stays within its bound.
func FuzzMatchSegment(f *testing.F) {
	f.Add("[a-c]*[!x]", "abc")
	f.Add("*a*a*b", "aaaa")
	f.Add(`[\]]`, "]")
	f.Add("[[-]", "\xff")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		s, err := newGlobSegment(pattern)
		if err != nil {
			return
		}
		_ = s.match(name)
		_, steps := matchSegment(pattern, name)
		if bound := 2 * (len(pattern) + 1) * (len(name) + 1); steps > bound {
			t.Errorf("matchSegment(%q, %q) took %d steps, want at most %d", pattern, name, steps, bound)
		}
	})
}

func TestIgnored(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, rules, path string
		dir, want         bool
	}{
		{"name anywhere", "*.log", "a/b.log", false, true},
		{"comment", "#*.log", "#x.log", false, false},
		{"quoted hash", `\#x`, "#x", false, true},
		{"blank lines", "\n \n", " ", false, false},
		{"directory only, file", "out/", "out", false, false},
		{"directory only, directory", "out/", "a/out", true, true},
		{"anchored", "/out", "a/out", false, false},
		{"anchored at the top", "/out", "out", false, true},
		{"inner slash anchors", "a/out", "b/a/out", false, false},
		{"any depth", "**/out", "b/a/out", false, true},
		{"everything inside", "a/**", "a/b", false, true},
		{"inside is not itself", "a/**", "a", true, false},
		{"middle", "a/**/b", "a/x/y/b", false, true},
		{"negated", "*.log\n!keep.log", "keep.log", false, false},
		{"order matters", "!keep.log\n*.log", "keep.log", false, true},
		{"quoted exclamation", `\!x`, "!x", false, true},
		{"trailing spaces", "x   ", "x", false, true},
		{"quoted trailing space", `x\ `, "x ", false, true},
		{"carriage return", "x\r\ny\r", "x", false, true},
		{"class", "*.py[cod]", "a/b.pyc", false, true},
		{"broken class never matches", "[a", "[a", false, false},
		{"lone slash", "/", "a", true, false},
		{"two stars are one", "foo**bar", "fooxbar", false, true},
		{"byte order mark", "\ufeffx", "x", false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := &ignoreLevel{rules: parseIgnore(tt.rules)}
			name := tt.path[strings.LastIndexByte(tt.path, '/')+1:]
			if got := l.isIgnored(tt.path, name, tt.dir); got != tt.want {
				t.Errorf("ignored(%q, dir=%v) by %q = %v, want %v", tt.path, tt.dir, tt.rules, got, tt.want)
			}
		})
	}
}

func TestIgnoreLevels(t *testing.T) {
	t.Parallel()
	top := &ignoreLevel{rules: parseIgnore("*.txt\n/only\n")}
	sub := &ignoreLevel{parent: top, base: len("sub/"), rules: parseIgnore("!keep.txt\n/here\n")}
	for path, want := range map[string]bool{
		"sub/a.txt": true, "sub/keep.txt": false, "sub/here": true, "sub/x/here": false, "sub/only": false,
	} {
		name := path[strings.LastIndexByte(path, '/')+1:]
		if got := sub.isIgnored(path, name, false); got != want {
			t.Errorf("ignored(%q) = %v, want %v", path, got, want)
		}
	}
}

// FuzzParseIgnore checks that no file makes the parser or the matcher panic,
// and that appending a rule and its negation re-includes what it names.
func FuzzParseIgnore(f *testing.F) {
	f.Add("*.log\n!a/\n[x\n\\", "a/b.log")
	f.Add("**/**/a", "a")
	f.Fuzz(func(t *testing.T, rules, path string) {
		if path == "" || strings.ContainsAny(path, "\n") {
			return
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		l := &ignoreLevel{rules: parseIgnore(rules)}
		_ = l.isIgnored(path, name, true)
		l.rules = parseIgnore(rules + "\n*\n!*\n")
		if len(l.rules) < maxIgnoreRules && name != "" && l.isIgnored(path, name, false) {
			t.Errorf("ignored(%q) after %q and !* = true, want false", path, rules)
		}
	})
}

// TestMatchPathExhaustive compares the matcher with the reference for every
// short pattern and path over a small alphabet.
func TestMatchPathExhaustive(t *testing.T) {
	t.Parallel()
	needs.NoRace(t)
	patterns, paths := words("ab*?/", 5), words("ab/", 5)
	for _, pattern := range patterns {
		if strings.Contains(pattern, "**/**") || strings.Contains(pattern, "***") {
			continue // The reference does not fold these.
		}
		segments, err := newPath(pattern)
		if err != nil {
			t.Fatal(err)
		}
		re := regexp.MustCompile("^" + referencePath(pattern) + "$")
		for _, path := range paths {
			if !realPath(path) {
				continue
			}
			if got, want := matchPath(segments, path), re.MatchString(path); got != want {
				t.Fatalf("matchPath(%q, %q) = %v, want %v", pattern, path, got, want)
			}
		}
	}
}

// realPath reports whether a walk can produce a path: no element is empty.
func realPath(path string) bool {
	return !strings.Contains("/"+path+"/", "//")
}

// words lists all words of 1 to n letters.
func words(alphabet string, n int) []string {
	var all []string
	last := []string{""}
	for range n {
		var next []string
		for _, w := range last {
			for _, c := range alphabet {
				next = append(next, w+string(c))
			}
		}
		all, last = append(all, next...), next
	}
	return all
}
