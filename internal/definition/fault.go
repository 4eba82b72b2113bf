package definition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

// maxFaults bounds a list of faults. Who repairs a file does not read more at
// once.
const maxFaults = 100

// Fault is one thing that is wrong with a definition.
type Fault struct {
	// Pointer is the JSON pointer (RFC 6901) of the place in the definition;
	// "" is the whole of it.
	Pointer string `json:"pointer"`
	// Message says what is wrong and what was expected.
	Message string `json:"message"`
}

// String returns "pointer: message", for the whole definition the message.
func (f Fault) String() string {
	if f.Pointer == "" {
		return f.Message
	}
	return f.Pointer + ": " + f.Message
}

// Faults is everything that is wrong with a definition, sorted by place. It
// holds at most 100.
type Faults []Fault

// Error returns the faults, a line each.
func (f Faults) Error() string {
	return text.JoinLines(f, Fault.String)
}

// Add notes a fault.
func (f *Faults) Add(pointer, format string, args ...any) {
	*f = append(*f, Fault{Pointer: pointer, Message: fmt.Sprintf(format, args...)})
}

// Tidy sorts, removes repetitions and bounds the list.
func (f Faults) Tidy() Faults {
	slices.SortStableFunc(f, func(a, b Fault) int { return strings.Compare(a.Pointer, b.Pointer) })
	f = slices.Compact(f)
	return f[:min(len(f), maxFaults)]
}

// Below returns the pointer of a member.
func Below(pointer, key string) string {
	return pointer + "/" + strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

// Meant returns a hint at the name that was probably meant, "" when none is
// near.
func Meant(word string, names []string) string {
	if near := yamldoc.Suggest(word, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}
