package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport/sallyport/internal/needs"
)

// BenchmarkHop calls a tool of an MCP server, directly and through `serve`,
// which runs as a separate process and keeps the record in a state file. The
// two alternate, so that both see the same machine. It reports the median and
// the 99th percentile of each in µs, and their difference, which is the cost of
// the gate. The processor time of the gate's process for a call is the figure
// that a busy machine changes least.
func BenchmarkHop(b *testing.B) {
	for _, kind := range []string{"http", "stdio"} {
		for _, state := range []string{"sqlite:.sallyport/state.db", "memory"} {
			kept, _, _ := strings.Cut(state, ":")
			for _, clients := range []int{1, 16, 64} {
				b.Run(fmt.Sprintf("%s/%s/%d", kind, kept, clients), func(b *testing.B) {
					h := newHop(b, kind, state, 1)
					inTurns(b, clients, h)
				})
			}
		}
	}
}

// BenchmarkHopLoad sends calls at fixed times, however long the answers take,
// and reports the latency from the planned time of each call.
func BenchmarkHopLoad(b *testing.B) {
	for _, state := range []string{"sqlite:.sallyport/state.db", "memory"} {
		kept, _, _ := strings.Cut(state, ":")
		b.Run(kept+"/1000", func(b *testing.B) {
			h := newHop(b, "http", state, 1)
			warm(b, h)
			b.ResetTimer()
			const turn = 500
			var direct, gated []time.Duration
			var spent time.Duration
			for left := b.N; left > 0; left -= turn {
				direct = append(direct, atRate(b, min(turn, left), 1000, h.direct)...)
				before := processorTime(b, h.service.cmd.Process.Pid)
				gated = append(gated, atRate(b, min(turn, left), 1000, h.gated)...)
				spent += processorTime(b, h.service.cmd.Process.Pid) - before
			}
			reportHops(b, direct, gated)
			b.ReportMetric(float64(spent.Microseconds())/float64(b.N), "µs-processor/call")
		})
	}
}

// BenchmarkHopMounts calls one of several mounted servers. In the last case one
// server is dead, and a client calls it all the time.
func BenchmarkHopMounts(b *testing.B) {
	for _, c := range []struct {
		servers int
		dead    bool
	}{{1, false}, {100, false}, {100, true}} {
		name := strconv.Itoa(c.servers)
		if c.dead {
			name += "-one-dead"
		}
		b.Run(name, func(b *testing.B) {
			h := newHop(b, "http", "memory", c.servers)
			if c.dead {
				h.dead.Store(true)
				ctx, cancel := context.WithCancel(context.Background())
				var calling sync.WaitGroup
				calling.Go(func() {
					for ctx.Err() == nil {
						_ = h.post(ctx, h.service.url+"/mcp", h.call("mcp__far99__echo"), h.head)
					}
				})
				defer calling.Wait()
				defer cancel()
			}
			inTurns(b, 16, h)
		})
	}
}

// hop is an MCP server and the gate in front of it.
type hop struct {
	service *service
	client  *http.Client
	head    map[string]string
	// direct and gated each make one call.
	direct, gated func() error
	// dead makes the last server stop answering.
	dead atomic.Bool
}

func newHop(b *testing.B, kind, state string, servers int) *hop {
	b.Helper()
	h := &hop{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}}
	b.Cleanup(h.client.CloseIdleConnections)
	var mounted, allow, names []string
	switch kind {
	case "stdio":
		needs.Programs(b, "python3")
		mounted, names = []string{"  far0: {command: [python3, ./echo.py], concurrency: 64}"}, []string{"far0"}
	default:
		for i := range servers {
			far := h.far(b, i == servers-1)
			host := strings.TrimPrefix(far, "http://")
			mounted = append(mounted, fmt.Sprintf("  far%d: {url: %q, concurrency: 64}", i, far+"/mcp"))
			allow, names = append(allow, strconv.Quote(host)), append(names, fmt.Sprintf("far%d", i))
			if i == 0 {
				h.direct = func() error { return h.post(context.Background(), far+"/mcp", h.call("echo"), nil) }
			}
		}
	}
	dir := configured(b, "version: 1\nstate: "+state+"\nmcp_servers:\n"+strings.Join(mounted, "\n")+`
personalities:
  ops:
    toolset: []
    mcp_servers: [`+strings.Join(names, ", ")+`]
    safety: {network: {allow: [`+strings.Join(allow, ", ")+`], allow_private_urls: true}}
`)
	if kind == "stdio" {
		place(b, dir, "echo.py", echoServer)
		h.direct = newEcho(b, dir).call
	}
	h.service = serveHTTP(b, dir)
	b.Cleanup(func() { h.service.stop(b) })
	h.head = h.service.headers("Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "mcp__far0__echo")
	h.gated = func() error {
		return h.post(context.Background(), h.service.url+"/mcp", h.call("mcp__far0__echo"), h.head)
	}
	return h
}

// far starts an MCP server over HTTP that costs as little as possible.
func (h *hop) far(b *testing.B, last bool) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.NewDecoder(r.Body).Decode(&m) != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		if last && h.dead.Load() {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		result, ok := echoAnswers[m.Method]
		if !ok {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}`, m.ID)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	b.Cleanup(s.Close)
	return s.URL
}

var echoAnswers = map[string]string{
	"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"far","version":"1"}}`,
	"tools/list": `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}`,
	"tools/call": `{"content":[{"type":"text","text":"hello"}]}`,
}

// echoServer is the same server on standard input and output.
const echoServer = `import json, sys
ANSWERS = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "far", "version": "1"}},
    "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}]},
    "tools/call": {"content": [{"type": "text", "text": "hello"}]},
}
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    if m["method"] in ANSWERS:
        rest = {"result": ANSWERS[m["method"]]}
    else:
        rest = {"error": {"code": -32601, "message": "unknown method"}}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": m["id"], **rest}) + "\n")
    sys.stdout.flush()
`

func (h *hop) call(tool string) string { return message("2026-07-28", false, tool, `{"text":"hello"}`) }

// post makes a call and checks its answer.
func (h *hop) post(ctx context.Context, url, body string, head map[string]string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	for k, v := range head {
		r.Header.Set(k, v)
	}
	res, err := h.client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || !bytes.Contains(text, []byte("hello")) {
		return fmt.Errorf("%s %s %w", res.Status, text, err)
	}
	return nil
}

// echo runs the server of echo.py without a gate. A call waits for its own
// answer, so that several calls can wait at once.
type echo struct {
	mu      sync.Mutex
	in      io.Writer
	id      int
	waiting map[int]chan struct{}
}

func newEcho(b *testing.B, dir string) *echo {
	b.Helper()
	cmd := exec.Command(needs.Program(b, "python3"), "./echo.py")
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	e := &echo{in: in, waiting: map[int]chan struct{}{}}
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var m struct{ ID int }
			if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
				b.Error(err)
			}
			e.mu.Lock()
			close(e.waiting[m.ID])
			delete(e.waiting, m.ID)
			e.mu.Unlock()
		}
	})
	b.Cleanup(func() {
		in.Close()
		reading.Wait()
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	return e
}

func (e *echo) call() error {
	answered := make(chan struct{})
	e.mu.Lock()
	e.id++
	e.waiting[e.id] = answered
	_, err := fmt.Fprintf(e.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}`+"\n", e.id)
	e.mu.Unlock()
	if err != nil {
		return err
	}
	<-answered
	return nil
}

func warm(b *testing.B, h *hop) {
	b.Helper()
	for range 20 {
		if err := h.direct(); err != nil {
			b.Fatal(err)
		}
		if err := h.gated(); err != nil {
			b.Fatal(err)
		}
	}
}

// inTurns makes b.N calls of each kind with the given number of clients. The
// two kinds alternate.
func inTurns(b *testing.B, clients int, h *hop) {
	warm(b, h)
	b.ResetTimer()
	const turn = 500
	var direct, gated []time.Duration
	var spent time.Duration
	for left := b.N; left > 0; left -= turn {
		direct = append(direct, atOnce(b, min(turn, left), clients, h.direct)...)
		before := processorTime(b, h.service.cmd.Process.Pid)
		gated = append(gated, atOnce(b, min(turn, left), clients, h.gated)...)
		spent += processorTime(b, h.service.cmd.Process.Pid) - before
	}
	reportHops(b, direct, gated)
	b.ReportMetric(float64(spent.Microseconds())/float64(b.N), "µs-processor/call")
}

// processorTime returns the processor time of a process, to 10 ms.
func processorTime(b *testing.B, pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	// The name, in brackets, may hold spaces. utime and stime are the fields 12
	// and 13 behind it, in hundredths of a second on every Linux.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var ticks int
	for _, f := range fields[11:13] {
		n, err := strconv.Atoi(f)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// atOnce makes n calls with the given number of clients and returns the time of
// each call.
func atOnce(b *testing.B, n, clients int, call func() error) []time.Duration {
	took := make([]time.Duration, n)
	var next atomic.Int64
	var running sync.WaitGroup
	for range min(clients, n) {
		running.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				begun := time.Now()
				if err := call(); err != nil {
					b.Error(err)
				}
				took[i] = time.Since(begun)
			}
		})
	}
	running.Wait()
	return took
}

// atRate makes n calls at a rate per second and returns the time of each from
// its planned start.
func atRate(b *testing.B, n, rate int, call func() error) []time.Duration {
	took := make([]time.Duration, n)
	var running sync.WaitGroup
	begun := time.Now()
	for i := range took {
		planned := begun.Add(time.Duration(i) * time.Second / time.Duration(rate))
		time.Sleep(time.Until(planned))
		running.Go(func() {
			if err := call(); err != nil {
				b.Error(err)
			}
			took[i] = time.Since(planned)
		})
	}
	running.Wait()
	return took
}

// reportHops prints the times of both kinds of calls and their difference.
func reportHops(b *testing.B, direct, gated []time.Duration) {
	b.ReportMetric(0, "ns/op")
	slices.Sort(direct)
	slices.Sort(gated)
	for _, p := range []int{50, 99} {
		at := func(took []time.Duration) float64 { return float64(took[len(took)*p/100].Nanoseconds()) / 1e3 }
		b.ReportMetric(at(direct), fmt.Sprintf("µs-direct-p%d", p))
		b.ReportMetric(at(gated), fmt.Sprintf("µs-gated-p%d", p))
		b.ReportMetric(at(gated)-at(direct), fmt.Sprintf("µs-added-p%d", p))
	}
}
