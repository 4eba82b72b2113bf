package action_test

import (
	"bytes"
	"image"
	"image/png"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport"
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, kind, body, more string // more members of the definition and of http
		status                 int
		value                  string
		structured             map[string]any
		fails                  string
	}{
		{name: "object", kind: "application/json; charset=utf-8", body: `{"b": 1, "a": "<x>"}`, value: `{"b":1,"a":"<x>"}`, structured: map[string]any{"b": 1.0, "a": "<x>"}},
		{name: "of a vendor", kind: "application/vnd.x+json", body: `{"b": 1}`, value: `{"b":1}`, structured: map[string]any{"b": 1.0}},
		{name: "list", kind: "application/json", body: `[1, "a"]`, value: `[1,"a"]`, structured: map[string]any{"result": []any{1.0, "a"}}},
		{name: "text in JSON", kind: "application/json", body: `"line\nline"`, value: "line\nline"},
		{name: "byte order mark", kind: "application/json", body: "\ufeff{}", value: "{}", structured: map[string]any{}},
		{name: "text", kind: "text/plain", body: `{"looks": "like JSON"}`, value: `{"looks": "like JSON"}`},
		{name: "text that is not UTF-8", kind: "text/plain", body: "a\xffb", value: "a\ufffdb"},
		{name: "no type", kind: "", body: "hello", value: "hello"},
		{name: "empty", kind: "", body: "", status: 204, value: ""},
		{name: "document", kind: "application/pdf", body: "%PDF", fails: "neither JSON nor text"},
		{name: "broken JSON", kind: "application/json", body: `{"a": 1,}`, fails: "not the JSON that was expected"},
		{name: "a key twice", kind: "application/json", body: `{"a": 1, "a": 2}`, fails: "not the JSON that was expected"},
		{name: "deep", kind: "application/json", body: strings.Repeat("[", 200) + strings.Repeat("]", 200), fails: "not the JSON that was expected"},
		{name: "large", kind: "text/plain", body: strings.Repeat("x", 5<<20+1), fails: "more than 5 MiB"},
		{name: "not found", kind: "text/plain", status: 404, body: " no such city ", fails: "answered 404 Not Found\n\nno such city"},
		{name: "failure in a picture", kind: "image/png", status: 400, body: "\x89PNG", fails: "answered 400 Bad Request\n</untrusted>"},
		{name: "long failure", kind: "text/plain", status: 400, body: strings.Repeat("é", 3000), fails: "\n\n" + strings.Repeat("é", 2000) + "\n</untrusted>"},
		{name: "not modified", kind: "", status: 304, fails: "answered 304 Not Modified"},
		{name: "value", kind: "application/json", body: `{"main": {"temp": 1.5, "say": "warm"}}`, more: `, "response": {"value": "/main/say"}`, value: "warm", structured: map[string]any{"main": map[string]any{"temp": 1.5, "say": "warm"}}},
		{name: "number as value", kind: "application/json", body: `{"l": [{"a~/b": 7}]}`, more: `, "response": {"value": "/l/0/a~0~1b"}`, value: "7", structured: map[string]any{"l": []any{map[string]any{"a~/b": 7.0}}}},
		{name: "structured", kind: "application/json", body: `{"main": {"temp": 1.5}, "rest": 1}`, more: `, "response": {"structured": "/main"}`, value: `{"temp":1.5}`, structured: map[string]any{"temp": 1.5}},
		{name: "both", kind: "application/json", body: `{"main": {"temp": 1.5}, "rest": [1]}`, more: `, "response": {"structured": "/rest", "value": "/main/temp"}`, value: `1.5`, structured: map[string]any{"result": []any{1.0}}},
		{name: "absent part", kind: "application/json", body: `{}`, more: `, "response": {"structured": "/main"}`, fails: "the answer has no /main"},
		{name: "mapping of text", kind: "text/plain", body: `hello`, more: `, "response": {"structured": "/main"}`, fails: "not the JSON that was expected"},
		{name: "returns", kind: "application/json", body: `{"temperature": 1.5}`, more: `}}, "returns": {"type": "object", "properties": {"temperature": {"type": "number"}}}, "x": {"y": {`, value: `{"temperature":1.5}`, structured: map[string]any{"temperature": 1.5}},
		{name: "returns in text", kind: "text/plain", body: `{"temperature": 1.5}`, more: `}}, "returns": {"type": "object"}, "x": {"y": {`, value: `{"temperature":1.5}`, structured: map[string]any{"temperature": 1.5}},
		{name: "forbidden by returns", kind: "application/json", body: `{"temperature": "warm"}`, more: `}}, "returns": {"type": "object", "properties": {"temperature": {"type": "number"}}}, "x": {"y": {`, fails: "returns schema forbids"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = nil
				if tt.kind != "" {
					w.Header().Set("Content-Type", tt.kind)
				}
				if tt.status != 0 {
					w.WriteHeader(tt.status)
				}
				_, _ = io.WriteString(w, tt.body)
			})
			text := `{"id": "act", "handler": {"http": {"url": "URL/"` + tt.more + `}}}`
			text = strings.Replace(text, `, "x": {"y": {}}}`, "}", 1)
			res := newGate(t, decoded(t, text, s.URL)).use(`{}`)
			if tt.fails != "" {
				if res.OK || res.Code != sallyport.CodeExecutionFailed || !strings.Contains(res.Error, tt.fails) {
					t.Errorf("result = %+v, want execution_failed with %q", res, tt.fails)
				}
				return
			}
			if d := cmp.Diff(tt.structured, res.Structured); !res.OK || d != "" || !strings.Contains(res.Value, "\n"+tt.value+"\n</untrusted>") {
				t.Errorf("result = %+v, want value %q, structured (-want +got):\n%s", res, tt.value, d)
			}
		})
	}
}

// TestWhatIsSentAgain counts the requests of failures that may pass.
func TestWhatIsSentAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, more string
		status     int
		want       int32
	}{
		{"GET 503", "", 503, 3},
		{"GET 429", "", 429, 3},
		{"GET 404", "", 404, 1},
		{"POST 503", `"method": "POST", `, 503, 1},
		{"broken connection", "", 0, 3},
		{"broken connection of a POST", `"method": "POST", `, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var n atomic.Int32
			s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
				n.Add(1)
				if tt.status == 0 {
					conn, _, err := http.NewResponseController(w).Hijack()
					if err != nil {
						t.Error(err)
						return
					}
					_ = conn.(*net.TCPConn).SetLinger(0)
					_ = conn.Close()
					return
				}
				w.WriteHeader(tt.status)
			})
			g := newGate(t, decoded(t, `{"id": "act", "handler": {"http": {`+tt.more+`"url": "URL/"}}}`, s.URL))
			if res := g.use(`{}`); res.OK || n.Load() != tt.want {
				t.Errorf("%d requests, want %d; result = %+v", n.Load(), tt.want, res)
			}
		})
	}
	var n atomic.Int32
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	g := newGate(t, decoded(t, `{"id": "act", "idempotent": true, "handler": {"http": {"method": "PUT", "url": "URL/"}}}`, s.URL))
	if res := g.use(`{}`); !res.OK || n.Load() != 2 {
		t.Errorf("%d requests, want 2; result = %+v", n.Load(), res)
	}
}

func TestTheFloorBoundsActions(t *testing.T) {
	t.Parallel()
	g := newGate(t, decoded(t, `{"id": "act", "handler": {"http": {"url": "http://169.254.169.254/latest/meta-data/"}}}`, ""))
	if res := g.use(`{}`); res.OK || !strings.HasPrefix(res.Error, "HOST_NOT_ALLOWED: 169.254.169.254 ") {
		t.Errorf("result = %+v, want the floor", res)
	}
}

// TestPersonalitiesBoundActions has a role with other hosts, binaries and
// secrets.
func TestPersonalitiesBoundActions(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for _, tt := range []struct{ text, want string }{
		{`{"id": "act", "handler": {"http": {"url": "URL/"}}}`, "HOST_NOT_ALLOWED: "},
		{`{"id": "act", "capabilities": {"secrets": ["providers/*"]}, "handler": {"http": {"url": "URL/?k={secret:providers/weather/apiKey}"}}}`, "SECRET_NOT_DECLARED: "},
		{`{"id": "act", "handler": {"exec": {"command": ["cat"]}}}`, "BINARY_NOT_ALLOWED: "},
	} {
		g := newGate(t, decoded(t, tt.text, s.URL))
		if res := g.useAs("bound", `{}`); res.OK || res.Code != sallyport.CodeExecutionFailed || !strings.HasPrefix(res.Error, tt.want) {
			t.Errorf("%s = %+v, want %s", tt.text, res, tt.want)
		}
		if len(g.Misfits("bound")) == 0 {
			t.Errorf("%s fits a role that does not allow it", tt.text)
		}
	}
	if len(s.requests()) != 0 {
		t.Errorf("requests = %+v, want none", s.requests())
	}
}

func TestAPictureIsAnswered(t *testing.T) {
	t.Parallel()
	var pixel bytes.Buffer
	if err := png.Encode(&pixel, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]sallyport.Part{
		pixel.String() + "<script>": {Kind: sallyport.PartImage, MediaType: "image/png", Data: pixel.Bytes()},
		"<script>":                  {Kind: sallyport.PartText, Text: "[a picture of 8 bytes was left out: it is no PNG, JPEG, GIF or WebP]"},
	} {
		s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/png; x=y")
			_, _ = io.WriteString(w, body)
		})
		res := newGate(t, decoded(t, `{"id": "act", "handler": {"http": {"url": "URL/"}}}`, s.URL)).use(`{}`)
		if len(res.Parts) != 1 || !res.OK || res.Parts[0].Kind != want.Kind || !bytes.Equal(res.Parts[0].Data, want.Data) || !strings.Contains(res.Parts[0].Text, want.Text) {
			t.Errorf("%q is answered as %+v", body, res)
		}
	}
}
