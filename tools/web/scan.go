package web

import (
	"context"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// sink takes the pieces of a page in the order of the source.
type sink interface {
	// text takes unescaped text.
	text(s string)
	// start takes a start tag, whose attributes z still holds when more is
	// true. end takes an end tag.
	start(z *html.Tokenizer, tag atom.Atom, more bool)
	end(tag atom.Atom)
	// full ends the scan early.
	full() bool
}

// head is what a page says about itself.
type head struct {
	// title is the text of the first title element, base the address of the
	// first base element; both may be empty.
	title, base string
}

// scanner reads a page token by token, in linear time, and leaves out what is
// no text of the page.
type scanner struct {
	z    *html.Tokenizer
	head head
	// lower is the page in lower case and last remembers where an element is
	// closed for the last time.
	lower  string
	last   map[atom.Atom]int
	offset int
	// skip is the element that is being left out, 0 when there is none, and
	// depth its nesting in itself.
	skip  atom.Atom
	depth int
}

// scan hands the pieces of a page to a sink. The only error is that of ctx.
func scan(ctx context.Context, source string, to sink) (head, error) {
	s := &scanner{
		z: html.NewTokenizer(strings.NewReader(source)), lower: lowerASCII(source), last: make(map[atom.Atom]int),
	}
	for pieces := 1; !to.full(); pieces++ {
		if pieces%1000 == 0 && ctx.Err() != nil {
			return head{}, ctx.Err()
		}
		token := s.next()
		if token == html.ErrorToken {
			break // The reader has no error but its end.
		}
		s.take(token, to)
	}
	return s.head, nil
}

// next reads a token and counts its bytes.
func (s *scanner) next() html.TokenType {
	token := s.z.Next()
	s.offset += len(s.z.Raw())
	return token
}

// take sorts one token.
func (s *scanner) take(token html.TokenType, to sink) {
	switch token {
	case html.TextToken:
		if s.skip == 0 {
			to.text(string(s.z.Text()))
		}
		return
	case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
	default:
		return // A comment or a doctype.
	}
	name, more := s.z.TagName()
	tag := atom.Lookup(name)
	switch {
	case s.skip != 0:
		s.skipped(token, tag)
	case token == html.EndTagToken:
		to.end(tag)
	case tag == atom.Title:
		s.takeTitle()
	case tag == atom.Base:
		s.takeBase(more)
	case isDropped(tag):
		if token == html.StartTagToken && s.endsLater(tag) {
			s.skip, s.depth = tag, 1
		}
	default:
		to.start(s.z, tag, more)
	}
}

// skipped follows the nesting of an element whose content is left out. Inside
// a drawing a style or title holds no raw text (HTML, section 13.2.6.5).
func (s *scanner) skipped(token html.TokenType, tag atom.Atom) {
	if s.skip == atom.Svg {
		s.z.NextIsNotRawText()
	}
	if tag == s.skip && token == html.StartTagToken {
		s.depth++
	}
	if tag == s.skip && token == html.EndTagToken {
		s.depth--
	}
	if s.depth == 0 {
		s.skip = 0
	}
}

// endsLater reports whether an element is closed at all; one that is not would
// swallow the rest of the page.
func (s *scanner) endsLater(tag atom.Atom) bool {
	at, known := s.last[tag]
	if !known {
		at = strings.LastIndex(s.lower, "</"+tag.String())
		s.last[tag] = at
	}
	return at >= s.offset
}

// takeTitle reads the title element; the first one counts.
func (s *scanner) takeTitle() {
	if s.next() == html.TextToken && s.head.title == "" {
		s.head.title = strings.Join(strings.Fields(string(s.z.Text())), " ")
	}
}

// takeBase reads a base element; the first one with an address counts.
func (s *scanner) takeBase(more bool) {
	for more {
		var key, value []byte
		key, value, more = s.z.TagAttr()
		if string(key) == "href" && s.head.base == "" {
			s.head.base = string(value)
		}
	}
}

// isDropped reports whether an element is left out with its content: nothing
// in it is text of the page.
func isDropped(tag atom.Atom) bool {
	switch tag {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Iframe, atom.Object, atom.Canvas,
		atom.Select, atom.Textarea, atom.Noframes, atom.Noembed, atom.Xmp, atom.Audio, atom.Video:
		return true
	default:
		return false
	}
}

// lowerASCII lowers the ASCII letters only, so that offsets stay the same.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + ('a' - 'A')
		}
	}
	return string(b)
}

// plain collects text without any tree: what is left for pages that are too
// large or too deep for one.
type plain struct {
	b     strings.Builder
	space bool
	line  bool
}

// plainText returns the text of a page with a line for each block.
func plainText(ctx context.Context, source string) (head, string, error) {
	var p plain
	h, err := scan(ctx, source, &p)
	return h, strings.TrimSpace(p.b.String()), err
}

func (p *plain) text(s string) {
	if s == "" {
		return
	}
	if isSpace(s[0]) {
		p.space = true
	}
	for word := range strings.FieldsSeq(s) {
		switch {
		case p.line:
			p.b.WriteByte('\n')
		case p.space:
			p.b.WriteByte(' ')
		}
		p.b.WriteString(word)
		p.line, p.space = false, true
	}
	p.space = isSpace(s[len(s)-1])
}

func (p *plain) start(_ *html.Tokenizer, tag atom.Atom, _ bool) { p.end(tag) }

func (p *plain) end(tag atom.Atom) {
	if tag == atom.Span {
		return
	}
	switch roleOf(tag) {
	case roleBlock, roleVoid:
		p.line = true
	default:
	}
}

func (p *plain) full() bool { return false }

// isSpace reports whether a byte is white space of HTML.
func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'
}
