package reply_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/internal/reply"
)

// response is an answer with a body of unknown length.
func response(contentType, body string) *http.Response {
	u := &url.URL{Scheme: "https", Host: "h.example", User: url.UserPassword("u", "pass"), Path: "/p", Fragment: "f"}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {contentType}}, ContentLength: -1,
		Body: io.NopCloser(strings.NewReader(body)), Request: &http.Request{URL: u},
	}
}

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		contentType, body string
		kind              reply.Kind
		text              string
	}{
		{"text/plain; charset=iso-8859-1", "caf\xe9", reply.Text, "caf\u00e9"},
		{"TEXT/HTML", "<p>", reply.HTML, "<p>"},
		{"", "<!doctype html><p>", reply.HTML, "<!doctype html><p>"},
		{"application/ld+json", "{}", reply.Text, "{}"},
		{"text/plain", "a\x00b", reply.Binary, "a\x00b"},
		{"text/plain; charset=utf-16", "\xff\xfea\x00", reply.Text, "a"},
		{"image/png", "\x89PNG", reply.Binary, ""},
		{"text/plain", "\xef\xbb\xbf\xffx", reply.Text, "\ufffdx"},
	} {
		a, err := reply.Read(response(tt.contentType, tt.body), true)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Kind(); got != tt.kind || tt.text != "" && a.Decode() != tt.text || a.Cut {
			t.Errorf("Read(%q, %q) = kind %d %q, want %d %q", tt.contentType, tt.body, got, a.Decode(), tt.kind, tt.text)
		}
		if a.URL != "https://u:xxxxx@h.example/p" {
			t.Errorf("URL = %s, want neither password nor fragment", a.URL)
		}
	}
}

func TestReadIsBounded(t *testing.T) {
	a, err := reply.Read(response("text/plain", strings.Repeat("\u00e9", reply.MaxBodyBytes)), false)
	if err != nil || !a.Cut || len(a.Body) != reply.MaxBodyBytes || strings.ContainsRune(a.Decode(), '\ufffd') {
		t.Errorf("Read = %d bytes, cut %t, %v, want %d and no half character", len(a.Body), a.Cut, err, reply.MaxBodyBytes)
	}
	binary := response("image/png", "\x89PNG")
	binary.ContentLength = 4
	if a, err := reply.Read(binary, false); err != nil || a.Body != nil || a.Describe() != "The document is no text: image/png, 4 bytes." {
		t.Errorf("Read without binary = %+v, %v, want it unread", a, err)
	}
}

func TestFailure(t *testing.T) {
	u := &url.URL{Scheme: "https", Host: "h.example"}
	refusal := sallyport.HostError("h.example", "")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		ctx  context.Context
		err  error
		want string
	}{
		{t.Context(), &url.Error{Err: refusal}, refusal.Error()},
		{t.Context(), errors.New("dial tcp 10.0.0.1:443: refused"), "cannot fetch https://h.example: the connection failed"},
		{t.Context(), context.DeadlineExceeded, "cannot fetch https://h.example: no answer in time"},
		{t.Context(), io.ErrUnexpectedEOF, "cannot fetch https://h.example: the answer ended early"},
		{cancelled, io.ErrUnexpectedEOF, "context canceled"},
	} {
		if got := reply.Failure(tt.ctx, u, tt.err).Error(); got != tt.want {
			t.Errorf("Failure(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}
