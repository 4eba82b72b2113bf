package httpapi_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/httpapi"
	"github.com/sallyport/sallyport/internal/attached"
)

// Add keeps a file until it is removed.
func (s *store) Add(name string, in io.Reader) (sallyport.Attachment, error) {
	a, _, err := s.storeAttachment(context.Background(), name, sallyport.KindFile, in)
	return a, err
}

// Remove deletes a file.
func (s *store) Remove(ref string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, ref)
}

// newShelfKit returns a kit that keeps uploads.
func newShelfKit(t *testing.T) *kit {
	t.Helper()
	o := &httpapi.Options{}
	k := newKitFrom(t, o, func(files *store) { o.Shelf = attached.NewShelf(files) })
	return k
}

// upload keeps a file and returns its URI.
func (k *kit) upload(t *testing.T, as, name, content string) string {
	t.Helper()
	body, kind := multipartForm(t, part{name: "file", file: name, text: content})
	got := k.do(http.MethodPost, "/v1/attachments", body, "Content-Type", kind, "Authorization", "Bearer "+as)
	var kept struct {
		URI, Name string
		Bytes     int
	}
	if err := json.Unmarshal([]byte(got.text), &kept); err != nil || got.status != http.StatusCreated || kept.Name != name || kept.Bytes != len(content) {
		t.Fatalf("an upload answers %d %s", got.status, got.text)
	}
	return kept.URI
}

func TestUploadsAreForLaterCallsOfTheirPrincipal(t *testing.T) {
	k := newShelfKit(t)
	uri := k.upload(t, "alice", "a.txt", "hello")
	body := `{"params":{},"attachments":["` + uri + `"]}`
	for range 2 {
		if got := k.execute("files", body); got.status != 200 || string(got.body.Data) != `{"a.txt":"file:hello"}` {
			t.Errorf("a call with an upload = %d %s", got.status, got.text)
		}
	}
	if got := k.execute("files", body, "Authorization", "Bearer carol"); got.status != 400 || got.body.CallID == "" || !strings.Contains(got.body.Error, "no attachment of this name") {
		t.Errorf("alice's upload as carol = %d %s", got.status, got.text)
	}
	path := "/v1/attachments/" + strings.TrimPrefix(uri, "attachment:")
	for _, tt := range []struct {
		as   string
		left int
	}{{"carol", 1}, {"alice", 0}, {"alice", 0}} {
		if got := k.do(http.MethodDelete, path, "", "Authorization", "Bearer "+tt.as); got.status != http.StatusNoContent || k.files.count() != tt.left {
			t.Errorf("DELETE as %s = %d %s, and %d files are kept, want %d", tt.as, got.status, got.text, k.files.count(), tt.left)
		}
	}
	if got := k.execute("files", body); got.status != 400 {
		t.Errorf("a call with a deleted upload = %d %s", got.status, got.text)
	}
}

func TestUploadsAreRefused(t *testing.T) {
	k := newShelfKit(t)
	file := part{name: "file", file: "a.txt", text: "hello"}
	for name, parts := range map[string][]part{
		"two files": {file, file}, "a request": {{name: "request", text: "{}"}, file}, "no file": {},
		"a large file": {{name: "file", file: "a", text: strings.Repeat("x", 1025)}},
		"no name":      {{name: "file", text: "hello"}},
	} {
		body, kind := multipartForm(t, parts...)
		if got := k.do(http.MethodPost, "/v1/attachments", body, "Content-Type", kind); got.status != 400 {
			t.Errorf("%s = %d %s", name, got.status, got.text)
		}
	}
	for _, list := range []string{`{}`, `["file:///etc/passwd"]`, `[1]`, `["attachment:x"]`, `["` + strings.Repeat(`a","`, 17) + `"]`} {
		if got := k.execute("files", `{"attachments":`+list+`}`); got.status != 400 {
			t.Errorf("attachments %s = %d %s", list, got.status, got.text)
		}
	}
}
