package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
)

// BenchmarkCall measures calls of a trivial tool without a durable record: the
// cost of the protocol and the gate on each surface. Clients in this process
// keep the given number of calls in flight. They write prepared text and read
// answers with net/http, and the figure includes their work.
func BenchmarkCall(b *testing.B) {
	for _, version := range versions[:2] {
		for _, clients := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("stdio-%s/%d", version, clients), func(b *testing.B) {
				benchStdio(b, benchKit(b), version, clients)
			})
			b.Run(fmt.Sprintf("http-%s/%d", version, clients), func(b *testing.B) {
				benchHTTP(b, benchKit(b), benchCall(version), version, clients)
			})
		}
	}
}

// BenchmarkList measures listings of six tools over HTTP.
func BenchmarkList(b *testing.B) {
	for _, version := range versions[:2] {
		b.Run(version, func(b *testing.B) {
			benchHTTP(b, benchKit(b), benchMessage(version, "tools/list", ""), version, 16)
		})
	}
}

func benchKit(b *testing.B) *kit {
	k := newKit(b)
	k.record.off = true
	return k
}

func benchCall(version string) string {
	return benchMessage(version, "tools/call", `"name":"echo","arguments":{"a":1,"b":"two","c":[3]}`)
}

// benchMessage returns a request as the official client sends it.
func benchMessage(version, method, params string) string {
	if version == "2026-07-28" {
		if params != "" {
			params += ","
		}
		params += `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{"listChanged":true}}}`
	}
	return `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + params + `}}`
}

// benchStdio keeps that many calls in flight over one pair of pipes.
func benchStdio(b *testing.B, k *kit, version string, clients int) {
	inR, inW, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- k.Stdio(context.Background(), inR, outW) }()
	first := hello
	if version == "2026-07-28" {
		first = benchMessage(version, "tools/list", "") + "\n"
	}
	r := bufio.NewReader(outR)
	exchange := func(line string) {
		if _, err := io.WriteString(inW, line); err != nil {
			b.Fatal(err)
		}
	}
	answer := func() {
		if text, err := r.ReadSlice('\n'); err != nil || bytes.Contains(text, []byte("rror\":")) {
			b.Fatal(string(text), err)
		}
	}
	exchange(first)
	answer()
	before, after, _ := strings.Cut(benchCall(version), `"id":7`)
	free := make(chan int, clients)
	for i := range clients {
		free <- i
	}
	var reading sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	n := b.N
	reading.Go(func() {
		for i := range n {
			answer()
			free <- i
		}
	})
	for i := range n {
		<-free
		exchange(fmt.Sprintf("%s\"id\":%d%s\n", before, i, after))
	}
	reading.Wait()
	b.StopTimer()
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "calls/s")
	inW.Close()
	if err := <-served; err != nil {
		b.Error(err)
	}
	outR.Close()
}

// benchHTTP keeps that many connections busy, each with one request at a time.
func benchHTTP(b *testing.B, k *kit, message, version string, clients int) {
	site := benchSite(b, k)
	address := site.Listener.Addr().String()
	head := "POST /mcp HTTP/1.1\r\nHost: " + address + "\r\nAuthorization: Bearer alice\r\nContent-Type: application/json\r\n" +
		"Accept: application/json, text/event-stream\r\nMcp-Protocol-Version: " + version + "\r\n"
	wires := make([]*wire, clients)
	for i := range wires {
		wires[i] = dial(b, address)
		own := head
		if version == "2026-07-28" {
			method := "tools/list"
			if strings.Contains(message, "tools/call") {
				method = "tools/call\r\nMcp-Name: echo"
			}
			own += "Mcp-Method: " + method + "\r\n"
		} else {
			own += "Mcp-Session-Id: " + wires[i].begin(b, head) + "\r\n"
		}
		wires[i].request = fmt.Appendf(nil, "%sContent-Length: %d\r\n\r\n%s", own, len(message), message)
		wires[i].call(b)
	}
	b.ReportAllocs()
	b.ResetTimer()
	var all sync.WaitGroup
	for i, w := range wires {
		all.Go(func() {
			for range (b.N + clients - 1 - i) / clients {
				w.call(b)
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// benchSite is the server behind a guard whose tokens cost nothing to check.
func benchSite(b *testing.B, k *kit) *httptest.Server {
	s := httptest.NewUnstartedServer(nil)
	known := tokens{}
	for _, name := range benchPrincipals() {
		known[name] = sallyport.Principal{Name: name}
	}
	g, err := auth.NewGuard(s.Listener.Addr().String(), known, nil)
	if err != nil {
		b.Fatal(err)
	}
	s.Config.Handler = g.Protect(k.Handler())
	s.Start()
	b.Cleanup(func() {
		if err := k.Shutdown(context.Background()); err != nil {
			b.Error(err)
		}
		s.Close()
	})
	return s
}

// benchPrincipals returns enough principals to hold all sessions, with a stream
// each, so that none of them has more sessions than are free. The first is
// alice, whom most benchmarks use.
func benchPrincipals() []string {
	names := []string{"alice"}
	for i := 1; i < idleSessions/sessionsEach; i++ {
		names = append(names, fmt.Sprintf("caller-%03d", i))
	}
	return names
}

// wire is one connection of a client.
type wire struct {
	net.Conn
	answers *bufio.Reader
	request []byte
}

func dial(b *testing.B, address string) *wire {
	c, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	return &wire{Conn: c, answers: bufio.NewReader(c)}
}

// begin opens a session and returns its id.
func (w *wire) begin(b *testing.B, head string) string {
	message := strings.TrimSpace(hello)
	w.request = fmt.Appendf(nil, "%sContent-Length: %d\r\n\r\n%s", head, len(message), message)
	return w.call(b).Get("Mcp-Session-Id")
}

// call sends the request and reads its answer.
func (w *wire) call(b *testing.B) http.Header {
	if _, err := w.Write(w.request); err != nil {
		b.Error(err)
		return nil
	}
	res, err := http.ReadResponse(w.answers, nil)
	if err != nil {
		b.Error(err)
		return nil
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
		b.Error(res.Status, err)
	}
	return res.Header
}

// BenchmarkRefusedRequest measures a request without a session, which should
// cost no more than reading it.
func BenchmarkRefusedRequest(b *testing.B) {
	site := newKit(b).site(b)
	h := client(b, "alice")
	b.ReportAllocs()
	for b.Loop() {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, site.URL+"/mcp", strings.NewReader(callLine(1, "echo", `{}`)))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		res, err := h.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusBadRequest {
			b.Fatal(res.StatusCode, err)
		}
		res.Body.Close()
	}
}
