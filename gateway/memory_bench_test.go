package gateway_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// idleSessions is how many sessions a measurement holds: the server admits
// 1,000.
const idleSessions = 990

// sessionsEach is how many of them a principal has: no more than are free at
// the end.
const sessionsEach = 10

// BenchmarkIdleSession opens sessions over HTTP, makes one call in each, and
// then leaves them idle. It reports the growth of the heap and the stacks per
// session, without and with a stream on which the client listens. The figure
// includes the clients' part of a stream, which is in this process too.
func BenchmarkIdleSession(b *testing.B) {
	for name, listen := range map[string]bool{"quiet": false, "listening": true} {
		b.Run(name, func(b *testing.B) {
			var grown float64
			for range b.N {
				grown = max(grown, growth(b, listen))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(grown/1000, "kB/session")
		})
	}
}

// growth returns the bytes that a session holds.
func growth(b *testing.B, listen bool) float64 {
	k := newKit(b)
	k.record.off = true
	site := benchSite(b, k)
	address := site.Listener.Addr().String()
	head := "POST /mcp HTTP/1.1\r\nHost: " + address + "\r\nAuthorization: Bearer alice\r\nContent-Type: application/json\r\n" +
		"Accept: application/json, text/event-stream\r\nMcp-Protocol-Version: 2025-11-25\r\n"
	w := dial(b, address)
	warm := func() string {
		id := w.begin(b, head)
		for _, message := range []string{benchMessage("2025-11-25", "tools/list", ""), benchCall("2025-11-25")} {
			w.request = fmt.Appendf(nil, "%sMcp-Session-Id: %s\r\nContent-Length: %d\r\n\r\n%s", head, id, len(message), message)
			w.call(b)
		}
		return id
	}
	warm()
	before := held()
	names := benchPrincipals()
	for i := range idleSessions {
		if k := i / sessionsEach; k > 0 && i%sessionsEach == 0 {
			head = strings.Replace(head, names[k-1], names[k], 1)
		}
		if id := warm(); listen {
			hear(b, address, head, id)
		}
	}
	after := held()
	runtime.KeepAlive(k)
	return (after - before) / idleSessions
}

// hear opens the stream of a session and reads its head.
func hear(b *testing.B, address, head, id string) {
	w := dial(b, address)
	get := strings.Replace(head, "POST ", "GET ", 1) + "Mcp-Session-Id: " + id + "\r\n\r\n"
	if _, err := w.Write([]byte(get)); err != nil {
		b.Fatal(err)
	}
	res, err := http.ReadResponse(w.answers, nil)
	if err != nil || res.StatusCode != http.StatusOK {
		b.Fatal(res, err)
	}
	// The body ends with the connection.
	_ = res.Body
}

// held returns the bytes that the heap and the stacks hold.
func held() float64 {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) + float64(m.StackInuse)
}
