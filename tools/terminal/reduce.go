package terminal

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

// Reducers returns the reducer of terminal, for the registry: it shortens the
// output of git status, of test runners and of package managers. It reads the
// text only and is safe for concurrent use. The header with the exit code, a
// line about something that was left out, and every line that could be an
// error stay; what it returns is never longer than what it got.
func Reducers() []sallyport.Reducer {
	return []sallyport.Reducer{{Tool: "terminal", Reduce: reduceTerminal}}
}

// reduceTerminal chooses by the command.
func reduceTerminal(r sallyport.Result, rc sallyport.ReducerContext) sallyport.Result {
	var in commandInput
	if !r.OK || json.Unmarshal(rc.Args, &in) != nil {
		return r
	}
	header, body, ok := strings.Cut(r.Value, "\n\n")
	if !ok || !strings.HasPrefix(header, "exit code: ") {
		return r
	}
	short := reduceOutput(in.Command, header, body)
	if len(short) < len(body) {
		r.Value = header + "\n\n" + short
	}
	return r
}

// reduceOutput returns the shorter output of a command; it may return it as
// it is.
func reduceOutput(command, header, body string) string {
	switch classOfCommand(command) {
	case classStatus:
		if !hasExitedZero(header) {
			return body
		}
		return reduceStatus(body)
	case classTests:
		return reduceTests(header, body)
	case classInstall:
		return dropNoise(body, installNoise)
	default:
		return body
	}
}

// leftOut is the line that terminal puts in the place of the middle of a long
// output.
var leftOut = text.Pattern(`(?m)^\[\d+ bytes left out`)

// reduceTests leaves out what passed and puts the counts in front, unless
// they would be those of a part, or say that all is well of a run that failed
// for another reason than a test.
func reduceTests(header, body string) string {
	short := dropNoise(body, testNoise)
	s, ok := summarizeText(body)
	if !ok || leftOut().MatchString(body) || !hasExitedZero(header) && s.failed+s.errors == 0 {
		return short
	}
	return s.formatCounts() + "\n" + short
}

func hasExitedZero(header string) bool {
	return header == "exit code: 0" || strings.HasPrefix(header, "exit code: 0\n")
}

// outputClass is what a command does, as far as its output goes.
type outputClass string

const (
	classOther   outputClass = ""
	classStatus  outputClass = "git-status"
	classTests   outputClass = "test-run"
	classInstall outputClass = "install-output"
)

// maxJudged bounds a command that is judged, in bytes: people do not type a longer
// one of the kinds that are known.
const maxJudged = 2000

// classOfCommand returns the class of a command line. It understands a chain of
// plain commands with "&&", and filters behind a pipe that only choose lines;
// anything else that a shell would interpret is classOther.
func classOfCommand(command string) outputClass {
	found := classOther
	if len(command) > maxJudged {
		return found
	}
	for _, part := range strings.Split(command, "&&") {
		one, ok := classOfPlain(part)
		switch {
		case !ok:
			return classOther
		case one == classOther: // cd
		case found == classOther, found == one && one != classStatus:
			found = one
		case found == classStatus || one == classStatus:
			return classOther // Two outputs, of which one is no list of files.
		default:
			// Test runners also say what package managers do.
			found = classTests
		}
	}
	return found
}

// classOfPlain returns the class of one command of a chain; ok is false for one
// that says what is not understood.
func classOfPlain(part string) (c outputClass, ok bool) {
	part, piped := withoutFilters(part)
	part = strings.TrimSuffix(strings.TrimSpace(part), "2>&1")
	if strings.ContainsAny(part, ";|&<>`$(){}\n\\") {
		return classOther, false
	}
	words := strings.Fields(part)
	for len(words) > 0 && (words[0] == "sudo" || assignment().MatchString(words[0])) {
		words = words[1:]
	}
	if len(words) == 0 {
		return classOther, false
	}
	if words[0] == "cd" {
		return classOther, true
	}
	c = classOfWords(words)
	if c == classOther || c == classStatus && piped {
		return classOther, false
	}
	return c, true
}

var (
	assignment = text.Pattern(`^[A-Za-z_][A-Za-z0-9_]*=\S*$`)
	lineFilter = text.Pattern(`\|\s*(?:tail|head|cat)(?:\s+-?[a-z]*\d*)*\s*$`)
)

// withoutFilters takes off what only chooses lines.
func withoutFilters(part string) (rest string, piped bool) {
	for {
		at := lineFilter().FindStringIndex(part)
		if at == nil {
			return part, piped
		}
		part, piped = part[:at[0]], true
	}
}

// classOfWords returns the class of the words of one command.
func classOfWords(w []string) outputClass {
	name := w[0][strings.LastIndexByte(w[0], '/')+1:]
	rest := slices.DeleteFunc(slices.Clone(w[1:]), func(a string) bool { return strings.HasPrefix(a, "-") })
	verb := ""
	if len(rest) > 0 {
		verb = rest[0]
	}
	is := func(list ...string) bool { return slices.Contains(list, verb) }
	switch name {
	case "git":
		if verb == "status" && !slices.ContainsFunc(w, func(a string) bool { return a == "-C" || a == "-c" || a == "-z" }) {
			return classStatus
		}
	case "go":
		return testOrInstallClass(is("test"), is("get", "install", "mod", "build"))
	case "cargo":
		return testOrInstallClass(is("test", "nextest"), is("add", "install", "build", "check", "clippy", "fetch", "update"))
	case "npm", "pnpm", "yarn", "bun":
		runsTest := is("run") && len(rest) > 1 && strings.HasPrefix(rest[1], "test")
		return testOrInstallClass(is("test", "t") || runsTest, is("install", "i", "ci", "add", "update"))
	case "npx":
		return testOrInstallClass(is("jest", "vitest", "mocha"), false)
	case "pytest", "py.test", "jest", "vitest", "mocha", "tox":
		return classTests
	case "python", "python3":
		if len(w) > 2 && w[1] == "-m" {
			return classOfWords(w[2:])
		}
	case "node":
		return testOrInstallClass(slices.Contains(w, "--test"), false)
	case "make":
		return testOrInstallClass(is("test", "check"), false)
	case "pip", "pip3":
		return testOrInstallClass(false, is("install", "uninstall"))
	case "uv", "poetry":
		return testOrInstallClass(false, is("pip", "add", "sync", "install"))
	case "apt", "apt-get":
		return testOrInstallClass(false, is("install", "update", "upgrade", "remove"))
	}
	return classOther
}

// testOrInstallClass returns the class of the condition that holds.
func testOrInstallClass(tests, install bool) outputClass {
	switch {
	case tests:
		return classTests
	case install:
		return classInstall
	default:
		return classOther
	}
}
