package egress

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/sallyport/sallyport"
)

// token has the characters of an API key.
const token = "sk-Abc123.def_456~XYZ"

func tokenFor(host string) *ProxyOptions {
	return &ProxyOptions{Splices: []sallyport.Splice{{
		Placeholder: standIn, Value: sallyport.NewSecret(token), Hosts: []string{host}, Prefixes: []string{"Api-Key id:"},
	}}}
}

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// placed is one request with a stand-in.
type placed struct {
	name, path, header, kind, body string
	chunked                        bool
}

func (c *placed) send(t *testing.T, client *http.Client, host string, chunked bool) (int, string) {
	t.Helper()
	if c.body == "" {
		return c.sendAs(t, client, "GET", host)
	}
	c.chunked = chunked
	return c.sendAs(t, client, "POST", host)
}

func (c *placed) sendAs(t *testing.T, client *http.Client, method, host string) (int, string) {
	t.Helper()
	body := io.Reader(strings.NewReader(c.body))
	if c.chunked {
		body = iotest.OneByteReader(body) // one chunk for each byte
	}
	req, err := http.NewRequest(method, "https://"+host+"/"+c.path, body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(c.header, "\n") {
		if name, v, ok := strings.Cut(line, ": "); ok {
			req.Header[name] = append(req.Header[name], v)
		}
	}
	if c.kind != "" {
		req.Header.Set("Content-Type", c.kind)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}

// lastRead is what a server read last.
type lastRead struct {
	mu   sync.Mutex
	text string
}

func (s *lastRead) set(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = text
}

func (s *lastRead) get() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text
}

// dump is a request as text, with its user and password decoded.
func dump(r *http.Request) string {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return "" // a request that breaks off is none
	}
	user, password, _ := r.BasicAuth()
	var b strings.Builder
	r.Header.Write(&b)
	return strings.Join([]string{r.Method, r.Host, r.RequestURI, b.String(), user + ":" + password, string(body)}, "\n")
}

func TestA4_StandInsAreSplicedWhole(t *testing.T) {
	t.Parallel()
	var seen lastRead
	w := newWorld(t, public(), func(_ http.ResponseWriter, r *http.Request) { seen.set(dump(r)) })
	p, addr := w.proxy(t, allow("a.example"), tokenFor("a.example"))
	c := trusting(t, w, p, addr)
	long := strings.Repeat(" ", maxFilledBody)
	tests := []struct {
		placed
		want string // what the server reads
	}{
		{placed{name: "header", header: "X-Api-Key: " + standIn}, "X-Api-Key: " + token + "\r\n"},
		{placed{name: "bearer", header: "Authorization: Bearer " + standIn}, "Authorization: Bearer " + token + "\r\n"},
		{placed{name: "token", header: "Authorization: Token " + standIn}, "Authorization: Token " + token + "\r\n"},
		{placed{name: "declared prefix", header: "Authorization: Api-Key id:" + standIn}, "Api-Key id:" + token + "\r\n"},
		{placed{name: "password", header: "Authorization: Basic " + b64("x-access-token:"+standIn)}, "x-access-token:" + token},
		{placed{name: "user", header: "Authorization: Basic " + b64(standIn+":")}, token + ":"},
		{placed{name: "user and password", header: "Authorization: Basic " + b64(standIn+":"+standIn)}, token + ":" + token},
		{placed{name: "cookie", header: "Cookie: a=%4; session=" + standIn + "; b=1"}, "Cookie: a=%4; session=" + token + "; b=1\r\n"},
		{placed{name: "query", path: "?a=%254&key=" + standIn + "&b=1"}, "/?a=%254&key=" + token + "&b=1"},
		{placed{name: "prefix in a query", path: "?auth=Bearer+" + standIn}, "/?auth=Bearer+" + token},
		{placed{name: "form", kind: "application/x-www-form-urlencoded", body: "grant_type=x&client_secret=" + standIn}, "\ngrant_type=x&client_secret=" + token},
		{placed{name: "JSON", kind: "application/json; charset=utf-8", body: `{"a\"b": ["\u0034", "` + standIn + `"], "c": 1}`}, `{"a\"b": ["\u0034", "` + token + `"], "c": 1}`},
		{placed{name: "JSON of a kind", kind: "application/vnd.api+json", body: `"Bearer ` + standIn + `"`}, `"Bearer ` + token + `"`},
		{placed{name: "both header and query", path: "?key=" + standIn, header: "Authorization: Bearer " + standIn}, "Authorization: Bearer " + token},
		{placed{name: "nothing in a long body", kind: "application/json", body: "{" + long + "}"}, "{" + long + "}"},
		{placed{name: "nothing in another body", kind: "text/plain", body: standIn[:len(standIn)-1]}, standIn[:len(standIn)-1]},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, chunked := range []bool{false, len(tt.body) > 0 && len(tt.body) < 1000} {
				seen.set("")
				status, text := tt.send(t, c, "a.example", chunked)
				if got := seen.get(); status != 200 || !strings.Contains(got, tt.want) || strings.Contains(got, standIn) {
					t.Errorf("%d %q: the server read %.300q, want %.300q and no stand-in", status, text, got, tt.want)
				}
			}
		})
	}
}

func TestA4_MisplacedStandInsAreRefused(t *testing.T) {
	t.Parallel()
	const form, multi = "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"
	long := strings.Repeat(" ", maxFilledBody)
	var stored bytes.Buffer
	z, _ := gzip.NewWriterLevel(&stored, gzip.NoCompression)
	io.WriteString(z, `{"a":"`+standIn+`"}`)
	z.Close()
	tests := []placed{
		{name: "half an escape of a query", path: "?q=%4" + standIn},
		{name: "half an escape and a bit more", path: "?q=x%" + standIn},
		{name: "behind it", path: "?q=" + standIn + "x"},
		{name: "behind a separator", path: "?q=a;k=" + standIn},
		{name: "behind an escaped separator", path: "?q=a%26k=" + standIn},
		{name: "an unknown prefix", path: "?q=Key+" + standIn},
		{name: "a name", path: "?" + standIn + "=1"},
		{name: "a bare query", path: "?" + standIn},
		{name: "a repeated parameter", path: "?q=%254&q=" + standIn},
		{name: "a repeated parameter, escaped", path: "?q=%254&%71=" + standIn},
		{name: "twice in one", path: "?q=" + standIn + standIn},
		{name: "path", path: "a/" + standIn},
		{name: "path behind half an escape", path: "a/x%254" + standIn},
		{name: "path, escaped", path: "a/%73" + standIn[1:]},
		{name: "header behind text", header: "X-Key: %4" + standIn},
		{name: "header in front of text", header: "X-Key: " + standIn + ", 4"},
		{name: "two blanks", header: "Authorization: Bearer  " + standIn},
		{name: "two prefixes", header: "Authorization: Bearer token " + standIn},
		{name: "half a reference", header: "X-Key: &#" + standIn},
		{name: "half an escape of JSON", header: `X-Key: "\u004` + standIn + `"`},
		{name: "name of a header", header: "X-" + standIn + ": 1"},
		{name: "repeated header", header: "X-Key: %4\nX-Key: " + standIn},
		{name: "cookie behind half an escape", header: "Cookie: a=%4" + standIn},
		{name: "cookie in quotes", header: `Cookie: a="` + standIn + `"`},
		{name: "cookie without a name", header: "Cookie: " + standIn},
		{name: "name of a cookie", header: "Cookie: " + standIn + "=1"},
		{name: "two lines of cookies", header: "Cookie: a=%4\nCookie: b=" + standIn},
		{name: "basic without a password", header: "Authorization: Basic " + b64(standIn)},
		{name: "basic beside text", header: "Authorization: Basic " + b64("u:%4"+standIn)},
		{name: "basic in another password", header: "Authorization: Basic " + b64("u:p:"+standIn)},
		{name: "basic of a stand-in", header: "Authorization: Basic " + standIn},
		{name: "form behind half an escape", kind: form, body: "a=%4" + standIn},
		{name: "name in a form", kind: form, body: standIn + "=1"},
		{name: "JSON behind half an escape", kind: "application/json", body: `{"a":"\u004` + standIn + `"}`},
		{name: "JSON behind an escaped backslash", kind: "application/json", body: `{"a":"\\u004` + standIn + `"}`},
		{name: "JSON in JSON", kind: "application/json", body: `{"a":"{\"b\":\"` + standIn + `\"}"}`},
		{name: "name in JSON", kind: "application/json", body: `{"` + standIn + `" : 1}`},
		{name: "JSON that is none", kind: "application/json", body: `{"a":"` + standIn + `",}`},
		{name: "JSON in another character set", kind: "application/json; charset=utf-7", body: `"` + standIn + `"`},
		{name: "JSON that is long", kind: "application/json", body: `{"a":"` + standIn + `"` + long + `}`},
		{name: "JSON that is coded", header: "Content-Encoding: gzip", kind: "application/json", body: stored.String()},
		{name: "multipart", kind: multi, body: "--b\r\nContent-Disposition: form-data; name=a\r\n\r\n" + standIn + "\r\n--b--\r\n"},
		{name: "text", kind: "text/plain", body: standIn},
		{name: "no type", body: "\x00" + standIn},
		{name: "two types", header: "Content-Type: application/json\nContent-Type: text/plain", body: `"` + standIn + `"`},
	}
	var seen lastRead
	w := newWorld(t, public(), func(rw http.ResponseWriter, r *http.Request) {
		seen.set(dump(r))
		io.WriteString(rw, "ok")
	})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, chunked := range []bool{false, len(tt.body) > 0 && len(tt.body) < 1000} {
				var log bytes.Buffer
				o := tokenFor("a.example")
				o.Logger = slog.New(slog.NewTextHandler(&log, nil))
				p, addr := w.proxy(t, allow("a.example"), o)
				c := trusting(t, w, p, addr)
				seen.set("")
				status, text := tt.send(t, c, "a.example", chunked)
				if status != http.StatusForbidden || !strings.HasPrefix(text, "HOST_NOT_ALLOWED: a.example is sent the stand-in") || seen.get() != "" {
					t.Errorf("chunked %t: %d %q, the server read %q; want a refusal and nothing", chunked, status, text, seen.get())
				}
				use := findUse(t, p, "a.example", false)
				if !strings.Contains(use.Why, "stand-in") || use.Fix == "" {
					t.Errorf("recorded %+v, want the reason and the fix", use)
				}
				if !strings.Contains(log.String(), use.Why) || !strings.Contains(log.String(), "whole header") || strings.Contains(log.String(), token) {
					t.Errorf("log = %q, want what, where and the fix", log.String())
				}
				p.Close()
			}
		})
	}
}

// TestA4_StandInsInNamesOfHosts: a pattern lets the child choose a part of the
// name.
func TestA4_StandInsInNamesOfHosts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, public(), ok)
	p, addr := w.proxy(t, allow("*.example", "*.a.example"), tokenFor("*.a.example"))
	for _, request := range []string{
		"CONNECT " + standIn + ".a.example:443 HTTP/1.1\r\n\r\n",
		"CONNECT " + strings.ToUpper(standIn) + ".example:443 HTTP/1.1\r\n\r\n",
		"GET http://" + standIn + ".a.example/ HTTP/1.1\r\n\r\n",
	} {
		if got := say(t, addr, request); status(got) != "403" {
			t.Errorf("%q = %q, want a refusal", request, got)
		}
	}
	if status, text := (&placed{}).sendAs(t, trusting(t, w, p, addr), standIn, "b.a.example"); status != 403 {
		t.Errorf("a method = %d %q, want a refusal", status, text)
	}
	if d := w.dials(); len(d) > 0 {
		t.Errorf("dialled %v", d)
	}
	p.Close()
}

// TestA4_ValuesThatBreakTheirPlace: a value with a separator of its place would
// be read in two.
func TestA4_ValuesThatBreakTheirPlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ value, name, line string }{
		{"abc;def,ghi", "Cookie", "a=" + standIn},
		{"abc:def:ghi", "Authorization", "Basic " + b64(standIn+":x")},
		{"abc\r\nX-Evil: 1", "X-Key", standIn},
		{" abcdefghi", "X-Key", standIn},
	} {
		s := &hostSwap{standIns: []standInValue{{placeholder: standIn, value: tt.value}}}
		h := http.Header{tt.name: {tt.line}}
		if bad := s.fillHeaders(h); bad == "" {
			t.Errorf("%s: %s with %q becomes %q", tt.name, tt.line, tt.value, h)
		}
	}
}

// TestA4_NoPlaceChangesItsNeighbours: whatever surrounds a stand-in, a filled
// text differs from what came by the value only, at whole places.
func TestA4_NoPlaceChangesItsNeighbours(t *testing.T) {
	t.Parallel()
	s := &hostSwap{standIns: []standInValue{{placeholder: standIn, value: token, prefixes: []string{"Bearer "}}}}
	piece := rapid.SampledFrom([]string{standIn, "%", "4", "%4", "=", "&", ";", ",", " ", "Bearer ", `"`, `\`, `\u00`, "{", "}", ":", "a", "&#"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 1, 9).Draw(t, "text"), "")
		fills := map[string]func() (string, misplacedAt){
			"pairs":  func() (string, misplacedAt) { return s.fillPairs(text, "x") },
			"json":   func() (string, misplacedAt) { return s.fillJSON(text) },
			"cookie": func() (string, misplacedAt) { return s.fillHeader("Cookie", text) },
			"header": func() (string, misplacedAt) { return s.fillHeader("X", text) },
		}
		borders := map[string][2]string{"pairs": {"=", "&"}, "json": {`"`, `"`}, "cookie": {"=", ";"}, "header": {"", ""}}
		for name, fill := range fills {
			filled, bad := fill()
			if bad != "" || !strings.Contains(text, standIn) {
				continue
			}
			if strings.ReplaceAll(filled, token, standIn) != text {
				t.Fatalf("%s: %q becomes %q", name, text, filled)
			}
			for rest := filled; ; {
				before, after, found := strings.Cut(rest, token)
				if !found {
					break
				}
				before = strings.TrimSuffix(before, "Bearer ")
				open, end := borders[name][0], borders[name][1]
				if !strings.HasSuffix(before, open) || open == "" && before != "" || after != "" && (end == "" || !strings.HasPrefix(after, end)) {
					t.Fatalf("%s: %q becomes %q, in which the value is not whole", name, text, filled)
				}
				rest = after
			}
		}
	})
}
