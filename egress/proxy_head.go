package egress

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

const (
	// maxHead bounds the head of a request, and the ClientHello of a tunnel.
	maxHead = 64 << 10
	// maxHeaderLines bounds the fields of a head; browsers stay below 50.
	maxHeaderLines = 256
)

// errMalformed refuses a head for its form. Its text is shown to the child.
type errMalformed string

func (e errMalformed) Error() string { return string(e) }

const (
	errLongHead = errMalformed("the head of the request is longer than 64 KiB")
	errLineEnd  = errMalformed("a line of the head ends in another way than CR LF, or holds a NUL")
)

// requestHead is what the proxy has to know about a request before net/http reads
// it.
type requestHead struct {
	method, target string
	size           int // of the head in bytes
	minor          int // of HTTP/1.x
	body           bool
}

// peekHead waits for a whole head and checks its bytes. It consumes nothing:
// net/http reads the same bytes afterwards for the body's framing, which it
// does well. It is lenient about the rest (bare line feeds, folded and
// repeated fields, both kinds of length), and where two readers may disagree
// about a request the child would have two requests in one. So that leniency
// never matters, whatever passes here has one reading only.
func peekHead(r *bufio.Reader) (requestHead, error) {
	seen := 0
	for {
		raw, err := r.Peek(max(r.Buffered(), seen+1))
		// A protocol that is not HTTP is answered without waiting for lines.
		if len(raw) > 0 && !isToken(raw[0]) {
			return requestHead{}, errMalformed("neither HTTP nor SOCKS5")
		}
		if i := bytes.Index(raw[max(0, seen-3):], []byte("\r\n\r\n")); i >= 0 {
			return checkHead(raw[:max(0, seen-3)+i+4])
		}
		switch {
		case bareLF(raw):
			return requestHead{}, errLineEnd // the end that it waits for would never come
		case errors.Is(err, bufio.ErrBufferFull):
			return requestHead{}, errLongHead
		case err == io.EOF && len(raw) > 0:
			return requestHead{}, io.ErrUnexpectedEOF
		case err != nil:
			return requestHead{}, err
		}
		seen = len(raw)
	}
}

// bareLF reports whether a line feed follows something else than a carriage
// return.
func bareLF(raw []byte) bool {
	for i := 0; ; i++ {
		n := bytes.IndexByte(raw[i:], '\n')
		if n < 0 {
			return false
		}
		if i += n; i == 0 || raw[i-1] != '\r' {
			return true
		}
	}
}

// checkHead checks a head that ends in an empty line (RFC 9112, sections 2, 3
// and 5, without what they let a reader forgive).
func checkHead(raw []byte) (requestHead, error) {
	h := requestHead{size: len(raw)}
	text := string(raw[:len(raw)-2])
	var fields framingFields
	for n := 0; text != ""; n++ {
		line, rest, ok := strings.Cut(text, "\r\n")
		text = rest
		if !ok || strings.ContainsAny(line, "\r\n\x00") {
			return requestHead{}, errLineEnd
		}
		var err error
		switch {
		case n == 0:
			err = h.requestLine(line)
		case n > maxHeaderLines:
			err = errMalformed("the head has more than 256 fields")
		default:
			err = fields.addLine(line)
		}
		if err != nil {
			return requestHead{}, err
		}
	}
	return h, h.checkFraming(fields)
}

// requestLine reads "method SP target SP version".
func (h *requestHead) requestLine(line string) error {
	if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) {
		return errMalformed("the request line holds a control character or is not ASCII")
	}
	parts := strings.Split(line, " ")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" {
		return errMalformed("the request line is not method, target and version")
	}
	h.method, h.target = parts[0], parts[1]
	if !isTokenText(h.method) {
		return errMalformed("the method is not a token")
	}
	switch parts[2] {
	case "HTTP/1.1":
		h.minor = 1
	case "HTTP/1.0":
	default:
		return errMalformed("the version is neither HTTP/1.1 nor HTTP/1.0")
	}
	return nil
}

// framingFields is what was seen of the fields that decide about framing.
type framingFields struct {
	host, expect, length, coding int
	chunked, zero                bool
}

func (f *framingFields) addLine(line string) error {
	name, value, ok := strings.Cut(line, ":")
	if !ok || name == "" || !isTokenText(name) {
		// This refuses folded lines and blanks in front of the colon too.
		return errMalformed("a header is not a name, a colon and a value")
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return errMalformed("a header holds a control character")
	}
	value = strings.Trim(value, " \t")
	switch strings.ToLower(name) {
	case "host":
		f.host++
	case "expect":
		f.expect++
		if !strings.EqualFold(value, "100-continue") {
			return errMalformed("Expect is not 100-continue")
		}
	case "content-length":
		f.length++
		f.zero = value == "0"
		// 18 digits fit an int64; a sign or a list has two readings.
		if value == "" || len(value) > 18 || strings.Trim(value, "0123456789") != "" {
			return errMalformed("Content-Length is not a number")
		}
	case "transfer-encoding":
		f.coding++
		f.chunked = strings.EqualFold(value, "chunked")
	}
	return nil
}

// checkFraming checks that the request has one length.
func (h *requestHead) checkFraming(f framingFields) error {
	switch {
	case f.host > 1 || f.expect > 1 || f.length > 1 || f.coding > 1:
		return errMalformed("a header that may stand once is repeated")
	case f.coding > 0 && f.length > 0:
		return errMalformed("both Content-Length and Transfer-Encoding")
	case f.coding > 0 && (!f.chunked || h.minor == 0):
		return errMalformed("Transfer-Encoding is not chunked in HTTP/1.1")
	}
	h.body = f.coding > 0 || f.length > 0 && !f.zero
	if h.method == "CONNECT" && h.body {
		return errMalformed("CONNECT with a body")
	}
	return nil
}

// isToken reports whether c may stand in a method or a field name (RFC 9110,
// section 5.6.2).
func isToken(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	default:
		return strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
	}
}

func isTokenText(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r > '~' || !isToken(byte(r)) })
}

const (
	// maxMethod bounds a method; the longest that is registered has 17 letters.
	maxMethod = 64
	// maxFirstLine bounds a first line that may be one of HTTP, twice the
	// longest URL.
	maxFirstLine = 2 * maxURL
)

// speaksHTTP reports whether a connection begins with a request of HTTP,
// without consuming it. It is generous where servers are: empty lines in
// front, bare line feeds, any blanks, any version. What it takes for a request
// is read by [peekHead], which is not, so that an odd spelling ends the
// connection. It waits only while the bytes may still become such a request, so
// that a protocol whose client sends a few letters and waits is not held up for
// ever: the deadline ends it.
func speaksHTTP(r *bufio.Reader) (bool, error) {
	for seen := 0; ; {
		raw, err := r.Peek(max(r.Buffered(), seen+1))
		plain, known := classifyLine(raw)
		switch {
		case known:
			return plain, nil
		case err == io.EOF:
			return false, nil // no server answers half a line
		case err != nil:
			return false, err
		case len(raw) > maxFirstLine:
			return false, errLongHead
		}
		seen = len(raw)
	}
}

// The blanks that separate the words of a first line: those of RFC 9112, section
// 3, and the others at which readers of Latin-1 split.
const (
	usualBlanks = " \t"
	otherBlanks = "\v\f\r\x1c\x1d\x1e\x1f\x85\xa0"
)

// classifyLine judges a first line as far as it is there.
func classifyLine(raw []byte) (plain, known bool) {
	text := string(raw)
	for text != "" && (isBlank(text[0]) || text[0] == '\n') {
		text = text[1:]
	}
	line, _, whole := strings.Cut(text, "\n")
	n := 0
	for n < len(line) && isToken(line[n]) {
		n++
	}
	switch {
	case n > maxMethod, n < len(line) && !endsMethod(line, n), strings.Contains(line, "\x00") && !isLetter(line[0]):
		return false, true
	case !whole:
		return false, false
	}
	words := splitBlanks(line)
	if len(words) < 2 {
		return false, true
	}
	target := words[1]
	plain = strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://")
	for _, w := range words[1:] {
		plain = plain || strings.HasPrefix(w, "http/")
	}
	return plain, true
}

// endsMethod reports whether the byte behind n of a token may end a method. One
// of the unusual blanks does so behind a letter only: a message of LDAP begins
// with a digit and its length.
func endsMethod(line string, n int) bool {
	return strings.IndexByte(usualBlanks, line[n]) >= 0 ||
		n > 0 && isLetter(line[0]) && strings.IndexByte(otherBlanks, line[n]) >= 0
}

func isLetter(c byte) bool { return c|0x20-'a' < 26 }

func isBlank(c byte) bool {
	return strings.IndexByte(usualBlanks, c) >= 0 || strings.IndexByte(otherBlanks, c) >= 0
}

// splitBlanks returns the words of a line in lower case. It goes by bytes: two of
// the blanks are no UTF-8.
func splitBlanks(line string) (words []string) {
	for line != "" {
		n := 0
		for n < len(line) && !isBlank(line[n]) {
			n++
		}
		if n > 0 {
			words = append(words, strings.ToLower(line[:n]))
		}
		line = line[min(n+1, len(line)):]
	}
	return words
}
