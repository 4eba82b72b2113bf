package facts

import (
	"time"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/digest"
)

// Brought is what a call brings into its conversation, as its record says it.
type Brought struct {
	// Session is the [Digest] of the caller's session; empty when it has none.
	Session string `json:"session,omitempty"`
	// Private says that the call may read data of the operator.
	Private bool `json:"private,omitempty"`
	// Untrusted says that the call may bring content of an untrusted source.
	Untrusted bool `json:"untrusted,omitempty"`
}

// Marks returns what b says of the principal when a call brings it.
func (b *Brought) Marks(tool, call string, at time.Time) (marks []sallyport.FactMark) {
	if b.Private {
		marks = append(marks, sallyport.FactMark{Fact: sallyport.FactPrivate, Tool: tool, CallID: call, Time: at})
	}
	if b.Untrusted {
		marks = append(marks, sallyport.FactMark{Fact: sallyport.FactUntrusted, Tool: tool, CallID: call, Time: at})
	}
	return marks
}

// Digest names a session in records, where its own name, which a caller chooses, may
// hold anything. It is empty for the empty name.
func Digest(session string) string {
	if session == "" {
		return ""
	}
	return digest.Text(session)[:32]
}

// shortDigestBytes is the length of a short digest.
const shortDigestBytes = 8

// ShortDigest names a text among the few of one call: the first eight bytes of its
// SHA-256, in hexadecimal digits.
func ShortDigest(text string) string {
	return digest.Text(text)[:2*shortDigestBytes]
}

// IsRecordable reports whether a record has the name of a principal as it is.
func IsRecordable(principal string) bool {
	const most = 512 // which records clip names to
	return len(principal) <= most && utf8.ValidString(principal)
}
