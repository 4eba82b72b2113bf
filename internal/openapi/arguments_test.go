package openapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/action"
)

// wire is a network that keeps the request and sends nothing.
type wire struct{ sent *http.Request }

func (w *wire) Client() *http.Client { return &http.Client{Transport: w} }

func (w *wire) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("not here")
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.sent = r
	return &http.Response{StatusCode: http.StatusNoContent, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// placed is a document with an argument in every place.
const placed = `openapi: 3.1.0
info: {title: T}
servers: [{url: "https://api.example:8443/base"}]
paths:
  /a/{one}/x-{two}.json:
    put:
      operationId: op
      parameters:
        - {name: one, in: path, required: true, schema: {}}
        - {name: two, in: path, required: true, schema: {}}
        - {name: "q[]", in: query, schema: {}}
        - {name: "r&s=1", in: query, schema: {}}
        - {name: X-Own, in: header, schema: {}}
      requestBody: {content: {application/json: {schema: {type: object, properties: {m: {}, n: {}}}}}}
      responses: {}
`

// hostile are texts that change a request where they are not held in place.
var hostile = []string{
	"", ".", "..", "/", "\\", "../..", "%2e%2e", "%2F", "?", "#", "&q=2", "=", ";", ":", "@evil.example", "//evil.example", "\r\nX-Evil: 1", "\x00",
	"{two}", "{secret:a/b}", "}}", `","evil":"`, "é", "%", "%zz", "+", " ", "\u202e", "http://evil.example/",
}

// TestArgumentsChangeNothingButTheirPlace sends whatever texts through the
// tool that package action makes of an imported operation.
func TestArgumentsChangeNothingButTheirPlace(t *testing.T) {
	tool := toolOf(t, definitions(t, imports(t, placed, nil))["op"])
	sent := 0
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom(hostile), rapid.Map(rapid.SliceOfN(rapid.SampledFrom(hostile), 1, 4), func(s []string) string { return strings.Join(s, "") }))
		args := map[string]any{}
		for _, name := range []string{"one", "two", "q_", "r_s_1", "X-Own", "m", "n"} {
			if rapid.IntRange(0, 9).Draw(t, "absent "+name) > 0 {
				args[name] = strings.ToValidUTF8(text.Draw(t, name), "")
			}
		}
		if send(t, tool, args) {
			sent++
		}
	})
	if sent == 0 {
		t.Error("every request was refused")
	}
}

// toolOf is the tool of a definition.
func toolOf(t testing.TB, d *action.Definition) sallyport.Tool {
	t.Helper()
	tool, err := d.Tool()
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// send calls the tool and holds its request to the document. It returns false
// when nothing was sent.
func send(t *rapid.T, tool sallyport.Tool, args map[string]any) bool {
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatalf("Marshal = %v", err)
	}
	w := &wire{}
	if _, err := tool.Run(t.Context(), &sallyport.Call{Args: text, Network: w, Emit: func(sallyport.Progress) {}}); w.sent == nil {
		if e, ok := errors.AsType[*sallyport.Error](err); !ok || e.Code != sallyport.CodeInputInvalid {
			t.Fatalf("Run(%s) = %v, want a request or input_invalid", text, err)
		}
		return false
	}
	r := w.sent
	if r.Method != http.MethodPut || r.URL.Scheme != "https" || r.URL.Host != "api.example:8443" || r.Host != "api.example:8443" || r.URL.User != nil || r.URL.Fragment != "" {
		t.Fatalf("%s is sent as %s %s", text, r.Method, r.URL)
	}
	segments := strings.Split(r.URL.EscapedPath(), "/")
	if len(segments) != 5 || segments[1] != "base" || segments[2] != "a" || !strings.HasPrefix(segments[4], "x-") || !strings.HasSuffix(segments[4], ".json") {
		t.Fatalf("the path of %s is %s", text, r.URL.EscapedPath())
	}
	if one, err := url.PathUnescape(segments[3]); err != nil || one != args["one"] {
		t.Fatalf("the segment of %s is %q", text, segments[3])
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	for name, values := range query {
		if name != "q[]" && name != "r&s=1" || len(values) != 1 {
			t.Fatalf("the query of %s is %q", text, query)
		}
	}
	if names := slices.Sorted(maps.Keys(r.Header)); err != nil || !subset(names, "Accept", "Content-Type", "User-Agent", "X-Own") {
		t.Fatalf("the headers of %s are %q", text, names)
	}
	body, err := io.ReadAll(r.Body)
	var members map[string]any
	if err != nil || json.Unmarshal(body, &members) != nil || !subset(slices.Sorted(maps.Keys(members)), "m", "n") {
		t.Fatalf("the body of %s is %s", text, body)
	}
	return true
}

func subset(names []string, of ...string) bool {
	return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(of, n) })
}
