package terminal

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/text"
)

const (
	// maxGoTests bounds the tests that are kept apart; a run of more is not
	// understood.
	maxGoTests = 200_000
	// maxGoName bounds the name of a test, so that the tests around it are
	// found in little time whatever it is.
	maxGoName = 2000
)

// goEvent is one line of "go test -json" (go doc test2json). Build errors
// came in Go 1.24.
type goEvent struct {
	Action, Package, Test, Output string
	ImportPath, FailedBuild       string
}

// goTest is one test, or what a package says outside of its tests.
type goTest struct {
	pkg, name string
	action    string // pass, fail, skip; empty while it runs
	parent    bool   // it has tests within
	broken    bool   // one of them failed
	output    []string
}

type goRun struct {
	tests []*goTest
	index map[[2]string]*goTest
	// builds is what the compiler said, and what is no event at all.
	builds []string
	whole  strings.Builder
}

func summarizeGoJSON(text string) (testSummary, bool) {
	run := goRun{index: map[[2]string]*goTest{}}
	events := 0
	for line := range strings.Lines(text) {
		var e goEvent
		if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
			run.whole.WriteString(line)
			run.builds = append(run.builds, line)
			continue
		}
		if events++; len(run.tests) > maxGoTests {
			return testSummary{}, false
		}
		run.addEvent(&e)
	}
	if events == 0 {
		return testSummary{}, false
	}
	return run.summarizeRun(), true
}

func (r *goRun) addEvent(e *goEvent) {
	r.whole.WriteString(e.Output)
	if e.Action == "build-output" {
		r.builds = append(r.builds, e.Output)
		return
	}
	if e.Package == "" {
		return // build-fail; the package fails as well.
	}
	t := r.findOrAddTest(e.Package, text.FirstBytes(e.Test, maxGoName))
	switch e.Action {
	case "output":
		t.output = append(t.output, e.Output)
	case "pass", "fail", "skip":
		t.action = e.Action
	}
}

func (r *goRun) findOrAddTest(pkg, name string) *goTest {
	if t := r.index[[2]string{pkg, name}]; t != nil {
		return t
	}
	t := &goTest{pkg: pkg, name: name}
	r.tests = append(r.tests, t)
	r.index[[2]string{pkg, name}] = t
	r.visitParents(t, func(p *goTest) { p.parent = true })
	return t
}

// visitParents calls a function for each test that a test is within.
func (r *goRun) visitParents(t *goTest, do func(*goTest)) {
	for i := strings.LastIndexByte(t.name, '/'); i > 0; i = strings.LastIndexByte(t.name[:i], '/') {
		if p := r.index[[2]string{t.pkg, t.name[:i]}]; p != nil {
			do(p)
		}
	}
}

// hasFailed reports whether a test failed; one that never ended did.
func (t *goTest) hasFailed() bool { return t.name != "" && (t.action == "fail" || t.action == "") }

// summarizeRun counts the innermost tests and keeps what the failing ones said.
func (r *goRun) summarizeRun() testSummary {
	s := testSummary{unit: "tests", whole: r.whole.String()}
	var body strings.Builder
	for _, l := range r.builds {
		body.WriteString(l)
	}
	failing := map[string]bool{} // packages with a failing test
	for _, t := range r.tests {
		if t.hasFailed() {
			failing[t.pkg] = true
			r.visitParents(t, func(p *goTest) { p.broken = true })
		}
	}
	for _, t := range r.tests {
		if t.name != "" {
			s.countTest(t, &body)
		}
	}
	for _, t := range r.tests {
		if t.name != "" || t.action != "fail" {
			continue
		}
		said := t.outputLines()
		body.WriteString(strings.Join(said, ""))
		if !failing[t.pkg] {
			s.errors++ // It was not built, or ended outside of a test.
			s.addFailure(t.pkg, said)
		}
	}
	s.body = body.String()
	return s
}

// countTest adds one test. One that has tests within counts only when it failed
// by itself.
func (s *testSummary) countTest(t *goTest, body *strings.Builder) {
	said := t.outputLines()
	if t.hasFailed() && (len(said) > 0 || !t.parent) {
		body.WriteString("--- FAIL: " + t.name + " (" + t.pkg + ")\n" + strings.Join(said, ""))
	}
	switch {
	case t.parent && (!t.hasFailed() || t.broken):
	case t.hasFailed():
		s.failed++
		s.addFailure(t.pkg+"."+t.name, said)
	case t.action == "pass":
		s.passed++
	default:
		s.skipped++
	}
}

var goMarks = text.Pattern(`^\s*(?:=== (?:RUN|PAUSE|CONT|NAME) |--- (?:FAIL|PASS|SKIP): )`)

// outputLines returns the output of a test without the marks around it.
func (t *goTest) outputLines() []string {
	return slices.DeleteFunc(slices.Clone(t.output), goMarks().MatchString)
}

var (
	goResult  = text.Pattern(`^\s*--- (PASS|FAIL|SKIP): (\S+) \([0-9.]+s\)$`)
	goPackage = text.Pattern(`^(ok  |FAIL)\t(\S+)(?:\t|\s|$)`)
)

// readGo reads the text of "go test". Without -v only failing tests are
// named, so that packages are counted. Of a test that has tests within, those
// count.
func readGo(lines []string) (s testSummary, ok bool) {
	packages := testSummary{unit: "packages"}
	parents := goParents(lines)
	for i, l := range lines {
		if m := goPackage().FindStringSubmatch(l); m != nil {
			ok = true
			if m[1] == "FAIL" {
				packages.failed++
			} else {
				packages.passed++
			}
		}
		m := goResult().FindStringSubmatch(l)
		if m == nil || parents[m[2]] {
			continue
		}
		switch m[1] {
		case "PASS":
			s.passed++
		case "SKIP":
			s.skipped++
		default:
			s.failed++
			s.addFailure(m[2], linesBefore(lines[i+1:], "---", "===", "FAIL", "ok  \t"))
		}
	}
	if s.passed == 0 && s.skipped == 0 {
		packages.failures = s.failures
		return packages, ok
	}
	return s, ok
}

// goParents returns the tests that have tests within.
func goParents(lines []string) map[string]bool {
	parents := map[string]bool{}
	for _, l := range lines {
		m := goResult().FindStringSubmatch(l)
		if m == nil || len(m[2]) > maxGoName {
			continue
		}
		for i := strings.LastIndexByte(m[2], '/'); i > 0; i = strings.LastIndexByte(m[2][:i], '/') {
			parents[m[2][:i]] = true
		}
	}
	return parents
}
