package schema

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// What a list of faults may hold. A model repairs fifty faults in one turn as
// badly as five hundred, and every text ends up in its context.
const (
	maxFaults      = 50
	maxPointerSize = 256
	maxQuoted      = 64
	// maxFindings is how many are sorted to choose those that are listed.
	maxFindings = 2000
)

// Fault is one thing that is wrong with a value.
type Fault struct {
	// Pointer is the JSON pointer (RFC 6901) of the place in the value; ""
	// is the whole value. One of more than 256 bytes is cut.
	Pointer string `json:"pointer"`
	// Message says what was expected, in words that follow the pointer. It
	// never repeats the value that was found.
	Message string `json:"message"`
}

// String returns "pointer: message", for the whole value the message alone.
func (f Fault) String() string { return f.textFor("") }

func (f Fault) textFor(whole string) string {
	if f.Pointer != "" {
		whole = f.Pointer
	}
	if whole == "" {
		return f.Message
	}
	return whole + ": " + f.Message
}

// Faults is everything that is wrong with a value, sorted by place. At most
// 50 are listed; the last entry then counts the rest, up to 2,000. As an error
// it prints all of them.
type Faults []Fault

// Error returns the faults, separated by "; ".
func (f Faults) Error() string { return f.textFor("") }

func (f Faults) textFor(whole string) string {
	var b strings.Builder
	for i, one := range f {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(one.textFor(whole))
	}
	return b.String()
}

func oneFault(pointer, message string) Faults {
	return Faults{{Pointer: pointer, Message: message}}
}

// compareFaults orders faults by place, then by text.
func compareFaults(a, b Fault) int {
	return cmp.Or(comparePointers(a.Pointer, b.Pointer), strings.Compare(a.Message, b.Message))
}

// sortAndBound sorts, removes repetitions and bounds the list.
func (f Faults) sortAndBound() Faults {
	slices.SortFunc(f, compareFaults)
	f = slices.Compact(f)
	if len(f) > maxFaults {
		more := len(f) - maxFaults
		f = append(f[:maxFaults:maxFaults], Fault{Message: "has " + strconv.Itoa(more) + " more faults"})
	}
	return f
}

// comparePointers orders pointers token by token, array indices by number.
func comparePointers(a, b string) int {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	return slices.CompareFunc(x, y, func(s, t string) int {
		m, err1 := strconv.Atoi(s)
		n, err2 := strconv.Atoi(t)
		if err1 == nil && err2 == nil && m != n {
			return cmp.Compare(m, n)
		}
		return strings.Compare(s, t)
	})
}

var tokenEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// formatPointer writes a JSON pointer. It ends up in texts that people read, so
// control and invisible characters are escaped and the length is bounded.
func formatPointer(path []string) string {
	if len(path) == 0 {
		return ""
	}
	var b strings.Builder
	for _, token := range path {
		b.WriteByte('/')
		left := maxPointerSize - b.Len()
		// The escapes of RFC 6901, section 3.
		if b.WriteString(tokenEscapes.Replace(escapeVisible(token, max(left, 0)))); len(token) > left {
			break
		}
	}
	return b.String()
}

// quoteName writes a name in double quotes, cut and made visible.
func quoteName(s string) string { return `"` + escapeVisible(s, maxQuoted) + `"` }

// escapeVisible cuts s after limit bytes and escapes what does not print.
func escapeVisible(s string, limit int) string {
	cut := len(s) > limit
	if !cut && isPlain(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		if i >= limit {
			break
		}
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		}
	}
	if cut {
		b.WriteString("…")
	}
	return b.String()
}

func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}
