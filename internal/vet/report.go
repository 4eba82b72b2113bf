package vet

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Kind is what an effect touches.
type Kind string

// The kinds of effects.
const (
	KindFile    Kind = "file"
	KindNetwork Kind = "network"
	KindProcess Kind = "process"
	KindEnv     Kind = "environment"
	KindSyscall Kind = "system call"
	KindUnsafe  Kind = "unsafe memory"
	KindPlugin  Kind = "plugin"
	KindLink    Kind = "linkname"
	KindCgo     Kind = "cgo"
	// KindAccessor is an accessor that is not one of the call.
	KindAccessor Kind = "accessor"
)

// Finding is an effect that a tool has beside its accessors, or a place where the
// analysis could not go on.
type Finding struct {
	// Kind is the kind of the effect, empty for a place that is not shown.
	Kind Kind `json:"kind,omitempty"`
	// What names the function, the variable or the type of the effect, or says
	// why a place is not shown.
	What string `json:"what"`
	// At is where that stands, as file:line:column; empty when it has no position.
	At string `json:"at,omitempty"`
	// Chain names the functions from Run to the one that has the effect.
	Chain []string `json:"chain"`
}

// ToolReport is what was found of one tool.
type ToolReport struct {
	// Tool is the name of the tool, or of its function when the name is made at
	// run time.
	Tool string `json:"tool"`
	// At is where its Run function is given, as file:line:column.
	At string `json:"at"`
	// Findings lists its effects beside its accessors.
	Findings []Finding `json:"findings"`
	// NotShown lists where its calls could not be followed.
	NotShown []Finding `json:"notShown"`
}

// Report is what was found of a program.
type Report struct {
	// Tools lists the tools by name and position.
	Tools []ToolReport `json:"tools"`
	// Unknown lists the tools whose Run function is not known before it runs.
	Unknown []Finding `json:"unknown"`
}

// Findings counts the findings of all tools.
func (r *Report) Findings() int {
	n := 0
	for i := range r.Tools {
		n += len(r.Tools[i].Findings)
	}
	return n
}

// sortAll puts everything in an order that does not change from run to run.
func (r *Report) sortAll() {
	slices.SortFunc(r.Tools, func(a, b ToolReport) int { return cmp.Or(cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.At, b.At)) })
	for i := range r.Tools {
		sortFindings(r.Tools[i].Findings)
		sortFindings(r.Tools[i].NotShown)
	}
	sortFindings(r.Unknown)
}

func sortFindings(f []Finding) {
	slices.SortFunc(f, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.What, b.What), cmp.Compare(a.At, b.At))
	})
}

// WriteText prints the report for people: findings first, then what is not shown.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for i := range r.Tools {
		t := &r.Tools[i]
		state := fmt.Sprintf("%d findings, %d places not shown", len(t.Findings), len(t.NotShown))
		fmt.Fprintf(&b, "%s: tool %s: %s\n", t.At, t.Tool, state)
		for _, f := range t.Findings {
			fmt.Fprintf(&b, "  %s: %s: %s\n    %s\n", f.At, f.Kind, f.What, strings.Join(f.Chain, " -> "))
		}
		for _, f := range t.NotShown {
			fmt.Fprintf(&b, "  %s: not shown: %s\n    %s\n", f.At, f.What, strings.Join(f.Chain, " -> "))
		}
	}
	for _, f := range r.Unknown {
		fmt.Fprintf(&b, "%s: not shown: %s\n", f.At, f.What)
	}
	fmt.Fprintf(&b, "%d tools, %d findings\n", len(r.Tools), r.Findings())
	_, err := io.WriteString(w, b.String())
	return err
}
