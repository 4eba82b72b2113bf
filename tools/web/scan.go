package web

import (
	"context"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// pieceSink receives the pieces of a page in the order of the source.
type pieceSink interface {
	// addText takes unescaped text.
	addText(s string)
	// startElement takes a start tag, whose attributes z still holds when more is
	// true. end takes an end tag.
	startElement(z *html.Tokenizer, tag atom.Atom, more bool)
	endElement(tag atom.Atom)
	// isFull ends the scan early.
	isFull() bool
}

// pageHead is what a page says about itself.
type pageHead struct {
	// title is the text of the first title element, base the address of the
	// first base element; both may be empty.
	title, base string
}

// pageScanner reads a page token by token, in linear time, and leaves out what is
// no text of the page.
type pageScanner struct {
	z    *html.Tokenizer
	head pageHead
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

// scanPage hands the pieces of a page to a sink. The only error is that of ctx.
func scanPage(ctx context.Context, source string, to pieceSink) (pageHead, error) {
	s := &pageScanner{
		z: html.NewTokenizer(strings.NewReader(source)), lower: lowerASCII(source), last: make(map[atom.Atom]int),
	}
	for pieces := 1; !to.isFull(); pieces++ {
		if pieces%1000 == 0 && ctx.Err() != nil {
			return pageHead{}, ctx.Err()
		}
		token := s.nextToken()
		if token == html.ErrorToken {
			break // The reader has no error but its end.
		}
		s.handleToken(token, to)
	}
	return s.head, nil
}

// nextToken reads a token and counts its bytes.
func (s *pageScanner) nextToken() html.TokenType {
	token := s.z.Next()
	s.offset += len(s.z.Raw())
	return token
}

// handleToken passes one token on, or leaves it out.
func (s *pageScanner) handleToken(token html.TokenType, to pieceSink) {
	switch token {
	case html.TextToken:
		if s.skip == 0 {
			to.addText(string(s.z.Text()))
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
		s.trackSkipped(token, tag)
	case token == html.EndTagToken:
		to.endElement(tag)
	case tag == atom.Title:
		s.readTitle()
	case tag == atom.Base:
		s.readBase(more)
	case isDropped(tag):
		if token == html.StartTagToken && s.endsLater(tag) {
			s.skip, s.depth = tag, 1
		}
	default:
		to.startElement(s.z, tag, more)
	}
}

// trackSkipped follows the nesting of an element whose content is left out. Inside
// a drawing a style or title holds no raw text (HTML, section 13.2.6.5).
func (s *pageScanner) trackSkipped(token html.TokenType, tag atom.Atom) {
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
func (s *pageScanner) endsLater(tag atom.Atom) bool {
	at, known := s.last[tag]
	if !known {
		at = strings.LastIndex(s.lower, "</"+tag.String())
		s.last[tag] = at
	}
	return at >= s.offset
}

// readTitle reads the title element; the first one counts.
func (s *pageScanner) readTitle() {
	if s.nextToken() == html.TextToken && s.head.title == "" {
		s.head.title = strings.Join(strings.Fields(string(s.z.Text())), " ")
	}
}

// readBase reads a base element; the first one with an address counts.
func (s *pageScanner) readBase(more bool) {
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

// plainCollector collects text without any tree: what is left for pages that are too
// large or too deep for one.
type plainCollector struct {
	b     strings.Builder
	space bool
	line  bool
}

// plainText returns the text of a page with a line for each block.
func plainText(ctx context.Context, source string) (pageHead, string, error) {
	var p plainCollector
	h, err := scanPage(ctx, source, &p)
	return h, strings.TrimSpace(p.b.String()), err
}

func (p *plainCollector) addText(s string) {
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

func (p *plainCollector) startElement(_ *html.Tokenizer, tag atom.Atom, _ bool) { p.endElement(tag) }

func (p *plainCollector) endElement(tag atom.Atom) {
	if tag == atom.Span {
		return
	}
	switch roleOf(tag) {
	case roleBlock, roleVoid:
		p.line = true
	default:
	}
}

func (p *plainCollector) isFull() bool { return false }

// isSpace reports whether a byte is white space of HTML.
func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'
}
