package gateway_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTransportsAnswerAlike sends the same messages, good and hostile ones, over HTTP
// and over stdio. The answers are the same, except for what only HTTP can refuse:
// headers that say something else, and requests without an id.
func TestTransportsAnswerAlike(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			overHTTP, overStdio := newPeer(t, version), newPipe(t, version)
			compared := 0
			for _, m := range corpus(version) {
				if strings.Contains(m.body, "\n") || !wanted([]byte(m.body)) {
					continue
				}
				_, want, _ := strings.Cut(overHTTP.post(t, m).text, "\n")
				got := overStdio.send(t, m).text
				if onlyHTTPRefuses(want) {
					continue
				}
				want = strings.NewReplacer("alice", "local", "SESSION", "CONVERSATION").Replace(want)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%v\n(-http +stdio):\n%s", m, diff)
				}
				compared++
			}
			if compared < 100 {
				t.Errorf("%d answers were compared, want more", compared)
			}
		})
	}
}

// onlyHTTPRefuses reports whether an answer is about headers.
func onlyHTTPRefuses(answer string) bool {
	return strings.Contains(answer, `"code":-32020`) || strings.Contains(answer, `"code":-32022`) ||
		strings.Contains(answer, `missing or invalid _meta field \"io.modelcontextprotocol/protocolVersion\"`)
}

// sent is one request.
type sent struct {
	body   string
	header [][2]string // beside the usual ones; an empty value removes one
	as     string      // empty means alice
}

func (m sent) String() string { return fmt.Sprintf("%.300s %q", m.body, m.header) }

// got is what came back.
type got struct{ text string }

// peer is a server over HTTP.
type peer struct {
	url     string
	version string
	session string
	clients map[string]*http.Client
}

func newPeer(t *testing.T, version string) *peer {
	k := newKit(t, forms()...)
	p := &peer{version: version, url: k.site(t).URL}
	p.clients = map[string]*http.Client{"": client(t, "alice"), "bob": client(t, "bob")}
	if version != "2026-07-28" {
		p.post(t, sent{body: strings.Replace(hello, "2025-11-25", version, 1)})
	}
	return p
}

var sessionIDs = regexp.MustCompile(`mcp-[A-Z2-7]{26}`)

// post sends a request with the headers that go with it.
func (p *peer) post(t *testing.T, m sent) got {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/mcp", strings.NewReader(m.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", p.version)
	if p.session != "" {
		r.Header.Set("Mcp-Session-Id", p.session)
	}
	if p.version == "2026-07-28" {
		name(r.Header, m.body)
	}
	for _, h := range m.header {
		if r.Header.Del(h[0]); h[1] != "" {
			r.Header.Set(h[0], strings.ReplaceAll(h[1], "SESSION", p.session))
		}
	}
	res, err := p.clients[m.as].Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		p.session = id
	}
	if p.session != "" {
		text = bytes.ReplaceAll(text, []byte(p.session), []byte("SESSION"))
	}
	head := fmt.Sprintf("%d %s\n", res.StatusCode, res.Header.Get("Cache-Control"))
	return got{head + canonical(t, text)}
}

// name sets the headers that repeat the body, as far as it has such values.
func name(h http.Header, body string) {
	var m struct {
		Method string
		Params struct{ Name string }
	}
	// A body that cannot be decoded has no name.
	_ = json.Unmarshal([]byte(body), &m)
	h.Set("Mcp-Method", m.Method)
	if m.Method == "tools/call" && !strings.ContainsFunc(m.Params.Name, func(r rune) bool { return r < ' ' }) {
		h.Set("Mcp-Name", m.Params.Name)
	}
}

// canonical takes a text out of its stream, sorts its keys, and replaces what
// differs from run to run.
func canonical(t *testing.T, text []byte) string {
	var out strings.Builder
	framed := false
	for line := range bytes.Lines(text) {
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		framed = framed || ok
		if ok || !framed && !bytes.HasPrefix(line, []byte("event: ")) {
			out.WriteString(ordered(t, data))
		}
	}
	return sessionIDs.ReplaceAllString(out.String(), "CONVERSATION")
}

func ordered(t *testing.T, text []byte) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return string(text)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(stable(out)) + "\n"
}

// pipe is a server over stdio.
type pipe struct {
	*stream
	lines *bufio.Reader
}

func newPipe(t *testing.T, version string) *pipe {
	k := newKit(t, forms()...)
	p := &pipe{}
	p.stream, _ = k.stdio(t)
	p.lines = bufio.NewReader(p.out)
	first := strings.Replace(hello, "2025-11-25", version, 1)
	if version == "2026-07-28" {
		first = `{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{` + stateless + "}}\n"
	}
	p.send(t, sent{body: first})
	p.send(t, sent{body: strings.Replace(`{"jsonrpc":"2.0","id":0,"method":"tools/list","params":{META}}`, "META", metaOf(version), 1)})
	return p
}

func (p *pipe) send(t *testing.T, m sent) got {
	t.Helper()
	line := []byte(strings.TrimSuffix(m.body, "\n") + "\n")
	if _, err := p.in.Write(line); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for wanted := wanted(line); wanted; {
		text, err := p.lines.ReadBytes('\n')
		if err != nil {
			t.Fatalf("after %v: %v", m, err)
		}
		out.WriteString(canonical(t, text))
		wanted = !bytes.Contains(text, []byte(`"id":`))
	}
	return got{out.String()}
}

// wanted reports whether a line has an answer: every line except a notification
// has one.
func wanted(line []byte) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal(line, &m) != nil || m["id"] != nil || m["method"] == nil
}

func metaOf(version string) string {
	if version == "2026-07-28" {
		return stateless
	}
	return `"_meta":{}`
}
