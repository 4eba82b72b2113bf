package httpapi_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/httpapi"
)

// part is one part of a multipart body.
type part struct{ name, file, kind, text string }

// multipartForm builds a multipart body and its content type.
func multipartForm(t *testing.T, parts ...part) (body, kind string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		h := textproto.MIMEHeader{}
		disposition := fmt.Sprintf(`form-data; name=%q`, p.name)
		if p.file != "" {
			disposition += `; filename="` + p.file + `"`
		}
		h.Set("Content-Disposition", disposition)
		if p.kind != "" {
			h.Set("Content-Type", p.kind)
		}
		out, err := w.CreatePart(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(out, p.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), w.FormDataContentType()
}

func TestFilesReachTheToolAndGoWithTheCall(t *testing.T) {
	k := newKit(t, nil)
	body, kind := multipartForm(
		t, part{name: "request", text: `{"params":{},"session":"s"}`},
		part{name: "file", file: "a.txt", text: "hello"}, part{name: "file", file: "b.png", kind: "image/png", text: "\x89PNG"},
	)
	got := k.execute("files", body, "Content-Type", kind)
	if want := `{"a.txt":"file:hello","b.png":"image:` + "\ufffd" + `PNG"}`; got.status != 200 || string(got.body.Data) != want {
		t.Errorf("files = %d %s, want %s", got.status, got.text, want)
	}
	if n := k.files.count(); n != 0 {
		t.Errorf("%d files are kept after the call", n)
	}
	if e := k.record.outcome(t, got.body.CallID); e.Session != "s" {
		t.Errorf("recorded session %q, want s", e.Session)
	}
	body, kind = multipartForm(t, part{name: "file", file: "a.txt", text: "alone"})
	if got := k.execute("files", body, append([]string{"Content-Type", kind}, asStream...)...); !strings.Contains(got.text, `{"a.txt":"file:alone"}`) {
		t.Errorf("a stream with a file alone = %d %s", got.status, got.text)
	}
	if got := k.execute("echo", body, "Content-Type", kind); got.status != 200 {
		t.Errorf("a tool that takes no files = %d %s, want 200 without them", got.status, got.text)
	}
}

func TestABrokenFormIsRefusedAndRecorded(t *testing.T) {
	k := newKit(t, nil)
	many := make([]part, 17)
	for i := range many {
		many[i] = part{name: "file", file: fmt.Sprint(i), text: "x"}
	}
	tests := map[string][]part{
		"unknown part":         {{name: "data", text: "x"}},
		"broken request":       {{name: "request", text: `{"a":1}`}},
		"two requests":         {{name: "request", text: `{}`}, {name: "request", text: `{}`}},
		"request after a file": {{name: "file", file: "a", text: "x"}, {name: "request", text: `{}`}},
		"long request":         {{name: "request", text: `{"params":{"a":"` + strings.Repeat("x", 70_000) + `"}}`}},
		"file without a name":  {{name: "file", text: "x"}},
		"name with a break":    {{name: "file", file: `a\` + "\x01" + `b`, text: "x"}},
		"name of a folder":     {{name: "file", file: "..", text: "x"}},
		"name of this folder":  {{name: "file", file: ".", text: "x"}},
		"long name":            {{name: "file", file: strings.Repeat("n", 300), text: "x"}},
		"too many files":       many,
		"a file too large":     {{name: "file", file: "a", text: "x"}, {name: "file", file: "b", text: strings.Repeat("x", 2000)}},
	}
	for name, parts := range tests {
		t.Run(name, func(t *testing.T) {
			body, kind := multipartForm(t, parts...)
			got := k.execute("files", body, "Content-Type", kind)
			if got.status != 400 || got.body.Code != sallyport.CodeInputInvalid || strings.Contains(got.text, "/var/private") {
				t.Errorf("= %d %s, want 400 input_invalid without the store's words", got.status, got.text)
			}
			k.record.outcome(t, got.body.CallID)
			if n := k.files.count(); n != 0 {
				t.Errorf("%d files are kept", n)
			}
		})
	}
	for name, body := range map[string]string{
		"cut": "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nabc", "no parts": "nothing", "empty": "",
		"encoded": "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\nContent-Transfer-Encoding: base64\r\n\r\nYQ==\r\n--x--\r\n",
	} {
		if got := k.execute("files", body, "Content-Type", "multipart/form-data; boundary=x"); got.status != 400 {
			t.Errorf("%s = %d %s, want 400", name, got.status, got.text)
		}
	}
	if got := k.execute("files", "", "Content-Type", "multipart/form-data"); got.status != 400 {
		t.Errorf("no boundary = %d %s, want 400", got.status, got.text)
	}
}

func TestFilesAreBoundedTogether(t *testing.T) {
	files := &store{files: map[string][]byte{}}
	k := newKit(t, &httpapi.Options{Uploads: files.storeAttachment, MaxUpload: 1500})
	body, kind := multipartForm(t, part{name: "file", file: "a", text: strings.Repeat("x", 900)}, part{name: "file", file: "b", text: strings.Repeat("x", 900)})
	if got := k.execute("files", body, "Content-Type", kind); got.status != 413 {
		t.Errorf("a long form = %d %s, want 413", got.status, got.text)
	}
	res := k.open(http.MethodPost, "/v1/actions/files/execute", struct{ io.Reader }{strings.NewReader(body)}, "Content-Type", kind)
	res.Body.Close()
	if res.StatusCode != 413 || files.count() != 0 {
		t.Errorf("a long form without a length = %d with %d files kept, want 413", res.StatusCode, files.count())
	}
}
