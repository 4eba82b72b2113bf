package httpreq

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/tools/internal/reply"
)

const (
	// passBytes bounds the text that is handed to the gate, which cuts it to
	// the budget and tells the full length.
	passBytes = 1 << 20
	// structuredBytes bounds the body beside the text as it is written in
	// JSON, so that the whole stays below the gate's own bound of 256 KiB.
	structuredBytes = 160 << 10
	// headerBytes bounds the headers beside the text.
	headerBytes = 32 << 10
)

// newAnswerResult renders an answer: the body as the value, below the status when that
// is not 200, and {url, status, headers, body} beside it.
func newAnswerResult(a *reply.Answer, h http.Header) sallyport.Result {
	shown, body, encoding, whole := contentOf(a)
	if a.Status != http.StatusOK {
		shown = strings.TrimSpace(fmt.Sprintf("HTTP %d %s", a.Status, http.StatusText(a.Status))) + "\n\n" + shown
	}
	r := sallyport.OK(text.FirstBytes(shown, passBytes))
	r.Source = a.URL
	r.Structured = map[string]any{"url": a.URL, "status": a.Status, "headers": joinHeaders(h), "body": body}
	if encoding != "" {
		r.Structured["encoding"] = encoding
	}
	if !whole {
		r.Structured["truncated"] = true
	}
	return r
}

// contentOf returns the body: as text for the value, and for the structured
// part as JSON when it is that, as base64 when it is no text, else as text.
// whole is false when the structured part has less than the server sent.
func contentOf(a *reply.Answer) (text string, body any, encoding string, whole bool) {
	if len(a.Body) == 0 {
		return "", "", "", true
	}
	if a.Kind() == reply.Binary {
		// Four characters of base64 stand for three bytes.
		part := a.Body[:min(len(a.Body), structuredBytes*3/4)]
		return a.Describe() + " The structured result holds its bytes in base64.",
			base64.StdEncoding.EncodeToString(part), "base64", len(part) == len(a.Body) && !a.Cut
	}
	text = a.Decode()
	if !a.Cut && isJSON(a.ContentType) {
		if v, ok := parseJSON(text); ok && jsonLength(v) <= structuredBytes {
			return text, v, "", true
		}
	}
	part := fitAsJSON(text)
	return text, part, "", len(part) == len(text) && !a.Cut
}

// fitAsJSON cuts a text so that it is short enough as JSON, where one character may
// become six.
func fitAsJSON(s string) string {
	s = text.FirstBytes(s, structuredBytes)
	for n := jsonLength(s); n > structuredBytes; n = jsonLength(s) {
		s = text.FirstBytes(s, len(s)*structuredBytes/n)
	}
	return s
}

func jsonLength(v any) int {
	raw, err := json.Marshal(v)
	if err != nil {
		return structuredBytes + 1
	}
	return len(raw)
}

func isJSON(mediaType string) bool {
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
}

// parseJSON decodes one JSON value; ok is false for anything else. It keeps
// numbers as they are written.
func parseJSON(text string) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	if d.Decode(&v) != nil || d.Decode(new(any)) != io.EOF {
		return nil, false
	}
	return v, true
}

// joinHeaders returns the headers of an answer by lower-case name, the values of
// one name joined by commas. What goes beyond the bound is left out, the last
// names first.
func joinHeaders(h http.Header) map[string]any {
	out, left := map[string]any{}, headerBytes
	for _, name := range slices.Sorted(maps.Keys(h)) {
		value := strings.ToValidUTF8(strings.Join(h[name], ", "), "\ufffd")
		if left -= len(name) + len(value); left < 0 {
			break
		}
		out[strings.ToLower(name)] = value
	}
	return out
}
