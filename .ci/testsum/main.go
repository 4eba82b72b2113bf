// Command testsum reads the output of go test -json. It prints what go test
// would print, and then the ten slowest tests, the reasons of skipped tests
// and the number of tests that ran. It fails when a test or a build failed, or
// when fewer tests ran than -min.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// event is a line of go test -json (go doc test2json).
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64 // seconds
}

// finished is a test that has ended.
type finished struct {
	name    string
	seconds float64
}

// summary is what the events said.
type summary struct {
	output                      map[string][]string // of tests that have not ended, by package and name
	slowest                     []finished
	reasons                     map[string]int // why tests were skipped
	packages                    int
	tests, subtests, skips, bad int
}

func main() {
	least := flag.Int("min", 0, "fail when fewer tests and subtests passed than `N`")
	flag.Parse()
	s := &summary{output: map[string][]string{}, reasons: map[string]int{}}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Buffer(nil, 64<<20); lines.Scan(); {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Println(lines.Text())
			continue
		}
		s.add(&e)
	}
	s.print()
	if ran := s.tests + s.subtests; lines.Err() != nil || s.bad > 0 || s.packages == 0 || ran < *least {
		fmt.Printf("FAIL: %d failures, %d tests and subtests passed, at least %d must (%v)\n", s.bad, ran, *least, lines.Err())
		os.Exit(1)
	}
}

// add counts an event and prints the output that belongs to no passed test.
func (s *summary) add(e *event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "build-output":
		fmt.Print(e.Output)
	case "output":
		if e.Test == "" && strings.TrimSpace(e.Output) != "PASS" {
			fmt.Print(e.Output)
		} else {
			s.output[key] = append(s.output[key], e.Output)
		}
	case "pass", "fail", "skip":
		s.endTest(e, s.output[key])
		delete(s.output, key)
	}
}

// endTest counts a test or a package that has ended.
func (s *summary) endTest(e *event, output []string) {
	if e.Action == "fail" {
		s.bad++
		fmt.Print(strings.Join(output, ""))
	}
	if e.Test == "" {
		s.endPackage(e)
		return
	}
	if !strings.Contains(e.Test, "/") {
		s.slowest = append(s.slowest, finished{e.Package + " " + e.Test, e.Elapsed})
	}
	switch {
	case e.Action == "skip":
		s.skips++
		s.reasons[reasonOf(output)]++
	case e.Action == "pass" && strings.Contains(e.Test, "/"):
		s.subtests++
	case e.Action == "pass":
		s.tests++
	}
}

// endPackage counts a package. One that failed may have left tests that did not
// end: what they printed says why.
func (s *summary) endPackage(e *event) {
	s.packages++
	for _, key := range slices.Sorted(maps.Keys(s.output)) {
		if e.Action == "fail" && strings.HasPrefix(key, e.Package+" ") {
			fmt.Print(strings.Join(s.output[key], ""))
			delete(s.output, key)
		}
	}
}

// reasonOf returns the last line of a skipped test that is not a marker,
// without its position.
func reasonOf(output []string) string {
	for _, line := range slices.Backward(output) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "--- ") && !strings.HasPrefix(line, "=== ") {
			_, reason, _ := strings.Cut(line, ": ")
			return cmp.Or(reason, line)
		}
	}
	return "no reason"
}

// print prints the summary.
func (s *summary) print() {
	slices.SortFunc(s.slowest, func(a, b finished) int { return cmp.Compare(b.seconds, a.seconds) })
	fmt.Println("\nslowest tests")
	for _, t := range s.slowest[:min(10, len(s.slowest))] {
		fmt.Printf("%8.1f s  %s\n", t.seconds, t.name)
	}
	fmt.Printf("passed: %d tests and %d subtests in %d packages; skipped: %d\n", s.tests, s.subtests, s.packages, s.skips)
	for _, reason := range slices.Sorted(maps.Keys(s.reasons)) {
		fmt.Printf("%5d  %s\n", s.reasons[reason], reason)
	}
}
