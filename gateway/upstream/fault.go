package upstream

import "github.com/sallyport/sallyport/internal/definition"

// Fault is one thing that is wrong with a declaration: Pointer is the JSON
// pointer (RFC 6901) of the place, "" for the whole, and Message says what is
// wrong and what was expected.
type Fault = definition.Fault

// Faults is everything that is wrong with a declaration, sorted by place. It
// holds at most 100.
type Faults = definition.Faults
