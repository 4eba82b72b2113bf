package upstream_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

const tooLong = "the MCP server test: its answer has more than 16 MiB"

// pour writes so many MiB of a JSON text that goes on.
func pour(w io.Writer, mib int) {
	piece := bytes.Repeat([]byte("x"), 1<<20)
	for range mib {
		if _, err := w.Write(piece); err != nil {
			return // the client has enough
		}
	}
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

// TestB3_AnAnswerBeyondTheBoundEndsItsCallAtOnce, with the reason, whatever form
// it has: the server says nothing more and does not end the answer either. The
// connection serves the next call.
func TestB3_AnAnswerBeyondTheBoundEndsItsCallAtOnce(t *testing.T) {
	const start = `{"jsonrpc":"2.0","id":1000000000,"result":{"content":[{"type":"text","text":"`
	for name, answer := range map[string]func(w http.ResponseWriter){
		"JSON": func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, start)
			pour(w, 63)
		},
		"an announced length": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", fmt.Sprint(17<<20))
			_, _ = io.WriteString(w, start)
			w.(http.Flusher).Flush()
		},
		"gzip": func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			pour(z, 63)
			_ = z.Flush()
		},
		"blanks": func(w http.ResponseWriter) {
			for range 17 {
				_, _ = w.Write(bytes.Repeat([]byte(" "), 1<<20))
			}
			w.(http.Flusher).Flush()
		},
		"an error": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", fmt.Sprint(17<<20))
			w.WriteHeader(http.StatusBadRequest)
			w.(http.Flusher).Flush()
		},
		"one line of an event": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: ")
			pour(w, 17)
		},
		"many lines of an event": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			for range 17 << 10 {
				_, _ = io.WriteString(w, "data: "+strings.Repeat("x", 1024)+"\n")
			}
			w.(http.Flusher).Flush()
		},
		"comments": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			for range 17 << 10 {
				_, _ = io.WriteString(w, ": "+strings.Repeat("x", 1024)+"\r\n")
			}
			w.(http.Flusher).Flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, tool("large"), tool("echo"))
			s.answer = func(p *peer, q *question) any {
				if q.Params.Name == "echo" {
					return text("fine")
				}
				w := p.w.(http.ResponseWriter)
				w.Header().Set("Content-Type", "application/json")
				answer(w)
				<-p.gone
				return nil
			}
			g := overHTTP(t, s, nil, nil)
			for range 4 { // more often than a server may fail in a row
				if res := g.call("test__large", nil); res.OK || inside(res) != tooLong {
					t.Errorf("the call = %.300v, want %q", res, tooLong)
				}
			}
			if res := g.call("test__echo", nil); inside(res) != "fine" || s.count("initialize") != 2 {
				t.Errorf("the next call = %.300v on connection %d", res, s.count("initialize"))
			}
			if held := g.mounts.Held(); held != 0 {
				t.Errorf("%d bytes are held after the calls", held)
			}
		})
	}
}

// TestB3_EncodingsThatNobodyAskedFor are refused and not read.
func TestB3_EncodingsThatNobodyAskedFor(t *testing.T) {
	for _, coding := range []string{"br", "deflate", "gzip, gzip"} {
		s := newScript(t, tool("large"))
		s.answer = func(p *peer, _ *question) any {
			w := p.w.(http.ResponseWriter)
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", coding)
			pour(w, 1)
			<-p.gone
			return nil
		}
		if res := overHTTP(t, s, nil, nil).call("test__large", nil); !strings.Contains(res.Error, "compressed in a way that was not asked for") {
			t.Errorf("%s: the call = %.300v", coding, res)
		}
	}
}
