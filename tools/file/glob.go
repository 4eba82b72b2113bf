package file

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// maxGlobBytes bounds one pattern: longer than any path that a kernel
	// takes for a name, shorter than what would cost a noticeable time.
	maxGlobBytes = 1024
	// maxGlobAlternatives bounds what braces expand to.
	maxGlobAlternatives = 64
)

// segmentKind says which comparison a segment needs; the cheap ones cover
// almost every pattern that people write.
type segmentKind uint8

const (
	segmentLiteral  segmentKind = iota // text equals the name
	segmentSuffix                      // "*" then text without specials
	segmentAny                         // "*"
	segmentWild                        // text is matched by matchSegment
	segmentAnyDepth                    // "**": any number of segments
)

// globSegment is one element of a pattern between two slashes.
type globSegment struct {
	kind segmentKind
	text string
}

// newGlobSegment classifies one element. It fails on an unclosed class and on a
// trailing backslash.
func newGlobSegment(text string) (globSegment, error) {
	switch {
	case text == "**":
		return globSegment{kind: segmentAnyDepth}, nil
	case strings.Trim(text, "*") == "" && text != "":
		return globSegment{kind: segmentAny}, nil
	case !strings.ContainsAny(text, `*?[\`):
		return globSegment{segmentLiteral, text}, nil
	case text[0] == '*' && !strings.ContainsAny(text[1:], `*?[\`):
		return globSegment{segmentSuffix, text[1:]}, nil
	}
	if err := checkSegment(text); err != nil {
		return globSegment{}, err
	}
	return globSegment{segmentWild, text}, nil
}

// match compares one name, which holds no slash. A segmentAnyDepth is the
// business of matchPath.
func (s globSegment) match(name string) bool {
	switch s.kind {
	case segmentLiteral:
		return s.text == name
	case segmentSuffix:
		return strings.HasSuffix(name, s.text)
	case segmentAny:
		return true
	case segmentWild:
		ok, _ := matchSegment(s.text, name)
		return ok
	default:
		return false
	}
}

// matchPath compares a slash-separated path with a pattern. A leading or
// inner "**" matches zero or more segments, a trailing one at least one. Only
// the last "**" is ever reconsidered, which is enough because every other
// segment matches exactly one name; so each pair of segment and name is
// compared at most once.
func matchPath(pattern []globSegment, path string) bool {
	p, rest, more := 0, path, path != ""
	retry, retryRest := -1, ""
	for more {
		name, after, hasAfter := strings.Cut(rest, "/")
		switch {
		case p < len(pattern) && pattern[p].kind == segmentAnyDepth:
			if p++; p == len(pattern) {
				return true
			}
			retry, retryRest = p, rest
		case p < len(pattern) && pattern[p].match(name):
			p, rest, more = p+1, after, hasAfter
		case retry >= 0:
			_, retryRest, more = strings.Cut(retryRest, "/")
			p, rest = retry, retryRest
		default:
			return false
		}
	}
	return p == len(pattern)
}

// matchSegment compares one name with one segment of a pattern: "*" any run
// of characters, "?" one character, "[a-z]" and "[!a-z]" one of a class, "\"
// quotes. It remembers the last star only, so the work is at most the product
// of the two lengths; steps counts it. The pattern has passed checkSegment.
func matchSegment(pattern, name string) (ok bool, steps int) {
	p, n := 0, 0
	starP, starN := -1, 0
	for n < len(name) {
		steps++
		if p < len(pattern) && pattern[p] == '*' {
			p++
			starP, starN = p, n
			continue
		}
		_, width := utf8.DecodeRuneInString(name[n:])
		if next, hit := matchOne(pattern[p:], name[n:n+width]); hit {
			p, n = p+next, n+width
			continue
		}
		if starP < 0 {
			return false, steps
		}
		_, width = utf8.DecodeRuneInString(name[starN:])
		starN += width
		p, n = starP, starN
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern), steps
}

// matchOne compares one character with the head of a pattern that does not
// begin with a star, and returns the length of that head.
func matchOne(pattern, char string) (next int, ok bool) {
	if pattern == "" {
		return 0, false
	}
	switch pattern[0] {
	case '?':
		return 1, true
	case '[':
		return matchClass(pattern, char)
	case '\\':
		ok := len(pattern) > 1 && strings.HasPrefix(pattern[1:], char)
		return 1 + len(char), ok
	default:
		return len(char), strings.HasPrefix(pattern, char)
	}
}

// matchClass compares one character with a class such as "[!a-z_]".
func matchClass(pattern, char string) (next int, ok bool) {
	r, _ := utf8.DecodeRuneInString(char)
	i := 1
	negated := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
	if negated {
		i++
	}
	hit := false
	for first := true; i < len(pattern); first = false {
		if pattern[i] == ']' && !first {
			return i + 1, hit != negated
		}
		lo, width := classRune(pattern[i:])
		i += width
		hi := lo
		if i+1 < len(pattern) && pattern[i] == '-' && pattern[i+1] != ']' {
			hi, width = classRune(pattern[i+1:])
			i += 1 + width
		}
		hit = hit || lo <= r && r <= hi
	}
	return i, false
}

// classRune reads one member of a class, which a backslash may quote.
func classRune(pattern string) (r rune, width int) {
	quoted := 0
	if pattern[0] == '\\' && len(pattern) > 1 {
		quoted = 1
	}
	r, width = utf8.DecodeRuneInString(pattern[quoted:])
	return r, quoted + width
}

// checkSegment refuses what can never match: an unclosed class and a
// backslash at the end.
func checkSegment(text string) error {
	for i := 0; i < len(text); {
		switch text[i] {
		case '\\':
			if i+1 == len(text) {
				return errors.New("a backslash at the end quotes nothing")
			}
			i += 2
		case '[':
			end := classEnd(text[i:])
			if end < 0 {
				return errors.New("a class is not closed with ]")
			}
			i += end
		default:
			i++
		}
	}
	return nil
}

// classEnd returns the length of the class at the head of text, -1 when it is
// not closed. It reads as matchClass does.
func classEnd(text string) int {
	i := 1
	if i < len(text) && (text[i] == '!' || text[i] == '^') {
		i++
	}
	for first := true; i < len(text); first = false {
		if text[i] == ']' && !first {
			return i + 1
		}
		_, width := classRune(text[i:])
		i += width
	}
	return -1
}

// newPath splits a pattern at its slashes.
func newPath(pattern string) ([]globSegment, error) {
	parts := strings.Split(pattern, "/")
	segments := make([]globSegment, 0, len(parts))
	for _, part := range parts {
		s, err := newGlobSegment(part)
		if err != nil {
			return nil, err
		}
		// Two "**" in a row mean the same as one.
		if s.kind == segmentAnyDepth && len(segments) > 0 && segments[len(segments)-1].kind == segmentAnyDepth {
			continue
		}
		segments = append(segments, s)
	}
	return segments, nil
}

// glob selects files by name. The zero glob selects every file.
type glob struct {
	paths    [][]globSegment
	excludes bool
}

// newGlob compiles the glob argument of a tool. A pattern without a slash is
// compared with the name of a file at any depth, one with a slash with the
// path below the searched directory. Braces list alternatives and a leading
// "!" selects what does not match.
func newGlob(pattern string) (glob, error) {
	var g glob
	pattern, g.excludes = strings.CutPrefix(pattern, "!")
	if pattern == "" {
		if g.excludes {
			return glob{}, errors.New("the pattern after ! is empty")
		}
		return glob{}, nil
	}
	if len(pattern) > maxGlobBytes {
		return glob{}, fmt.Errorf("the pattern is longer than %d bytes", maxGlobBytes)
	}
	alternatives, err := expandBraces(pattern)
	if err != nil {
		return glob{}, err
	}
	for _, a := range alternatives {
		a = strings.TrimPrefix(strings.TrimPrefix(a, "./"), "/")
		if strings.HasSuffix(a, "/") {
			a += "**"
		}
		if !strings.Contains(a, "/") {
			a = "**/" + a
		}
		path, err := newPath(a)
		if err != nil {
			return glob{}, err
		}
		g.paths = append(g.paths, path)
	}
	return g, nil
}

// match reports whether the glob selects a path below the searched directory.
func (g glob) match(path string) bool {
	if len(g.paths) == 0 {
		return true
	}
	for _, p := range g.paths {
		if matchPath(p, path) {
			return !g.excludes
		}
	}
	return g.excludes
}

// expandBraces writes "a.{b,c}" out as "a.b" and "a.c", nested braces
// included. An unbalanced brace is an ordinary character.
func expandBraces(pattern string) ([]string, error) {
	done, todo := []string(nil), []string{pattern}
	for len(todo) > 0 {
		if len(done)+len(todo) > maxGlobAlternatives {
			return nil, fmt.Errorf("the braces give more than %d alternatives", maxGlobAlternatives)
		}
		p := todo[0]
		todo = todo[1:]
		open, commas, end := findBraces(p)
		if end < 0 {
			done = append(done, p)
			continue
		}
		head, tail, from := p[:open], p[end+1:], open+1
		for _, to := range append(commas, end) {
			todo = append(todo, head+p[from:to]+tail)
			from = to + 1
		}
	}
	return done, nil
}

// findBraces finds the first brace that is closed and holds a comma. The end
// is -1 when there is none.
func findBraces(p string) (open int, commas []int, end int) {
	for open = 0; open < len(p); open++ {
		if p[open] == '\\' {
			open++
			continue
		}
		if p[open] != '{' {
			continue
		}
		if commas, end = braceBody(p, open); end > 0 && len(commas) > 0 {
			return open, commas, end
		}
	}
	return 0, nil, -1
}

// braceBody finds the commas and the end of the brace at open, -1 when it is
// not closed.
func braceBody(p string, open int) (commas []int, end int) {
	depth := 0
	for i := open; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '{':
			depth++
		case ',':
			if depth == 1 {
				commas = append(commas, i)
			}
		case '}':
			if depth--; depth == 0 {
				return commas, i
			}
		}
	}
	return nil, -1
}
