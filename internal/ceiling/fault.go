package ceiling

import "github.com/sallyport/sallyport/internal/text"

// Fault is something that is wrong with a fragment.
type Fault struct {
	// Key is where it stands below the role, such as
	// "arguments.send_money.amount.known".
	Key string
	// Pointer is the argument as a JSON pointer; empty for all arguments.
	Pointer string
	// Message says what is wrong.
	Message string
	// Undeclared is true when the tool does not declare the argument.
	Undeclared bool
}

// Faults lists what is wrong with a fragment. It is an error when it is not empty.
type Faults []Fault

// Error lists the faults, a line each.
func (f Faults) Error() string {
	return text.JoinLines(f, func(one Fault) string { return one.Key + ": " + one.Message })
}

// place is where a compiler stands: in the configuration, and in the arguments.
type place struct{ key, pointer string }

// within returns the place of a word that stands here.
func (p place) within(word string) place { return place{p.key + "." + word, p.pointer} }

// argument returns the place of an argument whose name stands here.
func (p place) argument(name string) place {
	return place{p.key + "." + name, p.pointer + "/" + escapePointer(name)}
}
