// Package output decides what may reach a model: text, structured data and
// errors on their way from a tool to the caller.
//
// Start with [New]: a [Cleaner] knows the secret values that must never
// appear. [Cleaner.Text] makes valid UTF-8, drops terminal escapes, control
// and invisible characters, replaces secrets in their usual encodings and
// well-known token formats by [REDACTED:<kind>], and template tokens of model
// families by [STRIPPED-TEMPLATE-TOKEN]. [Cleaner.Value] does the same for
// structured data. [Trim] cuts to a budget and [Wrap] marks text that another party
// controls, in this order.
//
// The work is one sweep over the text with a shift register of the last ten
// symbols, whatever the number of secrets, formats and tokens is; only where
// the register agrees with one of them is the text looked at more closely.
// Text with nothing to change is returned as it is, without an allocation.
//
// A stream is cleaned whole: a secret or tag that is split over two writes is
// only seen in the joined text, so a caller collects the output of a process,
// bounded, and then cleans it once.
//
// The package does not judge meaning: it is no detector of prompt injection.
// It leaves Markdown and HTML alone, because a model that reads a README.md
// and then patches it needs the text as it is; code that shows text to a
// person escapes it there. It removes what it knows: a secret in an encoding
// that [Cleaner.Text] does not list passes.
package output

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	sallyport "github.com/sallyport/sallyport"
)

// maxRounds bounds the repetition in Text. One round finds everything in
// ordinary and in hostile text; a second one only sees what a marker of the
// first round completed.
const maxRounds = 4

// Options configure a [Cleaner]. nil means no known secrets.
type Options struct {
	// Secrets lists values that must not appear. A value that [CheckSecret]
	// refuses is an error.
	Secrets []sallyport.Secret
}

// Cleaner removes from text what may not reach a model. It is immutable and
// safe for concurrent use.
type Cleaner struct {
	// values holds what is known, as it was given.
	values map[string]struct{}
	// needles are the values and their lines, without outer blanks and controls
	// and with lines ended by line feeds. The index finds where one may begin.
	needles []string
	anchors []anchor // of the needles, until the index is made
	index   *anchorIndex
	// automata compare the text there with all needles, one for each shape.
	// They are made when they are first needed.
	automata [shapes]func() *automaton
	// digits is true when a known value may appear as a JSON number.
	digits bool
	// derived is the last Cleaner that With made of this one.
	derived atomic.Pointer[Cleaner]
}

// New returns a Cleaner that knows the given secrets and the well-known
// formats. Its errors never contain a value.
func New(o *Options) (*Cleaner, error) {
	var secrets []sallyport.Secret
	if o != nil {
		secrets = o.Secrets
	}
	values := make(map[string]struct{}, len(secrets))
	for _, s := range secrets {
		values[s.Reveal()] = struct{}{}
	}
	return compileCleaner(values)
}

// With returns a Cleaner that knows more secrets; it returns c itself when c
// knows them all, and remembers the last one it made. A value that
// [CheckSecret] refuses is left out: the backends and the accessor refuse it
// before a tool sees it.
func (c *Cleaner) With(secrets ...sallyport.Secret) *Cleaner {
	if c.coversSecrets(secrets) {
		return c
	}
	if d := c.derived.Load(); d != nil && d.coversSecrets(secrets) {
		return d
	}
	values := make(map[string]struct{}, len(c.values)+len(secrets))
	maps.Copy(values, c.values)
	for _, s := range secrets {
		if CheckSecret(s) == nil {
			values[s.Reveal()] = struct{}{}
		}
	}
	if len(values) == len(c.values) {
		return c
	}
	d, err := compileCleaner(values)
	if err != nil {
		// Every value has been checked, so only their number is left: what
		// the call itself handed out comes before what it might have.
		if d, err = New(&Options{Secrets: secrets}); err != nil {
			return c
		}
	}
	c.derived.Store(d)
	return d
}

func (c *Cleaner) coversSecrets(secrets []sallyport.Secret) bool {
	for _, s := range secrets {
		if _, ok := c.values[s.Reveal()]; !ok {
			return false
		}
	}
	return true
}

// CheckSecret returns an error for a value that cannot be searched for: under
// 8 bytes, over 64 KiB, without 8 visible bytes in at least 3 characters, or
// part of the marker that would replace it. The error does not contain the
// value.
func CheckSecret(s sallyport.Secret) error {
	c := &Cleaner{values: map[string]struct{}{s.Reveal(): {}}}
	return c.addNeedles()
}

func compileCleaner(values map[string]struct{}) (*Cleaner, error) {
	c := &Cleaner{values: values}
	if err := c.addNeedles(); err != nil {
		return nil, err
	}
	c.index = newIndex(staticAnchors(), c.formAnchors())
	for shape := range shapes {
		c.automata[shape] = sync.OnceValue(func() *automaton { return newFormAutomaton(c.needles, shape) })
	}
	return c, nil
}

// Text returns s as it may reach a model: valid UTF-8 without terminal escape
// sequences, control characters (but line feed, tab, and carriage return
// before a line feed), bidirectional controls and invisible characters; joiners
// and variation selectors stay where scripts and emoji need them. Known
// secrets are replaced in these forms: plain, escaped as in JSON, C, URLs or
// HTML, base64 (standard and URL, at each of three offsets), hexadecimal in
// either case with the usual separators, each character of the text escaped in
// another way or in full width, and split by control, invisible or blank
// characters beyond ASCII or by line breaks, also those of a diff or a quotation; of a value of several lines, each line of at
// least 16 bytes on its own too. Credentials of well-known formats and
// template tokens are replaced as the package comment says.
//
// Text(Text(s)) is Text(s). The time is linear in the length of s.
func (c *Cleaner) Text(s string) Clean { return Clean(c.cleanText(s)) }

// Accepts reports whether [Cleaner.Text] leaves s as it is.
func (c *Cleaner) Accepts(s string) bool { return c.cleanText(s) == s }

func (c *Cleaner) cleanText(s string) string {
	plain := toPlainText(s)
	spans := c.findSpans(plain)
	if len(c.values) > 0 && plain != s {
		if known := c.findKnown(s, spans); len(known) > 0 {
			plain = toPlainText(replaceSpans(s, known))
			spans = c.findSpans(plain)
		}
	}
	for range maxRounds {
		if len(spans) == 0 {
			return plain
		}
		plain = toPlainText(replaceSpans(plain, spans))
		spans = c.findSpans(plain)
	}
	return c.redactBetween(plain)
}

// findKnown returns the known values in text as it came, of which spans is what
// was found in the plain text. The end of a terminal sequence may be the first
// letter of a value, and a sequence may stand in the middle of one: what either
// text shows goes, before a part of it is lost.
func (c *Cleaner) findKnown(s string, spans []markedSpan) []markedSpan {
	isOther := func(x markedSpan) bool { return x.mark != markSecret }
	known := slices.DeleteFunc(slices.Clone(spans), isOther)
	placePlain(s, known)
	return mergeSpans(append(known, slices.DeleteFunc(c.findSpans(s), isOther)...))
}

// redactBetween redacts a plain text whose markers keep completing secrets:
// everything between the first and the last find goes, and if that does not
// help, all of it.
func (c *Cleaner) redactBetween(s string) string {
	spans := c.findSpans(s)
	if len(spans) == 0 {
		return s
	}
	end := spans[len(spans)-1].end
	s = toPlainText(s[:spans[0].start] + markSecret.String() + s[end:])
	if len(c.findSpans(s)) == 0 {
		return s
	}
	return markSecret.String()
}
