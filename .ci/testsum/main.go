// Command testsum reads the output of go test -json. It prints what go test
// would print, and then the ten slowest tests, the reasons of skipped tests
// and the number of tests that ran. It fails when a test or a build failed, or
// when fewer tests ran than -min.
//
// With -again N and a command after the flags, as in
//
//	testsum -again 3 -- go test -race
//
// it runs the few tests that failed N times more, alone, and calls those unstable
// that pass each time: all tests beside each other ask more of a machine than its
// processors have. Of a test that failed for a part of it, the part is run, and the
// whole where the part needs what other parts did before it. A package that ran out of
// time is run once more as a whole, since some of its tests did not begin. A data race, a panic and a package that does not build are never
// tried again.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
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
	failed                      map[string][]string // names of failed tests, by package
	late                        []string            // packages that ran out of time
	broken                      bool                // something failed that is not tried again
	ended                       bool                // the command of the tests failed
}

// mostAgain is how many failed tests are tried again: more have a common cause.
const mostAgain = 3

func main() {
	least := flag.Int("min", 0, "fail when fewer tests and subtests passed than `N`")
	again := flag.Int("again", 0, "run the tests that failed `N` times more, alone, by the command after the flags")
	flag.Parse()
	s := &summary{output: map[string][]string{}, reasons: map[string]int{}, failed: map[string][]string{}}
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
	if s.ended && s.bad == 0 {
		s.bad = 1 // no test says why
	}
	if *again > 0 && s.bad > 0 && s.runAgain(*again, flag.Args()) {
		s.bad = 0
	}
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
			s.broken = s.broken || isBroken(e.Output)
			s.noteLate(e)
			fmt.Print(e.Output)
		} else {
			s.output[key] = append(s.output[key], e.Output)
			s.noteLate(e)
		}
	case "failed": // of no test: what Makefile adds when the command of the tests failed
		s.ended = true
	case "pass", "fail", "skip":
		s.endTest(e, s.output[key])
		delete(s.output, key)
	}
}

// endTest counts a test or a package that has ended.
func (s *summary) endTest(e *event, output []string) {
	if e.Action == "fail" {
		s.bad++
		s.noteFailure(e, strings.Join(output, ""))
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

// noteFailure prints what a failed test said, and keeps its name: of a test that
// failed for a part of it, that of the part.
func (s *summary) noteFailure(e *event, output string) {
	fmt.Print(output)
	names := s.failed[e.Package]
	switch {
	case isBroken(output):
		s.broken = true
	case slices.Contains(s.late, e.Package):
	case e.Test == "":
		s.broken = s.broken || len(names) == 0 // it was not a test that failed
	case !slices.ContainsFunc(names, func(part string) bool { return strings.HasPrefix(part, e.Test+"/") }):
		s.failed[e.Package] = append(names, e.Test)
	}
}

// outOfTime is what the testing package says when the time of a package is up.
const outOfTime = "panic: test timed out"

// noteLate keeps the name of a package that ran out of time.
func (s *summary) noteLate(e *event) {
	if strings.Contains(e.Output, outOfTime) && !slices.Contains(s.late, e.Package) {
		s.late = append(s.late, e.Package)
	}
}

// isBroken reports whether the output is of a fault that one run shows for good.
func isBroken(output string) bool {
	output = strings.ReplaceAll(output, outOfTime, "")
	return strings.Contains(output, "DATA RACE") || strings.Contains(output, "panic: ") || strings.Contains(output, "race detected")
}

// runAgain runs the tests that failed n times by the command, package by package,
// and reports whether all of them passed each time.
func (s *summary) runAgain(n int, command []string) bool {
	count := 0
	for _, names := range s.failed {
		count += len(names)
	}
	if count += len(s.late); s.broken || count == 0 || count > mostAgain || len(command) == 0 {
		return false
	}
	for _, pkg := range s.late {
		delete(s.failed, pkg)
		args := slices.Concat(command[1:], []string{"-count=1", pkg})
		fmt.Printf("\nagain, alone: %s %s\n", command[0], strings.Join(args, " "))
		if out, err := exec.Command(command[0], args...).CombinedOutput(); err != nil {
			fmt.Printf("%s%s failed again: %v\n", out, pkg, err)
			return false
		}
		fmt.Printf("UNSTABLE: %s ran out of time beside other tests and passed alone\n", pkg)
	}
	for _, pkg := range slices.Sorted(maps.Keys(s.failed)) {
		for _, name := range s.failed[pkg] {
			whole, _, part := strings.Cut(name, "/")
			if !runAlone(n, command, pkg, name) && (!part || !runAlone(n, command, pkg, whole)) {
				return false
			}
		}
	}
	return true
}

// runAlone runs one test n times and reports whether it passed each time.
func runAlone(n int, command []string, pkg, name string) bool {
	var pattern []string
	for _, part := range strings.Split(name, "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	args := slices.Concat(command[1:], []string{"-count=" + strconv.Itoa(n), "-parallel=1", "-v", "-run", strings.Join(pattern, "/"), pkg})
	fmt.Printf("\nagain, alone: %s %s\n", command[0], strings.Join(args, " "))
	out, err := exec.Command(command[0], args...).CombinedOutput()
	if passed := strings.Count(string(out), "--- PASS: "+name+" ("); err == nil && passed != n {
		err = errors.New("not each time")
	}
	if err != nil {
		fmt.Printf("%s%s did not pass %d times: %v\n", out, name, n, err)
		return false
	}
	fmt.Printf("UNSTABLE: %s %s failed beside other tests and passed %d times alone\n", pkg, name, n)
	return true
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
