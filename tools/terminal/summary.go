package terminal

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/internal/text"
)

const (
	// maxFailures bounds the failing tests in a summary, maxFailureLines and
	// maxLineChars what is kept of each.
	maxFailures     = 20
	maxFailureLines = 10
	maxLineChars    = 300
)

// testSummary is what a test run says about itself.
type testSummary struct {
	passed, failed, skipped, errors int
	// unit is what is counted: tests, or packages where no test is named.
	unit     string
	failures []testFailure
	// body is the output without what passed, whole the output as text.
	body, whole string
}

type testFailure struct {
	name  string
	lines []string
}

func (s *testSummary) formatCounts() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d passed, %d failed", s.unit, s.passed, s.failed)
	if s.errors > 0 {
		fmt.Fprintf(&b, ", %d with errors", s.errors)
	}
	if s.skipped > 0 {
		fmt.Fprintf(&b, ", %d skipped", s.skipped)
	}
	return b.String()
}

func (s *testSummary) structuredData() map[string]any {
	list := make([]any, 0, len(s.failures))
	for _, f := range s.failures {
		list = append(list, map[string]any{"name": f.name, "text": strings.Join(f.lines, "\n")})
	}
	return map[string]any{
		"unit": s.unit, "passed": s.passed, "failed": s.failed, "errors": s.errors, "skipped": s.skipped, "failures": list,
	}
}

func (s *testSummary) addFailure(name string, lines []string) {
	name = text.FirstChars(strings.TrimSpace(name), maxLineChars)
	for i := range s.failures {
		if s.failures[i].name != name {
			continue
		}
		if len(s.failures[i].lines) == 0 {
			s.failures[i].lines = firstLines(lines)
		}
		return
	}
	if len(s.failures) < maxFailures {
		s.failures = append(s.failures, testFailure{name, firstLines(lines)})
	}
}

// firstLines bounds lines and drops empty ones.
func firstLines(lines []string) []string {
	var kept []string
	for _, l := range lines {
		if strings.TrimSpace(l) == "" {
			continue
		}
		if kept = append(kept, text.FirstChars(strings.TrimRight(l, " \t\r\n"), maxLineChars)); len(kept) == maxFailureLines {
			break
		}
	}
	return kept
}

// summarizeTests reads the output of a test run. ok is false when it says nothing
// that is understood.
func summarizeTests(kind, text string) (s testSummary, ok bool) {
	if kind == kindGo {
		return summarizeGoJSON(text)
	}
	if s, ok = summarizeText(text); !ok {
		return testSummary{}, false
	}
	s.whole = text
	s.body = dropNoise(text, testNoise)
	return s, true
}

// summarizeText reads the text of a test runner: the first whose last words
// are found. The summaries are those of go test, pytest, cargo test, jest and
// vitest, TAP and node --test, mocha.
func summarizeText(text string) (testSummary, bool) {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, "\r")
	}
	for _, read := range []func([]string) (testSummary, bool){
		readPytest, readCargo, readJest, readTAP, readMocha, readGo,
	} {
		if s, ok := read(lines); ok {
			s.unit = cmp.Or(s.unit, "tests")
			return s, true
		}
	}
	return testSummary{}, false
}

// parseCount returns a count of an output; one that is no number is 0.
func parseCount(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

var (
	pytestLast   = text.Pattern(`^(?:=+ )?((?:\d+ [a-z]+(?:, )?)+) in [0-9.]+s(?: \([0-9:]+\))?(?: =+)?$`)
	wordCount    = text.Pattern(`(\d+) ([a-z]+)`)
	pytestFailed = text.Pattern(`^(?:FAILED|ERROR) (\S.*?)(?: - (.*))?$`)
)

// readPytest reads "=== 1 failed, 7 passed in 0.02s ===" and the short test
// summary above it.
func readPytest(lines []string) (s testSummary, ok bool) {
	short := false
	for _, l := range lines {
		if strings.HasPrefix(l, "===") {
			short = strings.Contains(l, "short test summary")
		}
		if m := pytestFailed().FindStringSubmatch(l); m != nil && short {
			s.addFailure(m[1], m[2:])
		}
		m := pytestLast().FindStringSubmatch(l)
		if m == nil {
			continue
		}
		ok = true
		s.addCounts(m[1])
	}
	return s, ok
}

// addCounts adds what "1 failed, 7 passed" counts.
func (s *testSummary) addCounts(list string) {
	for _, c := range wordCount().FindAllStringSubmatch(list, -1) {
		switch c[2] {
		case "passed":
			s.passed += parseCount(c[1])
		case "failed":
			s.failed += parseCount(c[1])
		case "skipped", "todo", "pending":
			s.skipped += parseCount(c[1])
		case "error", "errors":
			s.errors += parseCount(c[1])
		}
	}
}

var (
	cargoLast  = text.Pattern(`^test result: \S+ (\d+) passed; (\d+) failed; (\d+) ignored;`)
	cargoBlock = text.Pattern(`^---- (.+) (?:stdout|stderr) ----$`)
	cargoFail  = text.Pattern(`^test (.+) \.\.\. FAILED$`)
)

// readCargo adds up the results of the test binaries.
func readCargo(lines []string) (s testSummary, ok bool) {
	for i, l := range lines {
		if m := cargoLast().FindStringSubmatch(l); m != nil {
			ok = true
			s.passed, s.failed, s.skipped = s.passed+parseCount(m[1]), s.failed+parseCount(m[2]), s.skipped+parseCount(m[3])
		}
		if m := cargoFail().FindStringSubmatch(l); m != nil {
			s.addFailure(m[1], nil)
		}
		if m := cargoBlock().FindStringSubmatch(l); m != nil {
			s.addFailure(m[1], linesBefore(lines[i+1:], "----", "failures:"))
		}
	}
	return s, ok
}

// linesBefore returns the lines before the next one with one of the prefixes, at
// most as many as a failure needs.
func linesBefore(lines []string, prefixes ...string) []string {
	for i, l := range lines {
		for _, p := range prefixes {
			if strings.HasPrefix(l, p) {
				return lines[:i]
			}
		}
		if i == 4*maxFailureLines {
			return lines[:i]
		}
	}
	return lines
}

var (
	jestLast  = text.Pattern(`^\s*Tests:?\s+((?:\d+ [a-z]+[,| ]*)+)(?:\(\d+\)|\d+ total)?`)
	jestBlock = text.Pattern(`^\s*(?:●|FAIL) (.+)$`)
)

// readJest reads "Tests: 1 failed, 2 passed, 4 total" of jest and "Tests 1
// failed | 2 passed (3)" of vitest.
func readJest(lines []string) (s testSummary, ok bool) {
	for i, l := range lines {
		if m := jestLast().FindStringSubmatch(l); m != nil {
			ok = true
			s.addCounts(m[1])
		}
		if m := jestBlock().FindStringSubmatch(l); m != nil && strings.Contains(l, "●") {
			s.addFailure(m[1], linesBefore(lines[i+1:], "  ●", "PASS", "FAIL", "Test Suites:"))
		}
	}
	return s, ok
}

var (
	tapCount = text.Pattern(`^(?:#|ℹ) (pass|fail|cancelled|skipped|todo) (\d+)$`)
	tapLine  = text.Pattern(`^(ok|not ok) \d+(?: -)? ?(.*)$`)
	tapSkip  = text.Pattern(`(?i)# (?:skip|todo)`)
	specFail = text.Pattern(`^✖ (.+?)(?: \([0-9.]+ms\))?$`)
)

// readTAP reads the counts of node --test, else counts the lines of TAP.
func readTAP(lines []string) (s testSummary, ok bool) {
	counted := false
	var byLine testSummary
	for i, l := range lines {
		if m := tapCount().FindStringSubmatch(l); m != nil {
			counted = true
			switch m[1] {
			case "pass":
				s.passed = parseCount(m[2])
			case "fail", "cancelled":
				s.failed += parseCount(m[2])
			default:
				s.skipped += parseCount(m[2])
			}
		}
		if m := tapLine().FindStringSubmatch(l); m != nil {
			switch {
			case tapSkip().MatchString(m[2]):
				byLine.skipped++
			case m[1] == "ok":
				byLine.passed++
			default:
				byLine.failed++
				s.addFailure(m[2], linesBefore(lines[i+1:], "ok ", "not ok ", "# "))
			}
		}
		if m := specFail().FindStringSubmatch(l); m != nil && m[1] != "failing tests:" {
			s.addFailure(m[1], linesBefore(lines[i+1:], "✖", "✔", "ℹ"))
		}
	}
	if !counted {
		s.passed, s.failed, s.skipped = byLine.passed, byLine.failed, byLine.skipped
	}
	return s, counted || byLine.passed+byLine.failed+byLine.skipped > 0
}

var (
	mochaCount = text.Pattern(`^\s+(\d+) (passing|failing|pending)(?: \(.*\))?$`)
	mochaBlock = text.Pattern(`^\s+\d+\) (.+)$`)
)

// readMocha reads "2 passing" and the failures below it.
func readMocha(lines []string) (s testSummary, ok bool) {
	for i, l := range lines {
		if m := mochaCount().FindStringSubmatch(l); m != nil {
			ok = true
			switch m[2] {
			case "passing":
				s.passed = parseCount(m[1])
			case "failing":
				s.failed = parseCount(m[1])
			default:
				s.skipped = parseCount(m[1])
			}
		} else if m := mochaBlock().FindStringSubmatch(l); m != nil && ok {
			s.addFailure(m[1], lines[i+1:min(i+1+maxFailureLines, len(lines))])
		}
	}
	return s, ok
}
