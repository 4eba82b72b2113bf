package attached

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/schema"
)

const (
	// Scheme begins the URI of an attachment that is kept. What follows is its ref.
	Scheme = "attachment:"

	// maxName bounds the name of a file, in bytes.
	maxName = 200
)

// Content is a file that stands in a message, or the name of one that is kept.
type Content struct {
	// Name is the name of the file, for display.
	Name string
	// Data is the content; nil for the name of a kept file.
	Data []byte
	// Ref is the ref of a kept file; empty for content.
	Ref string
}

// piece is a piece of content as the protocol has it.
type piece struct {
	Type     string        `json:"type"`
	Data     *string       `json:"data"`
	Kind     string        `json:"mimeType"`
	URI      string        `json:"uri"`
	Resource *resourceForm `json:"resource"`
}

type resourceForm struct {
	URI  string  `json:"uri"`
	Kind string  `json:"mimeType"`
	Text *string `json:"text"`
	Blob *string `json:"blob"`
}

// ReadContent reads a piece of content: an embedded resource, a picture, a sound, or a
// link to a file that is kept. It is strict: no key comes twice, base64 has its
// padding, and content that is said to be a picture is one. It reads nothing
// from any URI. ok is false for a value that is no such object at all.
func ReadContent(value json.RawMessage) (c Content, ok bool, err error) {
	if len(value) == 0 || value[0] != '{' {
		return c, false, nil
	}
	if _, err := schema.Decode(value, nil); err != nil {
		return c, true, fmt.Errorf("a file cannot be read: %w", err)
	}
	var p piece
	if json.Unmarshal(value, &p) != nil {
		return c, true, errors.New("a file is not in the form of content")
	}
	switch p.Type {
	case "resource":
		c, err = p.Resource.readContent()
		return c, true, err
	case "image", "audio":
		if p.Data == nil {
			return c, true, fmt.Errorf("an %s has no data", p.Type)
		}
		c.Name = p.Type
		err = c.setBlob(*p.Data, cmp.Or(p.Kind, p.Type+"/*"))
		return c, true, err
	case "resource_link":
		ref, known := strings.CutPrefix(p.URI, Scheme)
		if !known || ref == "" {
			return c, true, fmt.Errorf("a link to a file is not followed, unless it is one of %s, which an upload returns", Scheme)
		}
		return Content{Ref: ref}, true, nil
	default:
		return c, false, nil
	}
}

func (r *resourceForm) readContent() (c Content, err error) {
	switch {
	case r == nil || r.URI == "":
		return c, errors.New("a resource has no URI")
	case (r.Text == nil) == (r.Blob == nil):
		return c, errors.New("a resource needs either text or blob")
	}
	c.Name = nameOf(r.URI)
	if r.Blob != nil {
		return c, c.setBlob(*r.Blob, r.Kind)
	}
	c.Data = []byte(*r.Text)
	return c, c.checkKind(r.Kind)
}

func (c *Content) setBlob(blob, kind string) (err error) {
	if c.Data, err = base64.StdEncoding.Strict().DecodeString(blob); err != nil {
		return errors.New("the data of a file is not base64")
	}
	return c.checkKind(kind)
}

// checkKind refuses content that is said to be a picture and is none, or is one
// and said to be something else that is named.
func (c *Content) checkKind(said string) error {
	is := http.DetectContentType(c.Data)
	said = strings.ToLower(said)
	if said == "" || said == "application/octet-stream" {
		return nil
	}
	if strings.HasPrefix(said, "image/") != strings.HasPrefix(is, "image/") && !strings.HasPrefix(said, "image/svg") {
		return fmt.Errorf("a file is said to be %s, and its content is %s", text.ClipBytes(said, 64), is)
	}
	return nil
}

// nameOf returns the last segment of a URI, as the name of a file.
func nameOf(uri string) string {
	name := uri
	if u, err := url.Parse(uri); err == nil {
		name = cmp.Or(u.Path, u.Opaque, u.Host)
	}
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || !unicode.IsPrint(r) || r == '/' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	name = text.FirstBytes(name, maxName)
	if name == "" || name == "." || name == ".." {
		return "attachment"
	}
	return name
}

// InlineText returns content in a form in which a tool takes it as a value.
func (f Form) InlineText(data []byte) (string, error) {
	if f == FormBase64 {
		return base64.StdEncoding.EncodeToString(data), nil
	}
	if !utf8.Valid(data) {
		return "", errors.New("the tool takes a text, and the file is none in UTF-8")
	}
	return string(data), nil
}

// InlineSize returns the least number of bytes that content of so many bytes has in a form.
func (f Form) InlineSize(n int64) int64 {
	if f == FormBase64 {
		return (n + 2) / 3 * 4
	}
	return n
}
