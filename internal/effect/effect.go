// Package effect has the words for what a call does beside its answer, and for what its
// arguments name.
package effect

import (
	"slices"

	"github.com/sallyport/sallyport"
)

// The effects; see [sallyport.Effect].
const (
	Read        sallyport.Effect = "read"
	Revocable   sallyport.Effect = "revocable"
	Irrevocable sallyport.Effect = "irrevocable"
	Outward     sallyport.Effect = "outward"
	Spending    sallyport.Effect = "spending"
)

// The kinds of values; see [sallyport.ValueKind].
const (
	Text    sallyport.ValueKind = "text"
	Mail    sallyport.ValueKind = "mail"
	Host    sallyport.ValueKind = "host"
	URL     sallyport.ValueKind = "url"
	Account sallyport.ValueKind = "account"
	Path    sallyport.ValueKind = "path"
	User    sallyport.ValueKind = "user"
	Name    sallyport.ValueKind = "name"
)

// All returns the effects.
func All() []sallyport.Effect {
	return []sallyport.Effect{Read, Revocable, Irrevocable, Outward, Spending}
}

// Kinds returns the kinds of values.
func Kinds() []sallyport.ValueKind {
	return []sallyport.ValueKind{Mail, Host, URL, Account, Path, User, Name, Text}
}

// CarriesOut reports whether a call with declared effects carries something out of its
// conversation: to others, or money.
func CarriesOut(declared []sallyport.Effect) bool {
	return slices.Contains(declared, Outward) || slices.Contains(declared, Spending)
}

// IsFinal reports whether what a call with declared effects does cannot be taken back.
func IsFinal(declared []sallyport.Effect) bool { return slices.Contains(declared, Irrevocable) }
