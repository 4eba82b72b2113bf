package yamldoc

import (
	"fmt"
	"sort"
	"strings"
)

const (
	// MaxSnippets is how many faults show their source line; a long list
	// reads better without.
	MaxSnippets = 10
	// MaxFaults bounds the faults that are kept of one load, so that a file
	// of the wrong kind does not give a hundred thousand lines.
	MaxFaults = 1000
	// snippetRunes is the width of a shown source line.
	snippetRunes = 100
)

// Fault is one thing that is wrong in a text. It is an error of its
// own; [Faults] collects them. The zero Fault means nothing.
type Fault struct {
	// File is the name of the file as the user gave it.
	File string
	// Line and Column count from 1, Column in Unicode code points. Both are
	// 0 when the file could not be read at all.
	Line, Column int
	// Key is the dotted key that the fault is about; it may be empty.
	Key string
	// Message says what is wrong and what was expected, without position.
	Message string
	// Snippet is the source line and a caret below the column, two lines
	// without a final line feed. Values that may be secret are left out. It
	// may be empty, and is behind the first faults of a load.
	Snippet string
	// Err is the cause, nil when there is none.
	Err error
}

// Place returns file:line:column, or the file alone when there is no line.
func (f Fault) Place() string {
	if f.Line == 0 {
		return f.File
	}
	return fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
}

// Error returns "file:line:column: message".
func (f Fault) Error() string { return f.Place() + ": " + f.Message }

// Unwrap returns the cause, nil when there is none.
func (f Fault) Unwrap() error { return f.Err }

// Faults is everything that is wrong in the texts of one load, in the order of the
// texts and lines.
type Faults []Fault

// Error returns one line per fault; the first ones are followed by their
// source line and a caret.
func (fs Faults) Error() string {
	var b strings.Builder
	for i, f := range fs {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(f.Error())
		if i < MaxSnippets && f.Snippet != "" {
			b.WriteByte('\n')
			b.WriteString(f.Snippet)
		}
	}
	return b.String()
}

// Unwrap returns the faults one by one, so that errors.Is finds a cause.
func (fs Faults) Unwrap() []error {
	errs := make([]error, len(fs))
	for i := range fs {
		errs[i] = fs[i]
	}
	return errs
}

// Collector gathers faults of several texts. The zero value is empty.
type Collector struct {
	faults []rankedFault
	more   bool
}

// rankedFault is a fault with its text. The snippet is made at the end, when it is
// known which values of a line must not show.
type rankedFault struct {
	Fault
	file *Source
}

// Add adds a fault. Only the first MaxFaults are kept.
func (c *Collector) Add(f *Source, fault Fault) {
	if len(c.faults) >= MaxFaults {
		c.more = true
		return
	}
	c.faults = append(c.faults, rankedFault{fault, f})
}

// IsFull reports whether faults are no longer kept.
func (c *Collector) IsFull() bool { return c.more }

// Join returns the faults in order, or nil when there are none.
func (c *Collector) Join() error {
	if len(c.faults) == 0 {
		return nil
	}
	sort.SliceStable(c.faults, func(i, j int) bool {
		a, b := &c.faults[i], &c.faults[j]
		switch {
		case a.file.Rank != b.file.Rank:
			return a.file.Rank < b.file.Rank
		case a.Line != b.Line:
			return a.Line < b.Line
		default:
			return a.Column < b.Column
		}
	})
	fs := make(Faults, 0, len(c.faults)+1)
	for i, f := range c.faults {
		// The others are not shown, and a line may be a whole file.
		if i < MaxSnippets {
			f.Snippet = f.file.sourceSnippet(Position{f.Line, f.Column})
		}
		fs = append(fs, f.Fault)
	}
	if c.more {
		last := fs[len(fs)-1]
		last.Message, last.Snippet = fmt.Sprintf("only the first %d faults are shown", MaxFaults), ""
		fs = append(fs, last)
	}
	return fs
}
