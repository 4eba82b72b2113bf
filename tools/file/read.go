package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// readChars is the length of a read_file result in code points.
	readChars = 40_000
	// readPassBytes bounds the text that is handed to the gate, which cuts it
	// to the budget and tells the full length. Beyond it the header alone
	// says how much there is.
	readPassBytes = 1 << 20
	// maxAttachmentBytes bounds an attachment, as large as the largest file
	// that the accessor reads.
	maxAttachmentBytes = 64 << 20
)

type readInput struct {
	Path      string `json:"path,omitempty" jsonschema:"File to read: absolute, or relative to the workspace. Give either path or ref."`
	Ref       string `json:"ref,omitempty" jsonschema:"Opaque ref, or name, of a file that the user attached to this turn. Give either path or ref; without both the only attached file is read."`
	StartLine int    `json:"start_line,omitempty" jsonschema:"First line to return, counted from 1. Leave out to start at the beginning."`
	EndLine   int    `json:"end_line,omitempty" jsonschema:"Last line to return, inclusive. Leave out to read to the end."`
	Encoding  string `json:"encoding,omitempty" jsonschema:"How to decode the file: utf-8, latin1, utf-16, utf-16le, utf-16be, or base64 for the raw bytes of a binary file. Leave out to detect it."`
}

func readPassage(ctx context.Context, c *sallyport.Call, in readInput) (sallyport.Result, error) {
	attached := c.Attachments.List()
	in.resolveAttachment(attached)
	if err := in.validateInput(attached); err != nil {
		return sallyport.Result{}, err
	}
	name, data, err := in.loadContent(ctx, c)
	if err != nil {
		return sallyport.Result{}, err
	}
	t, isText, err := decodeText(data, in.Encoding)
	if err != nil {
		return sallyport.Result{}, err
	}
	if !isText {
		return binaryResult(name, data), nil
	}
	p, err := newPassage(name, t, in.StartLine, in.EndLine)
	if err != nil {
		return sallyport.Result{}, err
	}
	return p.newResult(len(data), resultBudget(c, readChars)), nil
}

// resolveAttachment makes a ref of the name of an attachment, or of nothing when there is
// one alone: who brings a file along knows its name and no ref.
func (in *readInput) resolveAttachment(attached []sallyport.Attachment) {
	if in.Path == "" && in.Ref == "" && len(attached) == 1 {
		in.Ref = attached[0].Ref
		return
	}
	ref := ""
	for _, a := range attached {
		switch {
		case in.Ref == a.Ref:
			return
		case in.Ref == a.Name && ref != "":
			return // The name is of several, and names none.
		case in.Ref == a.Name:
			ref = a.Ref
		}
	}
	if ref != "" {
		in.Ref = ref
	}
}

// validateInput refuses contradictory arguments.
func (in *readInput) validateInput(attached []sallyport.Attachment) error {
	switch {
	case (in.Path == "") == (in.Ref == ""):
		return sallyport.InputInvalid("give exactly one of path and ref" + attachmentNames(attached))
	case in.StartLine < 0 || in.EndLine < 0:
		return sallyport.InputInvalid("start_line and end_line count from 1")
	case in.EndLine > 0 && in.EndLine < in.StartLine:
		return sallyport.InputInvalid(fmt.Sprintf("end_line %d is before start_line %d", in.EndLine, in.StartLine))
	case in.Encoding == encodingBase64 && (in.StartLine > 0 || in.EndLine > 0):
		return sallyport.InputInvalid("base64 has no lines: leave out start_line and end_line")
	}
	return nil
}

// attachmentNames names the attachments of the turn: their refs are opaque, and stand
// nowhere else.
func attachmentNames(attached []sallyport.Attachment) string {
	var b strings.Builder
	for _, a := range attached {
		fmt.Fprintf(&b, "\nattached: ref %s is %s (%s, %s)", a.Ref, cleanHeaderName(a.Name), a.Kind, text.CountOf(int(a.Bytes), "byte"))
	}
	return b.String()
}

// loadContent reads the file or the attachment, and returns the name to show.
func (in *readInput) loadContent(ctx context.Context, c *sallyport.Call) (name string, data []byte, err error) {
	if in.Ref != "" {
		return loadAttachment(ctx, c, in.Ref)
	}
	name = c.FS.Abs(in.Path)
	data, err = c.FS.ReadFile(in.Path)
	if err == nil {
		return name, data, nil
	}
	refused := errors.Is(err, sallyport.ErrPathNotReachable) || errors.Is(err, fs.ErrNotExist)
	if !refused && isDir(c.FS, in.Path) {
		return "", nil, directoryError(name)
	}
	return "", nil, accessError("read", name, err)
}

// isDir reports whether a reachable name is a directory.
func isDir(fsys fs.StatFS, name string) bool {
	st, err := fsys.Stat(name)
	return err == nil && st.IsDir()
}

// loadAttachment reads an attachment of the turn by ref.
func loadAttachment(ctx context.Context, c *sallyport.Call, ref string) (name string, data []byte, err error) {
	name = "attachment " + ref
	for _, a := range c.Attachments.List() {
		if a.Ref == ref && a.Name != "" {
			name = "attachment " + cleanHeaderName(a.Name)
		}
	}
	r, err := c.Attachments.Open(ctx, ref)
	if err != nil {
		return "", nil, accessError("open", name, err)
	}
	defer func() { _ = r.Close() }() // Nothing was written.
	data, err = io.ReadAll(io.LimitReader(r, maxAttachmentBytes+1))
	if err != nil {
		return "", nil, accessError("read", name, err)
	}
	if len(data) > maxAttachmentBytes {
		return "", nil, fmt.Errorf("%s is larger than %d MiB", name, maxAttachmentBytes>>20)
	}
	return name, data, nil
}

// binaryResult describes a file whose bytes are no text. One that is a picture
// comes as a picture, which the gate draws again, or says why it cannot.
func binaryResult(name string, data []byte) sallyport.Result {
	kind := binaryType(data)
	r := sallyport.OK(fmt.Sprintf("[%s] binary file, %s, %s\n\nIts bytes are not text. Read it with encoding \"base64\" to get them.",
		name, text.CountOf(len(data), "byte"), kind))
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		r.Parts = []sallyport.Part{{Kind: sallyport.PartImage, Data: data, MediaType: kind}}
	}
	r.Structured = map[string]any{"path": name, "bytes": len(data), "media_type": kind, "encoding": "binary"}
	return r
}

// passage is the part of a text that was asked for.
type passage struct {
	name    string
	text    decodedText
	content string
	// lines is the number of lines of the whole text, start and end the
	// first and last line of content; both 0 when it is empty.
	lines, start, end int
	// ranged is true when the caller gave a line.
	ranged bool
}

// newPassage selects lines. An end beyond the last line means the last line;
// a start beyond it is an error that says how many lines there are.
func newPassage(name string, t decodedText, start, end int) (passage, error) {
	p := passage{name: name, text: t, lines: countLines(t.content), ranged: start > 0 || end > 0}
	p.start, p.end = max(start, 1), p.lines
	if p.start > max(p.lines, 1) {
		return passage{}, sallyport.InputInvalid(fmt.Sprintf("start_line %d is beyond the end of %s, which has %s",
			start, name, text.CountOf(p.lines, "line")))
	}
	if end > 0 {
		p.end = min(end, p.lines)
	}
	from := lineOffset(t.content, p.start-1)
	p.content = t.content[from:]
	p.content = p.content[:lineOffset(p.content, p.end-p.start+1)]
	return p, nil
}

// newResult renders the passage. One that is longer than the budget is handed
// over for the gate to cut, with the line to continue at in the header.
func (p *passage) newResult(size, budget int) sallyport.Result {
	head := p.headerLine()
	fit, fitLines := p.content, p.end-p.start+1
	whole := utf8.RuneCountInString(head)+2+utf8.RuneCountInString(p.content) <= budget
	pass := p.content
	if !whole {
		fit, fitLines = p.fitContent(budget - utf8.RuneCountInString(head) - hintChars)
		head += p.continueHint(fitLines)
		pass = text.FirstBytes(pass, max(readPassBytes, 4*budget))
	}
	r := sallyport.OK("[" + p.name + "] " + head + "\n\n" + pass)
	r.Structured = map[string]any{
		"path": p.name, "lines": p.lines, "start_line": p.start, "end_line": p.start + fitLines - 1,
		"bytes": size, "encoding": p.text.encoding, "content": fit,
	}
	if !whole {
		r.Structured["truncated"] = true
	}
	return r
}

func (p *passage) headerLine() string {
	head := text.CountOf(p.lines, "line")
	switch {
	case p.text.encoding == encodingBase64:
		head = "base64"
	case p.ranged:
		head = fmt.Sprintf("lines %d-%d of %d", p.start, p.end, p.lines)
	}
	if p.text.encoding != encodingUTF8 && p.text.encoding != encodingBase64 {
		head += ", " + p.text.encoding
	}
	if p.text.note != "" {
		head += " (" + p.text.note + ")"
	}
	return head
}

// hintChars is room for the hint in a header, its figures included, and for
// the brackets around the name.
const hintChars = 160

// continueHint says how to get the rest of a passage of which so many lines fit.
func (p *passage) continueHint(fitLines int) string {
	next := p.start + fitLines
	switch {
	case p.text.encoding == encodingBase64:
		return " -- too long for one result and cut"
	case fitLines > 0:
		return fmt.Sprintf(" -- too long for one result; continue with start_line=%d", next)
	case next < p.lines:
		return fmt.Sprintf(" -- line %d alone is too long for one result and cut; the next is start_line=%d", next, next+1)
	default:
		return fmt.Sprintf(" -- line %d alone is too long for one result and cut", next)
	}
}

// fitContent returns the leading lines of the content that have at most so many code
// points, and a part of the first line when not even that fits.
func (p *passage) fitContent(chars int) (content string, lines int) {
	chars = max(chars-utf8.RuneCountInString(p.name), 0)
	head := text.FirstChars(p.content, chars)
	if i := strings.LastIndexByte(head, '\n'); i >= 0 {
		head = head[:i+1]
		return head, strings.Count(head, "\n")
	}
	return head, 0
}

// countLines counts lines; one that ends without a newline counts too.
func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && s[len(s)-1] != '\n' {
		n++
	}
	return n
}

// lineOffset returns where line n begins, counted from 0, or the length of s
// when it has fewer lines.
func lineOffset(s string, n int) int {
	at := 0
	for ; n > 0; n-- {
		i := strings.IndexByte(s[at:], '\n')
		if i < 0 {
			return len(s)
		}
		at += i + 1
	}
	return at
}

// resultBudget returns the number of code points that a result may have: what
// the gate leaves to this call, and no more than the tool's own bound.
func resultBudget(c *sallyport.Call, own int) int {
	return min(cmp.Or(c.ResultBudget, own), own)
}

// cleanHeaderName makes the name of an attachment fit for a header.
func cleanHeaderName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == ']' {
			return ' '
		}
		return r
	}, s)
	return text.FirstChars(s, 200)
}
