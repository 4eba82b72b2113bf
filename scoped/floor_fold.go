package scoped

import (
	"path/filepath"
	"runtime"
	"strings"
)

// caseBlind is true where the usual file systems ignore case.
const caseBlind = runtime.GOOS == "darwin" || runtime.GOOS == "windows" || runtime.GOOS == "ios"

// sameName compares names of files as the system does.
func sameName(a, b string) bool {
	if caseBlind {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// foldPath brings a path into the form in which rules are written: lower case,
// for a case-insensitive file system may be mounted anywhere and nobody needs
// "~/.SSH"; slashes; without the decorations by which Windows and macOS give
// one file several names.
func foldPath(p string) string {
	if runtime.GOOS == "windows" {
		p = foldWindows(p)
	}
	if caseBlind {
		p = stripPrivate(stripIgnorable(p))
	}
	return strings.ToLower(p)
}

// foldWindows drops the volume, stream names after a colon, and the dots and
// blanks at the end of an element, none of which choose another file.
// See https://learn.microsoft.com/windows/win32/fileio/naming-a-file.
func foldWindows(p string) string {
	p = filepath.ToSlash(p[len(filepath.VolumeName(p)):])
	parts := strings.Split(p, "/")
	for i, c := range parts {
		c, _, _ = strings.Cut(c, ":")
		parts[i] = strings.TrimRight(c, ". ")
	}
	return "/" + strings.TrimPrefix(strings.Join(parts, "/"), "/")
}

// stripIgnorable drops the characters that HFS+ ignores in names, by which
// ".g\u200cit" is ".git" (CVE-2014-9390).
func stripIgnorable(p string) string {
	return strings.Map(func(r rune) rune {
		if r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff {
			return -1
		}
		return r
	}, p)
}

// stripPrivate drops the folder to which /etc, /tmp and /var of macOS link.
func stripPrivate(p string) string {
	if rest, ok := strings.CutPrefix(p, "/private"); ok && strings.HasPrefix(rest, "/") {
		return rest
	}
	return p
}

// spellings returns the absolute form of a path, and the form with symbolic
// links followed when it differs; the latter comes last.
func spellings(p string) []string {
	abs, err := filepath.Abs(p)
	if err != nil {
		abs = filepath.Clean(p)
	}
	real := realPath(abs)
	if real == abs {
		return []string{abs}
	}
	return []string{abs, real}
}

// realPath follows symbolic links in the part of a path that exists.
func realPath(p string) string {
	rest := ""
	for dir := p; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return p
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}
