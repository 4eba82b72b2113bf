package action_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport"
)

const weather = `{
	"id": "act", "description": "Fetch current weather",
	"parameters": {
		"location": {"type": "string", "required": true}, "unit": {"type": "string", "enum": ["c", "f"], "default": "c"},
		"days": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}, "lang": {"type": "string"}, "exact": {"type": "boolean"}
	},
	"capabilities": {"secrets": ["providers/weather/apiKey"]},
	"handler": {"http": {
		"url": "URL/data/{location}/now?unit={unit}&fixed=a%20b", "query": {"days": "{days}", "tag": "{tags}", "exact": "{exact}", "limit": 5},
		"headers": {"X-Api-Key": "{secret:providers/weather/apiKey}", "Accept-Language": "{lang}"}
	}}
}`

func TestArgumentsGoToTheirPlaces(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	g := newGate(t, decoded(t, weather, s.URL))
	res := g.use(`{"location": "São/../Paulo?x=1#f&unit=k", "days": 1e1, "tags": ["a&b", "c"], "exact": true, "lang": "pt"}`)
	if res.OK || res.Code != sallyport.CodeInputInvalid {
		t.Errorf("a way up in a segment = %+v, want input_invalid", res)
	}
	res = g.use(`{"location": "São/Paulo?x=1#f&unit=k", "days": 1e1, "tags": ["a&b", "c"], "exact": true, "lang": "pt"}`)
	if !res.OK {
		t.Fatalf("result = %+v, want a success", res)
	}
	asked := s.requests()
	if len(asked) != 1 {
		t.Fatalf("%d requests, want 1", len(asked))
	}
	want := "/data/S%C3%A3o%2FPaulo%3Fx%3D1%23f%26unit%3Dk/now?unit=c&fixed=a+b&days=10&exact=true&limit=5&tag=a%26b&tag=c"
	if d := cmp.Diff(want, asked[0].URI); d != "" {
		t.Errorf("target (-want +got):\n%s", d)
	}
	if got := asked[0].Header.Get("X-Api-Key"); got != apiKey {
		t.Errorf("X-Api-Key = %q, want the secret", got)
	}
	if d := cmp.Diff(map[string]any{"ok": true}, res.Structured); d != "" {
		t.Errorf("structured (-want +got):\n%s", d)
	}
	if !strings.Contains(res.Value, `{"ok":true}`) || !strings.HasPrefix(res.Value, `<untrusted source="`+s.URL+`/data/`) {
		t.Errorf("value = %q, want the wrapped text of the answer", res.Value)
	}
}

func TestAbsentArguments(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	g := newGate(t, decoded(t, weather, s.URL))
	if res := g.use(`{"location": "x"}`); !res.OK {
		t.Fatalf("result = %+v, want a success", res)
	}
	asked := s.requests()[0]
	if want := "/data/x/now?unit=c&fixed=a+b&limit=5"; asked.URI != want {
		t.Errorf("target = %s, want %s", asked.URI, want)
	}
	if _, ok := asked.Header["Accept-Language"]; ok {
		t.Error("a header without its argument was sent")
	}
	optional := `{"id": "act", "parameters": {"x": {"type": "string"}}, "handler": {"http": {"url": "URL/a/{x}"}}}`
	g = newGate(t, decoded(t, optional, s.URL))
	if res := g.use(`{}`); res.Code != sallyport.CodeInputInvalid || !strings.Contains(res.Error, "/x: is needed for the path") {
		t.Errorf("result = %+v, want input_invalid", res)
	}
}

func TestBodyKeepsTypes(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	g := newGate(t, decoded(t, `{"id": "act",
		"parameters": {"n": {"type": "number"}, "o": {"type": "object"}, "s": {"type": "string"}, "absent": {"type": "string"}},
		"handler": {"http": {"method": "PUT", "url": "URL/", "body": {"n": "{n}", "o": "{o}", "text": "say {s}, {{s}}", "absent": "{absent}", "mixed": "a {absent}", "list": ["{s}", "{absent}", 1, null], "raw": true}}}
	}`, s.URL))
	if res := g.use(`{"n": 1.50, "o": {"k": ["{s}"]}, "s": "\"},{secret:providers/weather/apiKey}<{n}"}`); !res.OK {
		t.Fatalf("result = %+v, want a success", res)
	}
	asked := s.requests()[0]
	want := `{"list":["\"},{secret:providers/weather/apiKey}<{n}",1,null],"n":1.5,"o":{"k":["{s}"]},"raw":true,"text":"say \"},{secret:providers/weather/apiKey}<{n}, {s}"}`
	if d := cmp.Diff(want, asked.Body); d != "" {
		t.Errorf("body (-want +got):\n%s", d)
	}
	if asked.Method != "PUT" || asked.Header.Get("Content-Type") != "application/json" {
		t.Errorf("request = %+v, want a PUT of JSON", asked)
	}
}

// TestSecretsDoNotComeBack lets a server send back all it got.
func TestSecretsDoNotComeBack(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 404, 500} {
		s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			body, _ := io.ReadAll(r.Body)
			_, _ = io.WriteString(w, "you sent "+r.RequestURI+" "+r.Header.Get("Authorization")+string(body))
		})
		g := newGate(t, decoded(t, `{"id": "act", "capabilities": {"secrets": ["providers/*"]},
			"handler": {"http": {"url": "URL/x?appid={secret:providers/weather/apiKey}", "headers": {"Authorization": "Bearer {secret:providers/weather/apiKey}"}}}}`, s.URL))
		res := g.use(`{}`)
		if res.OK != (status == 200) || !strings.Contains(res.Value+res.Error, "you sent") {
			t.Errorf("result of %d = %+v", status, res)
		}
		if got := s.requests()[0]; got.Header.Get("Authorization") != "Bearer "+apiKey || !strings.Contains(got.URI, "?appid=k3y-correct-horse%2Fbattery%2Bstaple") {
			t.Errorf("request = %+v, want the secret in both places", got)
		}
		if status == 500 && len(s.requests()) != 3 {
			t.Errorf("%d requests, want 3: a GET is sent again", len(s.requests()))
		}
		all := res.Value + res.Error + res.Source + strings.Join(g.progress, "\n") + g.record.text.String()
		if strings.Contains(all, "correct-horse") || strings.Contains(all, "battery") {
			t.Errorf("the secret came back: %s", all)
		}
	}
}

// TestNoPartOfASecretIsCutOff lets a server end what is shown of a failure
// within the secret.
func TestNoPartOfASecretIsCutOff(t *testing.T) {
	t.Parallel()
	for pad := 2000 - len(apiKey) - 10; pad < 2001; pad++ {
		s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, strings.Repeat("x", pad)+r.Header.Get("X-Key")+strings.Repeat("y", 50))
		})
		g := newGate(t, decoded(t, `{"id": "act", "capabilities": {"secrets": ["providers/*"]},
			"handler": {"http": {"url": "URL/", "headers": {"X-Key": "{secret:providers/weather/apiKey}"}}}}`, s.URL))
		if res := g.use(`{}`); res.OK || strings.Contains(res.Error, apiKey[:3]) {
			t.Fatalf("result with %d characters before the secret = %q", pad, res.Error)
		}
	}
}

func TestSecretsThatWouldBreakAHeaderAreNotSent(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	g := newGate(t, decoded(t, `{"id": "act", "capabilities": {"secrets": ["bad/header"]},
		"handler": {"http": {"url": "URL/", "headers": {"X-Key": "{secret:bad/header}"}}}}`, s.URL))
	if res := g.use(`{}`); res.Code != sallyport.CodeExecutionFailed || strings.Contains(res.Error, "lines-of-text") || len(s.requests()) != 0 {
		t.Errorf("result = %+v with %d requests, want a failure that sends nothing", res, len(s.requests()))
	}
}

// TestSecretsStayWithTheirHost redirects to another origin.
func TestSecretsStayWithTheirHost(t *testing.T) {
	t.Parallel()
	other := newSite(t, nil)
	for _, status := range []int{302, 307, 308} {
		s := newSite(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL+"/stolen", status) })
		port := other.Listener.Addr().String()
		for _, text := range []string{
			`{"id": "act", "capabilities": {"secrets": ["providers/*"], "network": {"allowedHosts": ["HERE", "THERE"]}},
				"handler": {"http": {"url": "URL/", "headers": {"X-Key": "{secret:providers/weather/apiKey}"}}}}`,
			`{"id": "act", "capabilities": {"secrets": ["providers/*"], "network": {"allowedHosts": ["HERE", "THERE"]}},
				"handler": {"http": {"url": "URL/", "method": "POST", "body": {"key": "{secret:providers/weather/apiKey}"}}}}`,
			`{"id": "act", "capabilities": {"network": {"allowedHosts": ["HERE", "THERE"]}}, "parameters": {"m": {"type": "string"}},
				"handler": {"http": {"url": "URL/", "method": "POST", "body": {"m": "{m}"}}}}`,
		} {
			text = strings.NewReplacer("HERE", s.Listener.Addr().String(), "THERE", port).Replace(text)
			g := newGate(t, decoded(t, text, s.URL))
			if res := g.use(`{}`); res.OK || !strings.Contains(res.Error, "does not follow") {
				t.Errorf("result of %d = %+v, want a redirect that is not followed", status, res)
			}
		}
	}
	if got := other.requests(); len(got) != 0 {
		t.Errorf("the other host got %+v", got)
	}
}

func TestRedirectsWithoutSecretsAreFollowedWithinTheGrant(t *testing.T) {
	t.Parallel()
	other := newSite(t, nil)
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/there", http.StatusFound)
	})
	text := `{"id": "act", "capabilities": {"network": {"allowedHosts": ["HERE"ALSO]}}, "handler": {"http": {"url": "URL/"}}}`
	text = strings.ReplaceAll(text, "HERE", s.Listener.Addr().String())
	g := newGate(t, decoded(t, strings.ReplaceAll(text, "ALSO", `, "`+other.Listener.Addr().String()+`"`), s.URL))
	if res := g.use(`{}`); !res.OK || res.Source != other.URL+"/there" {
		t.Errorf("result = %+v, want a success that says who answered", res)
	}
	g = newGate(t, decoded(t, strings.ReplaceAll(text, "ALSO", ""), s.URL))
	if res := g.use(`{}`); !strings.HasPrefix(res.Error, "HOST_NOT_ALLOWED: ") {
		t.Errorf("result = %+v, want HOST_NOT_ALLOWED", res)
	}
}

func TestOverTLSTheCertificateCounts(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	// The certificate is for other names.
	url := strings.Replace(s.URL, "127.0.0.1", "a.example.org", 1)
	g := newGate(t, decoded(t, `{"id": "act", "handler": {"http": {"url": "URL/"}}}`, url))
	if res := g.use(`{}`); res.OK || !strings.Contains(res.Error, "the connection failed") {
		t.Errorf("result = %+v, want a failed connection: nothing vouches for the certificate", res)
	}
}

func TestHeaderArgumentsAddNoHeader(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	g := newGate(t, decoded(t, `{"id": "act", "parameters": {"h": {"type": "string"}}, "capabilities": {"secrets": ["bad/header"]},
		"handler": {"http": {"url": "URL/", "headers": {"X-A": "{h}"}}}}`, s.URL))
	for _, bad := range []string{`a\r\nX-B: 1`, `a\nb`, `\u0000`, `\u0085`, `\u007f`} {
		if res := g.use(`{"h": "` + bad + `"}`); res.Code != sallyport.CodeInputInvalid {
			t.Errorf("header %s = %+v, want input_invalid", bad, res)
		}
	}
	if len(s.requests()) != 0 {
		t.Errorf("requests = %+v, want none", s.requests())
	}
	if res := g.use(`{"h": "é ok"}`); !res.OK || s.requests()[0].Header.Get("X-A") != "é ok" {
		t.Errorf("result = %+v", res)
	}
}
