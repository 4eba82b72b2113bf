package egress

import (
	"errors"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
)

// A value takes the place of a stand-in where the stand-in is all that a server
// reads there: a whole header, parameter, cookie, JSON string, user or password.
// Beside other text it might be read as another value, such as behind the
// beginning of an escape, and come back in a form that nothing recognises.

// everyPrefix lists the texts that may stand in front of any stand-in.
var everyPrefix = [...]string{"Bearer ", "token "}

// insertion is a value that may travel to a host.
type insertion struct {
	placeholder, value string
	prefixes           []string
}

// misplaced says where a stand-in stands that is not a whole value there; empty
// when each of them is.
type misplaced string

// errMisplaced is the cause of a refusal for the place of a stand-in.
var errMisplaced = errors.New("a stand-in is no whole value")

// refusal refuses a request to a host.
func (m misplaced) refusal(where string) error {
	err := sallyport.HostError(where, "is sent the stand-in of a secret "+string(m)+", where no secret is put in")
	err.Err = errMisplaced
	return err
}

// mentioned reports whether text holds a stand-in.
func (s *swap) mentioned(text string) bool {
	return slices.ContainsFunc(s.there, func(in insertion) bool { return strings.Contains(text, in.placeholder) })
}

// mentionedFolded is mentioned for text whose letters have lost their case.
func (s *swap) mentionedFolded(text string) bool {
	return slices.ContainsFunc(s.there, func(in insertion) bool {
		return strings.Contains(strings.ToLower(text), strings.ToLower(in.placeholder))
	})
}

// whole returns the insertion whose stand-in is text, behind nothing or a
// declared prefix, and that prefix as it is written. decode undoes the escapes
// of the place, once.
func (s *swap) whole(text string, decode func(string) (string, error)) (in insertion, front string, ok bool) {
	for _, in := range s.there {
		front, ok := strings.CutSuffix(text, in.placeholder)
		if !ok {
			continue
		}
		plain, err := decode(front)
		if err == nil && (plain == "" || slices.ContainsFunc(in.prefixes, func(p string) bool { return strings.EqualFold(p, plain) })) {
			return in, front, true
		}
	}
	return in, "", false
}
