package push

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/siem"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/store/memory"
)

// record is a record in memory.
type record struct {
	*memory.Store
	key audit.Key
}

func newRecord(t *testing.T, tools ...string) record {
	t.Helper()
	key, err := audit.NewKey(bytes.Repeat([]byte{1}, audit.KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	s, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	r := record{s, key}
	r.add(t, tools...)
	return r
}

func (r record) add(t *testing.T, tools ...string) {
	t.Helper()
	log, err := audit.New(r.Store, r.key, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, tool := range tools {
		if err := log.Record(t.Context(), &audit.Event{Kind: audit.KindOutcome, CallID: "id-" + tool, Tool: output.Plain().Text(tool), OK: true}); err != nil {
			t.Fatal(err)
		}
	}
}

func (r record) pusher(sender Sender, logs io.Writer) *Pusher {
	return New(Options{
		Name: "syslog", Records: r.Store, Kept: r.Settings(), Sender: sender, Format: siem.CEF, Version: "v1",
		Poll: time.Millisecond, First: time.Millisecond, Logger: slog.New(slog.NewTextHandler(logs, nil)),
	})
}

// run runs a pusher until the returned function ends it in order.
func run(t *testing.T, p *Pusher) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); p.Run(ctx) }()
	return func() {
		cancel()
		<-done
		p.Finish(t.Context())
	}
}

// collector takes messages in frames with octet counting.
type collector struct {
	net.Listener
	got chan string
	// quit ends the first connection after so many messages; 0 never.
	quit int
}

func newCollector(t *testing.T, l net.Listener, quit int) *collector {
	t.Helper()
	c := &collector{l, make(chan string, 1000), quit}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.read(conn)
			c.quit = 0
		}
	}()
	return c
}

func (c *collector) read(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for n := 1; ; n++ {
		size, err := in.ReadString(' ')
		if err != nil {
			return
		}
		length, err := strconv.Atoi(strings.TrimSuffix(size, " "))
		if err != nil {
			c.got <- "bad frame " + size
			return
		}
		text := make([]byte, length)
		if _, err := io.ReadFull(in, text); err != nil {
			return
		}
		c.got <- string(text)
		if n == c.quit {
			return
		}
	}
}

func (c *collector) sender(t *testing.T, scheme string, secure *tls.Config) *Syslog {
	t.Helper()
	var d net.Dialer
	return NewSyslog(&url.URL{Scheme: scheme, Host: c.Addr().String()}, d.DialContext, secure, "v1")
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

var toolOf = regexp.MustCompile(`externalId=id-(\S+)`)

// take waits for messages and returns the tools that they are about.
func (c *collector) take(n int) (tools []string) {
	for range n {
		text := <-c.got
		m := toolOf.FindStringSubmatch(text)
		if m == nil {
			return append(tools, text)
		}
		tools = append(tools, m[1])
	}
	return tools
}

func TestARestartLosesNothing(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "before")
	c := newCollector(t, listen(t), 0)
	end := run(t, r.pusher(c.sender(t, "tcp", nil), t.Output()))
	waitHeld(t, r)
	r.add(t, "a", "b", "c")
	if got := c.take(3); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("the collector got %q", got)
	}
	end()
	r.add(t, "d", "e") // while no process sends
	end = run(t, r.pusher(c.sender(t, "tcp", nil), t.Output()))
	if got := c.take(2); !slices.Equal(got, []string{"d", "e"}) {
		t.Errorf("after a restart the collector got %q", got)
	}
	end()
}

// waitHeld waits until a process sends.
func waitHeld(t *testing.T, r record) {
	t.Helper()
	for {
		if text, ok, err := r.Settings().Get(t.Context(), "push/syslog"); err != nil || ok && strings.Contains(text, "owner") {
			if err != nil {
				t.Fatal(err)
			}
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// A collector that ends a connection in the middle gets everything, some of it twice.
func TestACollectorThatGoesGetsTheRest(t *testing.T) {
	t.Parallel()
	r := newRecord(t)
	c := newCollector(t, listen(t), 2)
	end := run(t, r.pusher(c.sender(t, "tcp", nil), t.Output()))
	defer end()
	waitHeld(t, r)
	missing := map[string]bool{}
	for _, tool := range []string{"a", "b", "c", "d", "e"} {
		r.add(t, tool)
		missing[tool] = true
	}
	for len(missing) > 0 {
		delete(missing, c.take(1)[0])
	}
}

func TestOneProcessSends(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "before")
	c := newCollector(t, listen(t), 0)
	one, two := r.pusher(c.sender(t, "tcp", nil), t.Output()), r.pusher(c.sender(t, "tcp", nil), t.Output())
	if _, err := one.sendBatch(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.add(t, "a")
	if _, err := two.sendBatch(t.Context()); !errors.Is(err, errElsewhere) {
		t.Errorf("a second process: %v", err)
	}
	one.Finish(t.Context())
	if got := c.take(1); got[0] != "a" {
		t.Errorf("the first process sent %q at its end", got)
	}
	r.add(t, "b")
	if _, err := two.sendBatch(t.Context()); err != nil {
		t.Errorf("after the end of the first: %v", err)
	}
	if got := c.take(1); got[0] != "b" {
		t.Errorf("the second process sent %q", got)
	}
}

func TestPrunedRecordsAreSaid(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "before")
	c := newCollector(t, listen(t), 0)
	var logs bytes.Buffer
	p := r.pusher(c.sender(t, "tcp", nil), &logs)
	if _, err := p.sendBatch(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.add(t, "a", "b")
	if _, err := audit.Prune(t.Context(), r.Store, r.key, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	r.add(t, "c")
	p.Finish(t.Context())
	if got := c.take(1); got[0] != "c" {
		t.Errorf("the collector got %q", got)
	}
	if s := p.Stats(); s.Lost != 2 || s.Sent != 1 || !strings.Contains(logs.String(), "left out") {
		t.Errorf("the counts are %+v, the log says %s", s, &logs)
	}
}

// A collector that is not there is said once, and how much waits.
func TestWhatWaitsIsSaid(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "before")
	l := listen(t)
	_ = l.Close()
	var logs bytes.Buffer
	p := r.pusher((&collector{Listener: l}).sender(t, "tcp", nil), &logs)
	if _, err := p.sendBatch(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.add(t, "a", "b")
	for range 3 {
		_, err := p.sendBatch(t.Context())
		if err == nil {
			t.Fatal("a collector that is not there takes records")
		}
		p.sayFirstFailure(t.Context(), err)
	}
	if s := p.Stats(); s.Behind != 2 || s.Sent != 0 || strings.Count(logs.String(), "cannot be sent") != 1 {
		t.Errorf("the counts are %+v, the log says %s", s, &logs)
	}
}

// Another record in place of the one that was sent is sent as a whole.
func TestAnotherRecordIsSentFromItsBeginning(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "x", "y")
	c := newCollector(t, listen(t), 0)
	if err := r.Settings().Put(t.Context(), "push/syslog", `{"seq":2,"hash":"`+strings.Repeat("ab", 32)+`"}`); err != nil {
		t.Fatal(err)
	}
	var logs bytes.Buffer
	r.pusher(c.sender(t, "tcp", nil), &logs).Finish(t.Context())
	if got := c.take(2); !slices.Equal(got, []string{"x", "y"}) || !strings.Contains(logs.String(), "not the one that was sent") {
		t.Errorf("the collector got %q, the log says %s", got, &logs)
	}
}

func TestTLSKnowsTheCollector(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(nil) // for its certificate
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	r := newRecord(t)
	c := newCollector(t, tls.NewListener(listen(t), &tls.Config{Certificates: server.TLS.Certificates}), 0)
	p := r.pusher(c.sender(t, "tcp+tls", &tls.Config{RootCAs: roots}), t.Output())
	end := run(t, p)
	waitHeld(t, r)
	r.add(t, "a")
	if got := c.take(1); got[0] != "a" {
		t.Errorf("the collector got %q", got)
	}
	end()
	if _, err := c.sender(t, "tcp+tls", &tls.Config{RootCAs: x509.NewCertPool()}).Send(t.Context(), []siem.Line{{Text: "x"}}); err == nil {
		t.Error("a collector that no authority knows gets records")
	}
}

func TestDatagrams(t *testing.T) {
	t.Parallel()
	in, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var d net.Dialer
	s := NewSyslog(&url.URL{Scheme: "udp", Host: in.LocalAddr().String()}, d.DialContext, nil, "v1")
	defer s.Close()
	refused, err := s.Send(t.Context(), []siem.Line{{Text: strings.Repeat("x", maxDatagram)}, {Text: "small", Severity: 1}})
	if err != nil || refused != 1 {
		t.Fatalf("%d refused, %v", refused, err)
	}
	buf := make([]byte, 2000)
	n, _, err := in.ReadFrom(buf)
	if text := string(buf[:n]); err != nil || !strings.HasPrefix(text, "<110>1 ") || !strings.HasSuffix(text, " small") {
		t.Errorf("%q, %v", text, err)
	}
}

// messageForm is a message of RFC 5424 with structured data.
var messageForm = regexp.MustCompile(`^<(\d{1,3})>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z [!-~]{1,255} sallyport \d+ ([!-~]{1,32}) \[origin software="sallyport" swVersion="v\\"1\\]"\]\[meta sequenceId="(\d+)"\] (.*)$`)

func TestMessagesFollowTheStandard(t *testing.T) {
	t.Parallel()
	s := NewSyslog(&url.URL{Scheme: "tcp", Host: "127.0.0.1:1"}, nil, nil, `v"1]`)
	for _, tt := range []struct {
		line               siem.Line
		pri, kind, seq, to string
	}{
		{siem.Line{Event: audit.Event{Seq: 7, Kind: audit.KindOutcome, Time: time.Unix(1, 0)}, Severity: 1, Text: "a] b\" é"}, "110", "outcome", "7", "a] b\" é"},
		{siem.Line{Event: audit.Event{Seq: maxSequence, Kind: audit.KindChange}, Severity: 3, Text: "x"}, "108", "change", "2147483647", "x"},
		{siem.Line{Event: audit.Event{Seq: maxSequence + 1, Kind: "a b\n"}, Severity: 2, Text: "x"}, "109", "ab", "1", "x"},
	} {
		m := messageForm.FindStringSubmatch(s.composeMessage(&tt.line))
		if m == nil || m[1] != tt.pri || m[2] != tt.kind || m[3] != tt.seq || m[4] != tt.to {
			t.Errorf("%q has the parts %q", s.composeMessage(&tt.line), m)
		}
	}
}
