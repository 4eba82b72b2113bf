package action

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport"
	"pgregory.net/rapid"
)

// everywhere has a placeholder in every place that takes one.
func everywhere(t testing.TB) *compiledRequest {
	t.Helper()
	d := &Definition{
		ID:         "act",
		Parameters: json.RawMessage(`{"type": "object", "properties": {"a": {}, "b": {}, "c": {}, "d": {}, "e": {}}}`),
		Handler: Handler{HTTP: &HTTP{
			Method: "POST", URL: "https://api.example:8443/v1/{a}/x-{b}.json?q={c}&fixed=1", Query: map[string]string{"r": "{d}", "s": "<{e}>"},
			Headers: map[string]string{"X-One": "{a}", "X-Two": "v {e}"},
			Body:    json.RawMessage(`{"a": "{a}", "deep": [{"b": "say {b}"}], "fixed": "{{a}}"}`),
		}},
	}
	b := toolBuilder{d: d}
	c := handlerCompiler{b: &b, at: "/handler/http", params: b.paramNames(), secrets: map[string]bool{}}
	r := c.compileRequest(d.Handler.HTTP)
	if len(b.faults) > 0 {
		t.Fatal(b.faults)
	}
	return r
}

// hostile are texts that change a request where they are not held in place.
var hostile = []string{
	"", ".", "..", "/", "\\", "../..", "..\\..", "%2e%2e", "%2F", "a/../b", "?", "#", "&q=2", "=", ";", ":", "@evil.example", "//evil.example",
	"\r\nX-Evil: 1", "\n", "\x00", "\u2028", "{a}", "{secret:a/b}", "}}", `","evil":"`, `\u0022`, "é", "%", "%zz", "+", " ", "\u202e", "\U0001f600", "http://evil.example/",
}

func argument() *rapid.Generator[any] {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom(hostile), rapid.Map(rapid.SliceOfN(rapid.SampledFrom(hostile), 1, 4), func(s []string) string { return strings.Join(s, "") }))
	return rapid.OneOf(
		rapid.Map(text, func(s string) any { return strings.ToValidUTF8(s, "") }),
		rapid.Map(rapid.Int(), func(i int) any { return json.Number(formatInt(i)) }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.SliceOfN(text, 0, 3), func(l []string) any {
			list := make([]any, len(l))
			for i := range l {
				list[i] = strings.ToValidUTF8(l[i], "")
			}
			return list
		}),
		rapid.Just[any](nil),
		rapid.Map(text, func(s string) any { return map[string]any{"k": strings.ToValidUTF8(s, "")} }),
	)
}

// TestArgumentsStayInTheirPlaces sends whatever arguments and reads the request
// back as a server does.
func TestArgumentsStayInTheirPlaces(t *testing.T) {
	t.Parallel()
	r := everywhere(t)
	sent := 0
	rapid.Check(t, func(t *rapid.T) {
		v := &callValues{args: map[string]any{}}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			if rapid.IntRange(0, 9).Draw(t, "absent "+name) > 0 {
				v.args[name] = argument().Draw(t, name)
			}
		}
		req, err := r.buildRequest(t.Context(), v)
		if err != nil {
			if e, ok := err.(*sallyport.Error); !ok || e.Code != sallyport.CodeInputInvalid {
				t.Fatalf("build = %v, want a request or input_invalid", err)
			}
			return
		}
		sent++
		check(t, req, v)
	})
	if sent == 0 {
		t.Error("every request was refused")
	}
}

// fataler is a test of either kind.
type fataler interface {
	Fatalf(format string, args ...any)
}

// check holds a request as it is on the wire to its definition.
func check(t fataler, req *http.Request, v *callValues) {
	var wire bytes.Buffer
	if err := req.Write(&wire); err != nil {
		t.Fatalf("Write = %v", err)
	}
	text := wire.String()
	got, err := http.ReadRequest(bufio.NewReader(&wire))
	if err != nil {
		t.Fatalf("ReadRequest = %v", err)
	}
	if req.URL.Scheme != "https" || got.Host != "api.example:8443" || got.Method != "POST" {
		t.Fatalf("request of %v goes to %s %s %s", v.args, got.Method, req.URL.Scheme, got.Host)
	}
	if names := slices.Sorted(maps.Keys(got.Header)); !subset(names, []string{"Accept", "Content-Length", "Content-Type", "User-Agent", "X-One", "X-Two"}) {
		t.Fatalf("headers = %q", names)
	}
	path, _, _ := strings.Cut(got.RequestURI, "?")
	segments := strings.Split(path, "/")
	if len(segments) != 4 || segments[1] != "v1" || !strings.HasPrefix(segments[3], "x-") || !strings.HasSuffix(segments[3], ".json") {
		t.Fatalf("path = %q of\n%s", path, text)
	}
	a, _ := scalarText("a", v.args["a"])
	if plain, err := url.PathUnescape(segments[2]); err != nil || plain != a || plain == "." || plain == ".." || plain == "" {
		t.Fatalf("segment = %q, want the one of %q", segments[2], a)
	}
	query, err := url.ParseQuery(got.URL.RawQuery)
	if names := slices.Sorted(maps.Keys(query)); err != nil || !subset(names, []string{"fixed", "q", "r", "s"}) || query.Get("fixed") != "1" {
		t.Fatalf("query = %q, %v", names, err)
	}
	body, err := io.ReadAll(got.Body)
	var tree map[string]any
	if err != nil || json.Unmarshal(body, &tree) != nil || tree["fixed"] != "{a}" || len(tree) > 3 {
		t.Fatalf("body = %s, %v", body, err)
	}
	// The body keeps the type of the argument.
	want, _ := json.Marshal(v.args["a"])
	have, _ := json.Marshal(tree["a"])
	if _, number := v.args["a"].(json.Number); !number && !cmp.Equal(string(want), string(have)) {
		t.Fatalf("body has %s in the place of %s", have, want)
	}
}

func subset(names, of []string) bool {
	return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(of, n) })
}

// TestNoWayUp tries segments of one and of two arguments.
func TestNoWayUp(t *testing.T) {
	t.Parallel()
	b := toolBuilder{d: &Definition{}}
	c := handlerCompiler{b: &b, params: []string{"p", "q"}, secrets: map[string]bool{}}
	r := c.compileRequest(&HTTP{URL: "https://a.example/x/{p}{q}/y"})
	for _, tt := range []struct {
		p, q string
		ok   bool
	}{
		{"a", "b", true},
		{"a/b", "", true},
		{"..a", "", true},
		{"1.", "5", true},
		{"...", "", true},
		{"100%", "", true},
		{"a;b", "", true},
		{"", "", false},
		{".", "", false},
		{"..", "", false},
		{".", ".", false},
		{"..", "/x", false},
		{"a/", "../b", false},
		{"a\\", "..\\b", false},
		{"%2e", "%2E", false},
		{"%", "2e", false},
		{"%25", "2e%252e", false},
		{"%zz/%2e", ".", false},
		{"..;a", "/b", false},
		{"a/.", "", false},
		{"%" + strings.Repeat("25", 1000), "", true},
		{"%" + strings.Repeat("25", 4<<20), "", false},
		{strings.Repeat("a", 9000), "", false},
	} {
		_, err := r.buildRequest(t.Context(), &callValues{args: map[string]any{"p": tt.p, "q": tt.q}})
		if tt.ok != (err == nil) {
			t.Errorf("the segment of %q and %q = %v, want taken %t", tt.p, tt.q, err, tt.ok)
		}
	}
}

// FuzzArguments is the same for one text in all places.
func FuzzArguments(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	r := everywhere(f)
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "")
		v := &callValues{args: map[string]any{"a": s, "b": s, "c": s, "d": []any{s, s}, "e": s}}
		if req, err := r.buildRequest(t.Context(), v); err == nil {
			check(t, req, v)
			if list := req.URL.Query()["r"]; len(list) != 2 || list[0] != s || req.URL.Query().Get("q") != s {
				t.Fatalf("query = %v, want %q in its places", req.URL.Query(), s)
			}
		}
	})
}

// FuzzURL: whatever URL a definition has, it is refused or its origin stands.
func FuzzURL(f *testing.F) {
	for _, s := range []string{"https://a.example/{p}", "https://a.example", "http://[::1]:80/x?{p}", "https://a.example/%2e%2e/{p}?a={p}&b", "https://A.EXAMPLE./{p}//", "https://a.example/{{}}", "https://a.example/x?&&=1"} {
		f.Add(s, "x")
		f.Add(s, "../..")
	}
	f.Fuzz(func(t *testing.T, text, arg string) {
		b := toolBuilder{d: &Definition{}}
		c := handlerCompiler{b: &b, params: []string{"p"}, secrets: map[string]bool{}}
		r := c.compileRequest(&HTTP{URL: text})
		if len(b.faults) > 0 {
			return
		}
		req, err := r.buildRequest(t.Context(), &callValues{args: map[string]any{"p": strings.ToValidUTF8(arg, "")}})
		if err != nil {
			return
		}
		if req.URL.Scheme+"://"+req.URL.Host != r.scheme+"://"+r.host || req.URL.User != nil || !strings.HasPrefix(text, r.scheme+"://") {
			t.Fatalf("%q with %q goes to %s", text, arg, req.URL)
		}
		for _, s := range strings.Split(req.URL.EscapedPath(), "/") {
			if plain, err := url.PathUnescape(s); err != nil || plain == "." || plain == ".." {
				t.Fatalf("%q with %q has the segment %q", text, arg, s)
			}
		}
	})
}
