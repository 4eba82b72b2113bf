package denyfloor

import (
	"path/filepath"
	"runtime"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport/sallyport/internal/text"
)

// caseBlind is true where the usual file systems ignore case.
const caseBlind = runtime.GOOS == "darwin" || runtime.GOOS == "windows" || runtime.GOOS == "ios"

// SameName compares names of files as the system does.
func SameName(a, b string) bool {
	if caseBlind {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// foldPath brings a path into the form in which rules are written: lower case,
// since a case-insensitive file system may be mounted anywhere and no tool needs
// "~/.SSH"; slashes; without the decorations by which Windows, macOS and
// folders of Linux that ignore case give one file several names.
func foldPath(p string) string {
	if runtime.GOOS == "windows" {
		p = foldWindows(p)
	}
	if caseBlind {
		p = stripPrivate(p)
	}
	if !text.IsASCII(p) {
		p = foldUnicode(p)
	}
	return foldGit(strings.ToLower(p))
}

// foldUnicode drops what file systems ignore in names and replaces letters by
// the plain ones that they compare equal to: ".g\u200cit" is ".git" on HFS+
// (CVE-2014-9390) and in a folder of ext4 with casefold, ".\u017fsh" is ".ssh".
func foldUnicode(p string) string {
	return strings.Map(func(r rune) rune {
		if isIgnorable(r) {
			return -1
		}
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			if f < utf8.RuneSelf {
				return f
			}
		}
		return r
	}, p)
}

// isIgnorable reports whether a character is one of Default_Ignorable_Code_Point
// of Unicode, as the kernel's utf8 tables have them, or one that HFS+ ignores.
func isIgnorable(r rune) bool {
	switch {
	case r < 0xad:
		return false
	case r == 0xad, r == 0x34f, r == 0x61c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xfeff, r == 0xffa0:
		return true
	}
	return r >= 0x180b && r <= 0x180f || r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e ||
		r >= 0x2060 && r <= 0x206f || r >= 0xfe00 && r <= 0xfe0f || r >= 0xfff0 && r <= 0xfff8 ||
		r >= 0x1bca0 && r <= 0x1bca3 || r >= 0x1d173 && r <= 0x1d17a || r >= 0xe0000 && r <= 0xe0fff
}

// foldGit gives .git its name where an element is another one of the same
// directory on FAT or NTFS: the short name git~1, dots and blanks at the end,
// the name of a stream (is_ntfs_dotgit in path.c of git; CVE-2019-1352).
func foldGit(p string) string {
	for at := 0; ; {
		i := strings.Index(p[at:], "git")
		if i < 0 {
			return p
		}
		begin := at + i
		at = begin + len("git")
		end := len(p)
		if n := strings.IndexByte(p[at:], '/'); n >= 0 {
			end = at + n
		}
		switch {
		case begin >= 1 && p[begin-1] == '/' && trimName(p[begin:end]) == "git~1":
			p = p[:begin] + ".git" + p[end:]
		case begin >= 2 && p[begin-2:begin] == "/." && end > at && trimName(p[begin-1:end]) == ".git":
			p = p[:at] + p[end:]
		}
	}
}

// trimName drops what Windows ignores at the end of a name.
func trimName(s string) string {
	s, _, _ = strings.Cut(s, ":")
	return strings.TrimRight(s, ". ")
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

// stripPrivate drops the folder to which /etc, /tmp and /var of macOS link.
func stripPrivate(p string) string {
	if rest, ok := strings.CutPrefix(p, "/private"); ok && strings.HasPrefix(rest, "/") {
		return rest
	}
	return p
}

// pathSpellings returns the absolute form of a path, and the form with symbolic
// links followed when it differs; the latter comes last.
func pathSpellings(p string) []string {
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
