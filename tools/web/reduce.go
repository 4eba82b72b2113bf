package web

import (
	"context"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/internal/text"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// maxPieces bounds the tags and texts that a page may have to become a
	// tree; larger pages become plain text.
	maxPieces = 100_000
	// maxSpans bounds the table cells that colspan and rowspan may add to a
	// page.
	maxSpans = 10_000
	// maxNesting bounds lists and quotes inside each other; deeper ones lose
	// their marks.
	maxNesting = 12
	// maxAttributeBytes bounds an attribute that is kept, an address for the
	// most part.
	maxAttributeBytes = 2000
)

// pageReducer is a page rewritten so that it is safe to parse. What remains is
// the elements that matter to a reader, with the attributes that matter, and
// without anything that makes a parser's work grow faster than its input: the
// standard makes a parser copy every open formatting element into every
// following paragraph (HTML, section 13.2.4.3), so a hundred kilobytes can
// become ten million nodes. Formatting elements therefore lose their
// attributes, which makes the standard's limit of three equal ones apply, and
// are not nested in themselves.
type pageReducer struct {
	html   strings.Builder
	pieces int
	spans  int
	open   map[atom.Atom]int
}

// reducePage rewrites a page; ok is false when it has more than maxPieces.
func reducePage(ctx context.Context, source string) (h pageHead, page string, ok bool, err error) {
	r := &pageReducer{open: make(map[atom.Atom]int)}
	h, err = scanPage(ctx, source, r)
	return h, r.html.String(), r.pieces <= maxPieces, err
}

func (r *pageReducer) isFull() bool { return r.pieces > maxPieces }

func (r *pageReducer) addText(s string) {
	r.pieces++
	r.html.WriteString(html.EscapeString(s))
}

// elementRole says what becomes of an element.
type elementRole int

const (
	roleNone   elementRole = iota // the tag is dropped, its content stays
	roleBlock                     // kept with its attributes
	roleFormat                    // kept without attributes, never in itself
	roleVoid                      // kept, has no content
)

func roleOf(tag atom.Atom) elementRole {
	switch tag {
	case atom.P, atom.Div, atom.Section, atom.Article, atom.Main, atom.Nav, atom.Header, atom.Footer, atom.Aside,
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Ul, atom.Ol, atom.Li, atom.Dl, atom.Dt, atom.Dd,
		atom.Pre, atom.Blockquote, atom.Table, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption,
		atom.Figure, atom.Figcaption, atom.Span, atom.Details, atom.Summary, atom.Address:
		return roleBlock
	case atom.B, atom.Strong, atom.I, atom.Em, atom.Code, atom.A:
		return roleFormat
	case atom.Br, atom.Hr, atom.Img, atom.Meta:
		return roleVoid
	default:
		return roleNone
	}
}

// startElement writes a start tag with the attributes that are kept.
func (r *pageReducer) startElement(z *html.Tokenizer, tag atom.Atom, more bool) {
	r.pieces++
	kept := roleOf(tag)
	if kept == roleNone || !r.countOpened(tag, kept) {
		return
	}
	var attributes strings.Builder
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		if len(value) <= maxAttributeBytes {
			r.writeAttribute(&attributes, tag, kept, string(key), string(value))
		}
	}
	if tag == atom.A && attributes.Len() == 0 {
		return // It leads nowhere.
	}
	r.html.WriteString("<" + tag.String() + attributes.String() + ">")
}

// countOpened counts an element that is opened and reports whether it is written.
// The counts also cover what is not, so that an inner end tag does not close
// an outer element. Links close each other without our help.
func (r *pageReducer) countOpened(tag atom.Atom, kept elementRole) bool {
	if kept != roleFormat && !indentsContent(tag) {
		return true
	}
	r.open[tag]++
	if kept == roleFormat {
		return r.open[tag] == 1 || tag == atom.A
	}
	return r.open[tag] <= maxNesting
}

// endElement writes an end tag when its start tag was written.
func (r *pageReducer) endElement(tag atom.Atom) {
	r.pieces++
	kept := roleOf(tag)
	if kept == roleNone || kept == roleVoid {
		return
	}
	open := r.open[tag]
	if open > 0 {
		r.open[tag]--
	}
	if tag != atom.A && (kept == roleFormat && open > 1 || indentsContent(tag) && open > maxNesting) {
		return
	}
	r.html.WriteString("</" + tag.String() + ">")
}

// indentsContent reports whether an element indents what is inside, so that its text
// is copied once for each level.
func indentsContent(tag atom.Atom) bool {
	return tag == atom.Blockquote || tag == atom.Ul || tag == atom.Ol
}

// writeAttribute writes one attribute if it is kept.
func (r *pageReducer) writeAttribute(to *strings.Builder, tag atom.Atom, kept elementRole, key, value string) {
	switch key {
	case "href":
		if tag != atom.A || holdsContent(value) {
			return
		}
	case "src", "alt":
		if tag != atom.Img || holdsContent(value) {
			return
		}
	case "colspan", "rowspan":
		if value = r.limitSpan(value); value == "" {
			return
		}
	case "style":
		if kept != roleBlock || !hidesElement(value) {
			return
		}
		value = "display:none"
	case "class", "id", "role", "itemprop", "start", "hidden", "aria-hidden":
		if kept != roleBlock {
			return
		}
	case "name", "property", "content":
		if tag != atom.Meta {
			return
		}
	default:
		return
	}
	to.WriteString(" " + key + `="` + html.EscapeString(value) + `"`)
}

// limitSpan bounds how many cells one cell stands for, together over the page.
func (r *pageReducer) limitSpan(value string) string {
	n, err := strconv.Atoi(strings.TrimSpace(value))
	if err != nil || n < 2 || n > 100 {
		return ""
	}
	// A cell may have both, so the square is what it can add.
	if r.spans += n * n; r.spans > maxSpans {
		return ""
	}
	return strconv.Itoa(n)
}

// holdsContent reports whether an address is a script or carries its data
// itself, neither of which a reader can follow.
func holdsContent(address string) bool {
	address = lowerASCII(text.FirstBytes(strings.TrimSpace(address), 40))
	return strings.HasPrefix(address, "javascript:") || strings.HasPrefix(address, "data:") || strings.HasPrefix(address, "vbscript:")
}

// hidesElement reports whether an inline style makes an element invisible.
func hidesElement(style string) bool {
	style = lowerASCII(strings.Join(strings.Fields(style), ""))
	return strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
}
