package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// testsum is this program.
func testsum(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "testsum")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// TestFailuresAreTriedAgain reads the output of the tests of a module of its own.
func TestFailuresAreTriedAgain(t *testing.T) {
	program := testsum(t)
	const once = `if os.Remove("first") == nil { t.Error("once") }`
	for name, tt := range map[string]struct {
		body, said string
		passes     bool
	}{
		"all pass":        {``, "passed: 2 tests", true},
		"fails once":      {once, "UNSTABLE: example.com/m TestIt failed beside other tests and passed 3 times alone", true},
		"fails in a part": {`t.Run("part", func(t *testing.T) { ` + once + ` })`, "UNSTABLE: example.com/m TestIt/part failed", true},
		"needs a part before": {
			`var before bool; t.Run("before", func(t *testing.T) { before = true }); t.Run("part", func(t *testing.T) { if !before { t.Error("alone") }; ` + once + ` })`,
			"UNSTABLE: example.com/m TestIt failed", true,
		},
		"always fails":     {`_ = os.Remove; t.Error("always")`, "TestIt did not pass 3 times", false},
		"skipped later":    {`if os.Remove("first") == nil { t.Error("once") } else { t.Skip() }`, "TestIt did not pass 3 times", false},
		"panics once":      {`if os.Remove("first") == nil { panic("once") }`, "FAIL: ", false},
		"ends the program": {`if os.Remove("first") == nil { os.Exit(1) }`, "FAIL: ", false},
		"hangs once":       {`if os.Remove("first") == nil { select {} }`, "UNSTABLE: example.com/m ran out of time beside other tests and passed alone", true},
		"always hangs":     {`_ = os.Remove; for { time.Sleep(time.Hour) }`, "example.com/m failed again", false},
		"does not build":   {`x`, "FAIL: ", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if tt.body == "" {
				tt.body = "_ = os.Remove"
			}
			for file, text := range map[string]string{
				"go.mod": "module example.com/m\n\ngo 1.26\n", "first": "",
				"m_test.go": "package m\n\nimport (\n\t\"os\"\n\t\"testing\"\n\t\"time\"\n)\n\nvar _ time.Time\n\nfunc TestIt(t *testing.T) { " + tt.body + " }\n\nfunc TestOther(t *testing.T) {}\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			tests := exec.Command("go", "test", "-timeout", "2s", "-json", "./...")
			tests.Dir = dir
			events, err := tests.Output()
			if err != nil {
				events = append(events, "{\"Action\":\"failed\"}\n"...) // as Makefile does
			}
			sum := exec.Command(program, "-again", "3", "--", "go", "test", "-timeout", "2s")
			sum.Dir = dir
			sum.Stdin = strings.NewReader(string(events))
			out, err := sum.CombinedOutput()
			if (err == nil) != tt.passes || !strings.Contains(string(out), tt.said) {
				t.Errorf("%v, want %q in\n%s", err, tt.said, out)
			}
			// A command that fails, and no test that says why.
			sum = exec.Command(program, "-again", "3", "--", "true")
			sum.Stdin = strings.NewReader(`{"Action":"pass","Package":"p","Test":"TestIt"}` + "\n" + `{"Action":"pass","Package":"p"}` + "\n" + `{"Action":"failed"}` + "\n")
			if err := sum.Run(); err == nil {
				t.Error("the tests pass although their command failed")
			}
			sum = exec.Command(program)
			sum.Stdin, sum.Stdout = strings.NewReader(string(events)), io.Discard
			if err := sum.Run(); (err == nil) != (name == "all pass") {
				t.Errorf("without -again: %v", err)
			}
		})
	}
}
