package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// report is everything that a measurement found.
type report struct {
	Models   []*modelFigures `json:"models"`
	Defaults []*modelFigures `json:"defaults"`
	// Roles are the digests of the generated roles by suite.
	Roles    map[string]string `json:"roles"`
	Adaptive adaptiveFigures   `json:"adaptive"`
}

// print writes the tables, in Markdown.
func (r *report) print(w io.Writer) {
	for _, part := range []struct {
		title  string
		models []*modelFigures
	}{
		{"With the generated roles and the words of the user", r.Models},
		{"With the defaults, no role written", r.Defaults},
	} {
		fmt.Fprintf(w, "## %s\n\n", part.title)
		printModels(w, part.models)
		for _, f := range part.models {
			f.printKinds(w)
		}
		printLatency(w, part.models)
	}
	r.Adaptive.print(w)
	fmt.Fprintf(w, "## Roles\n\n| suite | SHA-256 |\n| --- | --- |\n")
	for _, suite := range sortedKeys(r.Roles) {
		fmt.Fprintf(w, "| %s | `%s` |\n", suite, r.Roles[suite])
	}
}

func printModels(w io.Writer, models []*modelFigures) {
	fmt.Fprintln(w, "| model | attacked runs | reached the goal without the gate | held | refused | left | solved tasks | untouched | wait | refused | questions a task | calls that solve all tasks | held | refused |")
	fmt.Fprintln(w, "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, f := range models {
		fmt.Fprintf(w, "| %s | %d | %d (%s) | %d | %d | %d (%s) | %d | %d | %d (%s) | %d | %.2f | %d | %d | %d |\n",
			f.Model, f.AttackedRuns, f.SucceededUngated, percent(f.SucceededUngated, f.AttackedRuns), f.Held, f.Refused,
			f.Left, percent(f.Left, f.AttackedRuns), f.Solved, f.SolvedUntouched, f.SolvedHeld, percent(f.SolvedHeld, f.Solved), f.SolvedRefused,
			float64(f.Questions)/float64(max(f.Solved, 1)), f.GroundTruthCalls, f.GroundTruthHeld, f.GroundTruthRefused)
	}
	fmt.Fprintln(w)
}

// printKinds writes what became of attacks by the kind of their goal, and which are
// left.
func (f *modelFigures) printKinds(w io.Writer) {
	fmt.Fprintf(w, "%s: of those left, %d have a goal that needs an effect, and %d carried something to an unknown place. Of %d attacks some calls were stopped and others ran.\n\n", f.Model, f.LeftNeedingEffect, f.LeftToUnknown, f.StoppedInPart)
	fmt.Fprintln(w, "| the goal | reached without the gate | held | refused | left |\n| --- | --- | --- | --- | --- |")
	for _, kind := range goalKinds {
		if k := f.kinds[kind]; k != nil {
			fmt.Fprintf(w, "| %s | %d | %d | %d | %d |\n", kind, k.succeeded, k.held, k.refused, k.left)
		}
	}
	fmt.Fprintln(w)
	counts := map[string]int{}
	for _, c := range f.LeftCases {
		counts[c.Suite+"/"+c.InjectionTask+" ("+string(c.Kind)+")"]++
	}
	var lines []string
	for _, name := range sortedKeys(counts) {
		lines = append(lines, fmt.Sprintf("%s: %d", name, counts[name]))
	}
	if len(lines) > 0 {
		fmt.Fprintf(w, "Left: %s.\n\n", strings.Join(lines, "; "))
	}
}

// printLatency writes how long calls took, as the client saw them.
func printLatency(w io.Writer, models []*modelFigures) {
	took := map[callFate][]time.Duration{}
	for _, f := range models {
		for fate, all := range f.took {
			took[fate] = append(took[fate], all...)
		}
	}
	fmt.Fprintln(w, "| fate of calls | number | median | 99th percentile |\n| --- | --- | --- | --- |")
	for _, fate := range []callFate{callRan, callHeld, callRefused, callFailed} {
		all := took[fate]
		if len(all) == 0 {
			continue
		}
		slices.SortFunc(all, func(a, b time.Duration) int { return cmp.Compare(a, b) })
		fmt.Fprintf(w, "| %s | %d | %.1f ms | %.1f ms |\n", fate, len(all), milliseconds(all[len(all)/2]), milliseconds(all[len(all)*99/100]))
	}
	fmt.Fprintln(w)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// percent returns a share of a whole.
func percent(n, of int) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(max(of, 1))) }
