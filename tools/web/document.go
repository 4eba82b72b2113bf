package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// document is an answer on its way to text.
type document struct {
	// url is where the answer came from, after redirects.
	url         string
	base        *url.URL
	status      int
	contentType string
	// header is the whole Content-Type, which may name a charset.
	header string
	body   []byte
	// length is the announced size of the body; -1 when unknown.
	length int64
	// cut is true when the body went on beyond maxBodyBytes.
	cut bool

	title, text string
}

// readDocument reads a bounded part of the body. What is no text is not read.
func readDocument(resp *http.Response) (*document, error) {
	d := &document{status: resp.StatusCode, header: resp.Header.Get("Content-Type"), length: resp.ContentLength, base: &url.URL{}}
	if resp.Request != nil && resp.Request.URL != nil {
		d.base = resp.Request.URL
	}
	d.url = shownURL(d.base)
	if t, _, err := mime.ParseMediaType(d.header); err == nil {
		d.contentType = t
	}
	if d.typed() && kindOf(d.contentType) == kindOther && d.length >= 0 {
		return d, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBodyBytes+1))
	if err != nil {
		return nil, err
	}
	if d.cut = len(body) > maxBodyBytes; d.cut {
		body = body[:maxBodyBytes]
	}
	d.body = body
	if !d.typed() {
		d.contentType, _, _ = strings.Cut(http.DetectContentType(body), ";")
	}
	return d, nil
}

// typed reports whether the server says what the body is.
func (d *document) typed() bool {
	return d.contentType != "" && d.contentType != "application/octet-stream"
}

// shownURL is an address without password and fragment.
func shownURL(u *url.URL) string {
	shown := *u
	shown.Fragment, shown.RawFragment = "", ""
	return shown.Redacted()
}

// kind is what can be done with a content type.
type kind int

const (
	kindOther kind = iota
	kindText
	kindHTML
)

// kindOf sorts a media type, by its suffix (RFC 6838, section 4.2.8) where it
// has one.
func kindOf(mediaType string) kind {
	switch {
	case mediaType == "text/html", mediaType == "application/xhtml+xml":
		return kindHTML
	case strings.HasPrefix(mediaType, "text/"),
		strings.HasSuffix(mediaType, "+json"), strings.HasSuffix(mediaType, "+xml"), strings.HasSuffix(mediaType, "+yaml"):
		return kindText
	}
	switch mediaType {
	case "application/json", "application/xml", "application/javascript", "application/ecmascript", "application/x-javascript",
		"application/yaml", "application/x-yaml", "application/toml", "application/x-ndjson", "application/jsonl",
		"application/sql", "application/graphql", "application/x-sh", "application/x-httpd-php", "message/rfc822":
		return kindText
	}
	return kindOther
}

// render fills in the title and the text.
func (d *document) render(ctx context.Context, conv *converter, raw bool) error {
	k := kindOf(d.contentType)
	if k == kindOther || bytes.IndexByte(d.body[:min(len(d.body), sniffBytes)], 0) >= 0 && !d.wide() {
		d.text = d.describe()
		return nil
	}
	content := d.decode()
	if k == kindText || raw {
		d.text = content
		return nil
	}
	var err error
	d.title, d.text, err = conv.readable(ctx, content, d.base)
	return err
}

// sniffBytes is how much of a body is searched for a NUL byte, by which git
// tells binary from text.
const sniffBytes = 8000

// wide reports whether the body says that it is UTF-16, whose letters are
// half NUL bytes.
func (d *document) wide() bool {
	return bytes.HasPrefix(d.body, []byte("\xff\xfe")) || bytes.HasPrefix(d.body, []byte("\xfe\xff")) ||
		strings.Contains(strings.ToLower(d.header), "utf-16")
}

// describe stands for a body that is no text.
func (d *document) describe() string {
	size := fmt.Sprintf("%d bytes", len(d.body))
	switch {
	case d.body == nil && d.length >= 0:
		size = fmt.Sprintf("%d bytes", d.length)
	case d.cut:
		size = fmt.Sprintf("more than %d MiB", maxBodyBytes>>20)
	}
	return fmt.Sprintf("The document is no text: %s, %s.", d.contentType, size)
}

// decode returns the body in UTF-8. The charset is that of a byte order mark,
// the header or the page itself; without any, bytes that are valid UTF-8 are
// UTF-8, which the detection by the first kilobyte alone does not see.
func (d *document) decode() string {
	body := d.body
	if d.cut {
		body = trimPartialRune(body)
	}
	encoding, name, certain := charset.DetermineEncoding(body, d.header)
	if name == "utf-8" || !certain && utf8.Valid(body) {
		return strings.ToValidUTF8(string(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))), "\ufffd")
	}
	decoded, err := encoding.NewDecoder().Bytes(body)
	if err != nil {
		decoded = body
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(decoded), "\ufffd"), "\ufeff")
}

// trimPartialRune drops the character that a cut went through.
func trimPartialRune(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if utf8.RuneStart(b[len(b)-i]) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}
