package terminal

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSummaries reads outputs of real programs.
func TestSummaries(t *testing.T) {
	t.Parallel()
	type counts struct {
		unit                            string
		passed, failed, skipped, errors int
		failures                        []string
		first                           string // line of the first failure
	}
	for _, tt := range []struct {
		file, kind string
		want       counts
	}{
		{"gotest.json", kindGo, counts{
			"tests", 5, 2, 1, 1,
			[]string{"example.com/demo/a.TestWrong/inner", "example.com/demo/a.TestPanics", "example.com/demo/b"},
			"    a_test.go:14: Add(1, 2) = 3, want 4",
		}},
		{"gotest-fail.json", kindGo, counts{
			"tests", 5, 1, 1, 0, []string{"example.com/demo/a.TestWrong/inner"}, "    a_test.go:14: Add(1, 2) = 3, want 4",
		}},
		{"gotest-ok.json", kindGo, counts{unit: "tests", passed: 2}},
		{"gotest.txt", kindMake, counts{"packages", 1, 2, 0, 0, []string{"TestWrong/inner", "TestPanics"}, "        a_test.go:14: Add(1, 2) = 3, want 4"}},
		{"gotest-ok-v.txt", kindMake, counts{unit: "tests", passed: 2}},
		{"pytest.txt", kindPython, counts{
			"tests", 7, 1, 1, 1, []string{"test_a.py::test_err", "test_a.py::test_fails"}, "",
		}},
		{"pytest-v.txt", kindPython, counts{
			"tests", 7, 1, 1, 1, []string{"test_a.py::test_fails", "test_a.py::test_err"}, "AssertionError: sum",
		}},
		{"pytest-q.txt", kindPython, counts{
			"tests", 7, 1, 1, 1, []string{"test_a.py::test_fails", "test_a.py::test_err"}, "AssertionError: sum",
		}},
		{"pytest-ok.txt", kindPython, counts{unit: "tests", passed: 1}},
		{"cargo-test.txt", kindCargo, counts{
			"tests", 1, 1, 1, 0, []string{"tests::fails"}, "thread 'tests::fails' (17472) panicked at src/lib.rs:9:18:",
		}},
		{"cargo-test-ok.txt", kindCargo, counts{unit: "tests", passed: 2, skipped: 1}},
		{"jest.txt", kindNPM, counts{"tests", 2, 1, 1, 0, []string{"fails"}, "    expect(received).toBe(expected) // Object.is equality"}},
		{"jest-ok.txt", kindNPM, counts{unit: "tests", passed: 1}},
		{"mocha.txt", kindNPM, counts{"tests", 1, 1, 1, 0, []string{"sum"}, "       fails:"}},
		{"node-test.txt", kindNPM, counts{"tests", 1, 1, 1, 0, []string{"fails"}, "  ---"}},
		{"node-spec.txt", kindNPM, counts{"tests", 1, 1, 1, 0, []string{"fails"}, "  AssertionError [ERR_ASSERTION]: 2 == 3"}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			s, ok := summarizeTests(tt.kind, recorded(t, tt.file))
			if !ok {
				t.Fatal("not understood")
			}
			got := counts{unit: s.unit, passed: s.passed, failed: s.failed, skipped: s.skipped, errors: s.errors}
			for _, f := range s.failures {
				got.failures = append(got.failures, f.name)
			}
			if len(s.failures) > 0 && len(s.failures[0].lines) > 0 {
				got.first = s.failures[0].lines[0]
			}
			if d := cmp.Diff(tt.want, got, cmp.AllowUnexported(counts{})); d != "" {
				t.Errorf("summary (-want +got):\n%s", d)
			}
		})
	}
}

// TestSummariesOfVitest is for an output that was not recorded here; its form
// is that of vitest's default reporter.
func TestSummariesOfVitest(t *testing.T) {
	t.Parallel()
	s, ok := summarizeText(" Test Files  1 failed | 1 passed (2)\n      Tests  1 failed | 3 passed | 2 skipped (6)\n   Start at  10:00:00\n")
	if !ok || s.passed != 3 || s.failed != 1 || s.skipped != 2 {
		t.Errorf("summary = %+v, %v", s, ok)
	}
}

func TestOutputsWithoutASummary(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "hello\nworld\n", recorded(t, "npm.txt"), recorded(t, "git-dirty.txt"), "1 passed the door\n"} {
		if s, ok := summarizeText(text); ok {
			t.Errorf("summarizeText(%q) = %+v, want nothing", text, s)
		}
		if s, ok := summarizeGoJSON(text); ok {
			t.Errorf("summarizeGoJSON(%q) = %+v, want nothing", text, s)
		}
	}
}

// TestGoWithoutAnEnd is a run that was killed: what had begun did not pass.
func TestGoWithoutAnEnd(t *testing.T) {
	t.Parallel()
	s, ok := summarizeGoJSON(`{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"half"}
`)
	if !ok || s.failed != 1 || s.passed != 0 || !strings.Contains(s.body, "--- FAIL: TestA (p)\nhalf") {
		t.Errorf("summary = %+v, %v, want a failure", s, ok)
	}
}

// TestGoBody keeps what failed and not what passed.
func TestGoBody(t *testing.T) {
	t.Parallel()
	s, _ := summarizeGoJSON(recorded(t, "gotest.json"))
	for _, want := range []string{"b/b.go:3:26: cannot use 1", "want 4", "panic: runtime error", "example.com/demo/b [build failed]"} {
		if !strings.Contains(s.body, want) {
			t.Errorf("body = %q, want it to contain %q", s.body, want)
		}
	}
	for _, not := range []string{"hello from c", "=== RUN", `{"Time"`} {
		if strings.Contains(s.body, not) {
			t.Errorf("body contains %q", not)
		}
	}
	if !strings.Contains(s.whole, "hello from c") {
		t.Error("the whole output lacks what a passing test printed")
	}
}

// hostileGo is an output that would take long if tests were looked for in
// each other.
func hostileGo(n int) string {
	var b strings.Builder
	for i := range n {
		e, err := json.Marshal(map[string]string{"Action": "fail", "Package": "p", "Test": fmt.Sprintf("T%d/%s", i/2, strings.Repeat("/", i%2*100))})
		if err != nil {
			panic(err)
		}
		b.Write(e)
		b.WriteByte('\n')
	}
	b.WriteString(`{"Action":"fail","Package":"p","Test":"` + strings.Repeat("a/", 1<<20) + `"}` + "\n")
	return b.String()
}

func TestSummaryIsBounded(t *testing.T) {
	t.Parallel()
	s, ok := summarizeGoJSON(hostileGo(10_000))
	if !ok || len(s.failures) != maxFailures {
		t.Errorf("%d failures, %v, want %d", len(s.failures), ok, maxFailures)
	}
	for _, f := range s.failures {
		if len(f.name) > 4*maxLineChars || len(f.lines) > maxFailureLines {
			t.Errorf("failure %q with %d lines", f.name, len(f.lines))
		}
	}
}

// BenchmarkSummaries reads outputs as long as are kept.
func BenchmarkSummaries(b *testing.B) {
	for _, file := range []string{"gotest-v.txt", "pytest-v.txt", "cargo-test.txt", "jest.txt", "gotest.json"} {
		one := recorded(b, file)
		text := strings.Repeat(one, maxKept/len(one))
		kind := kindMake
		if strings.HasSuffix(file, ".json") {
			kind = kindGo
		}
		b.Run(file, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, ok := summarizeTests(kind, text); !ok {
					b.Fatal("not understood")
				}
			}
		})
	}
	text := hostileGo(200_000)
	b.Run("hostile", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			_, _ = summarizeTests(kindGo, text)
		}
	})
}
