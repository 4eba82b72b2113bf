package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/mod/modfile"

	"github.com/sallyport/sallyport/internal/text"
)

// usualName is how the program is started where nothing else is known.
const usualName = "sallyport"

// NameProgram returns how a user starts this program again, as a shell reads it: its name
// where that finds it, the command of `go run` in the folder of its module, or else its path.
// It was started as arg0. A name that a terminal does not show as it is stands in no hint: its
// file may have been written by another party.
func NameProgram(arg0 string) string {
	exe, err := os.Executable()
	if err != nil {
		return printableName(text.ShellWord(baseName(arg0)))
	}
	source := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		source = info.Path
	}
	dir, _ := os.Getwd() // without a folder it is not that of the module
	return printableName(nameProgram(arg0, exe, source, dir))
}

// printableName returns a name that a terminal shows as it is, and the usual one for any other.
func printableName(name string) string {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return usualName
	}
	return name
}

// nameProgram names the program in a file, which was built from a package and started as arg0
// in a folder.
func nameProgram(arg0, exe, source, dir string) string {
	name := baseName(arg0)
	if found, err := exec.LookPath(name); err == nil && isSameFile(found, exe) {
		return text.ShellWord(name)
	}
	if IsTemporary(exe) {
		if below, ok := findPackage(dir, source); ok {
			return "go run " + text.ShellWord(below)
		}
	}
	return text.ShellWord(exe)
}

// findPackage returns the folder of a package in the folder of its module, as ./cmd/name.
func findPackage(dir, source string) (below string, ok bool) {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return "", false
	}
	rest, ok := strings.CutPrefix(source, modfile.ModulePath(text))
	if !ok || rest != "" && rest[0] != '/' || len(rest) == len(source) {
		return "", false
	}
	info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(rest)))
	return "." + rest, err == nil && info.IsDir()
}

func baseName(path string) string { return strings.TrimSuffix(filepath.Base(path), ".exe") }

func isSameFile(a, b string) bool {
	first, err := os.Stat(a)
	second, errSecond := os.Stat(b)
	return err == nil && errSecond == nil && os.SameFile(first, second)
}
