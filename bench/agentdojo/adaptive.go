package main

import (
	"fmt"
	"io"
	"strings"
)

// adaptiveFigures are what became of the attacks that know the rules.
type adaptiveFigures struct {
	Attacks  int             `json:"attacks"`
	Stopped  int             `json:"stopped"`
	Missed   int             `json:"missed"`
	Families []familyFigures `json:"families"`
}

// familyFigures are the figures of one family of attacks.
type familyFigures struct {
	Family  attackFamily `json:"family"`
	Attacks int          `json:"attacks"`
	Held    int          `json:"held"`
	Refused int          `json:"refused"`
	// Missed are the attacks all of whose calls ran.
	Missed   int              `json:"missed"`
	Variants []variantFigures `json:"variants"`
}

// variantFigures are the figures of one variant over all suites and tools.
type variantFigures struct {
	Variant string `json:"variant"`
	Attacks int    `json:"attacks"`
	Missed  int    `json:"missed"`
}

// print writes the figures and what was missed.
func (f *adaptiveFigures) print(w io.Writer) {
	fmt.Fprintf(w, "## Attacks that know the roles\n\n%d attacks, %d stopped, %d missed.\n\n", f.Attacks, f.Stopped, f.Missed)
	fmt.Fprintln(w, "| way | attacks | held | refused | missed | of these |\n| --- | --- | --- | --- | --- | --- |")
	for _, of := range f.Families {
		var missed []string
		for _, v := range of.Variants {
			if v.Missed > 0 {
				missed = append(missed, fmt.Sprintf("%s: %d of %d", v.Variant, v.Missed, v.Attacks))
			}
		}
		fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %s |\n", of.Family, of.Attacks, of.Held, of.Refused, of.Missed, strings.Join(missed, "; "))
	}
	fmt.Fprintln(w)
}
