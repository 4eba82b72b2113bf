package push

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/google/go-cmp/cmp"
	logs "go.opentelemetry.io/proto/slim/otlp/collector/logs/v1"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/otlp"
	"github.com/sallyport/sallyport/internal/siem"
	"github.com/sallyport/sallyport/internal/tracing"
	"github.com/sallyport/sallyport/output"
)

// receiver is a collector of OpenTelemetry. It reads requests with the official definitions.
type receiver struct {
	*httptest.Server
	// judge returns the status and the body of the answer to so many records; nil takes all.
	judge func(tools []string) (int, []byte)

	mu    sync.Mutex
	got   []string // the tools of the records that it took
	asked []int    // the records of each request
	token string
}

func newReceiver(t *testing.T, judge func([]string) (int, []byte)) *receiver {
	t.Helper()
	v := &receiver{judge: judge}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var q logs.ExportLogsServiceRequest
		if err = errors.Join(err, proto.Unmarshal(body, &q)); err != nil || r.URL.Path != "/otlp/v1/logs" {
			t.Errorf("the collector cannot read %s: %v", r.URL.Path, err)
		}
		tools := toolsIn(&q)
		v.mu.Lock()
		defer v.mu.Unlock()
		v.token = r.Header.Get("Authorization")
		v.asked = append(v.asked, len(tools))
		status, answer := 200, []byte(nil)
		if v.judge != nil {
			status, answer = v.judge(tools)
		}
		if status == 200 {
			v.got = append(v.got, tools...)
		}
		w.WriteHeader(status)
		_, _ = w.Write(answer)
	}))
	t.Cleanup(v.Close)
	return v
}

// toolsIn returns the tools that the records of a request are about.
func toolsIn(q *logs.ExportLogsServiceRequest) (tools []string) {
	for _, resource := range q.ResourceLogs {
		for _, scope := range resource.ScopeLogs {
			for _, l := range scope.LogRecords {
				for _, a := range l.Attributes {
					if a.Key == tracing.KeyTool {
						tools = append(tools, a.Value.GetStringValue())
					}
				}
			}
		}
	}
	return tools
}

func (v *receiver) taken() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.got)
}

func (v *receiver) sizes() []int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.asked)
}

// sender returns a sender to an address; header is asked for the headers.
func sender(url string, header func(context.Context) (http.Header, error)) *OTLP {
	if header == nil {
		header = func(context.Context) (http.Header, error) { return http.Header{}, nil }
	}
	client := otlp.NewClient(url+"/otlp/", header, (&net.Dialer{}).DialContext, nil)
	return NewOTLP(client, otlp.Source{Version: "v1", Instance: "i"}, func(l *siem.Line) []tracing.Attr {
		return []tracing.Attr{{Key: tracing.KeyRecord, Number: l.Event.Seq}, {Key: tracing.KeyTool, Text: string(l.Event.Tool)}}
	})
}

// sendAll lets a pusher send until nothing is left or it fails.
func sendAll(t *testing.T, p *Pusher) error {
	t.Helper()
	for {
		if more, err := p.sendBatch(t.Context()); err != nil || !more {
			return err
		}
	}
}

// begin returns a pusher that has taken the lease, so that it sends what is recorded next.
func (r record) begin(t *testing.T, s Sender, logs io.Writer) *Pusher {
	t.Helper()
	p := r.pusher(s, logs)
	if err := sendAll(t, p); err != nil {
		t.Fatal(err)
	}
	return p
}

// Records go to the collector that an authority knows, and to no other one.
func TestTLSKnowsTheCollectorOfLogs(t *testing.T) {
	t.Parallel()
	v := newReceiver(t, nil)
	secure := httptest.NewTLSServer(v.Config.Handler)
	defer secure.Close()
	known := x509.NewCertPool()
	known.AddCert(secure.Certificate())
	for _, tt := range []struct {
		roots *x509.CertPool
		want  int
	}{{x509.NewCertPool(), 0}, {known, 1}} {
		s := sender(secure.URL, nil)
		s.client = otlp.NewClient(secure.URL+"/otlp", func(context.Context) (http.Header, error) { return http.Header{}, nil }, (&net.Dialer{}).DialContext, &tls.Config{RootCAs: tt.roots})
		_, err := s.Send(t.Context(), []siem.Line{{Event: audit.Event{Tool: "a"}}})
		if (err == nil) != (tt.want > 0) || len(v.taken()) != tt.want {
			t.Errorf("the collector got %q, %v, want %d", v.taken(), err, tt.want)
		}
	}
}

// What the official definitions read is the record: one log for each, in its words.
func TestRecordsAreLogs(t *testing.T) {
	t.Parallel()
	clean := output.Plain()
	hostile := clean.Text("a|b\nCEF:0|evil\x1b[2J\u2028")
	lines := []siem.Line{}
	for i, e := range []audit.Event{
		{Kind: audit.KindIntent, CallID: "1", Tool: clean.Text("read_file"), Principal: "ci"},
		{Kind: audit.KindOutcome, CallID: "1", Tool: clean.Text("read_file"), Principal: "ci"},
		{Kind: audit.KindOutcome, CallID: "2", Tool: hostile, Principal: "c\x00i\n\xff", Code: sallyport.CodePermissionDenied, Stage: sallyport.StepPermit, Error: hostile},
	} {
		e.Seq, e.Time = int64(i+1), time.Unix(int64(i), 9)
		lines = append(lines, siem.Line{Event: e, Severity: i + 1, Text: "line " + e.CallID + "\x00\n\xff"})
	}
	var q logs.ExportLogsServiceRequest
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := proto.Unmarshal(body, &q); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	if refused, err := sender(server.URL, nil).Send(t.Context(), lines); refused != 0 || err != nil {
		t.Fatal(refused, err)
	}
	var got []string
	for _, l := range q.ResourceLogs[0].ScopeLogs[0].LogRecords {
		got = append(got, fmt.Sprintf("%d %d %d %s %s %q %s=%d %s=%q", l.TimeUnixNano, l.ObservedTimeUnixNano, l.SeverityNumber, l.SeverityText, l.EventName, l.Body.GetStringValue(),
			l.Attributes[0].Key, l.Attributes[0].Value.GetIntValue(), l.Attributes[1].Key, l.Attributes[1].Value.GetStringValue()))
	}
	want := []string{
		`9 9 9 informational sallyport.record.intent "line 1\x00\n�" sallyport.record.seq=1 gen_ai.tool.name="read_file"`,
		`1000000009 1000000009 10 notice sallyport.record.outcome "line 1\x00\n�" sallyport.record.seq=2 gen_ai.tool.name="read_file"`,
		fmt.Sprintf(`2000000009 2000000009 13 warning sallyport.record.outcome "line 2\x00\n�" sallyport.record.seq=3 gen_ai.tool.name=%q`, string(hostile)),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the records (-want +got):\n%s", diff)
	}
}

func TestLogsResumeWhereTheyStopped(t *testing.T) {
	t.Parallel()
	r, v := newRecord(t, "before"), newReceiver(t, nil)
	p := r.begin(t, sender(v.URL, nil), t.Output())
	r.add(t, "a", "b")
	p.Finish(t.Context())
	r.add(t, "c") // while no process sends
	p = r.pusher(sender(v.URL, nil), t.Output())
	p.Finish(t.Context())
	if got := v.taken(); !slices.Equal(got, []string{"a", "b", "c"}) || p.Stats().Sent != 1 {
		t.Errorf("the collector got %q, and %+v", got, p.Stats())
	}
}

// An answer that may change is waited for, and nothing is lost.
func TestACollectorThatRefusesToListenLosesNothing(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 401, 403, 404, 429, 500, 503} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			answer := status
			r, v := newRecord(t), newReceiver(t, func([]string) (int, []byte) { return answer, nil })
			p := r.begin(t, sender(v.URL, nil), t.Output())
			r.add(t, "a", "b")
			for range 3 {
				if err := sendAll(t, p); err == nil || !strings.Contains(err.Error(), fmt.Sprint(status)) {
					t.Fatalf("an answer of %d: %v", status, err)
				}
			}
			if s := p.Stats(); s.Sent != 0 || s.Lost != 0 || s.Behind != 2 {
				t.Errorf("the counts are %+v", s)
			}
			v.mu.Lock()
			answer = 200
			v.mu.Unlock()
			if err := sendAll(t, p); err != nil || !slices.Equal(v.taken(), []string{"a", "b"}) {
				t.Errorf("the collector got %q, %v", v.taken(), err)
			}
		})
	}
}

// A record that a collector cannot take is left out and said, and the others arrive.
func TestARecordThatIsRefusedIsSaid(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge} {
		r, v := newRecord(t), newReceiver(t, func(tools []string) (int, []byte) {
			if slices.Contains(tools, "poison") {
				return status, nil
			}
			return 200, nil
		})
		var said bytes.Buffer
		p := r.begin(t, sender(v.URL, nil), &said)
		r.add(t, "a", "b", "c", "poison", "d", "e")
		if err := sendAll(t, p); err != nil {
			t.Fatal(err)
		}
		if got := v.taken(); !slices.Equal(got, []string{"a", "b", "c", "d", "e"}) {
			t.Errorf("the collector got %q", got)
		}
		if s := p.Stats(); s.Sent != 5 || s.Lost != 1 || !strings.Contains(said.String(), "left out") || !strings.Contains(said.String(), "up_to=4") {
			t.Errorf("the counts are %+v, the log says %s", s, &said)
		}
		if n := len(v.sizes()); n > 12 {
			t.Errorf("%d requests for six records: %v", n, v.sizes())
		}
	}
}

// What takes no empty request either is no collector: nothing is lost to it.
func TestARecordIsNotLostToWhatIsNoCollector(t *testing.T) {
	t.Parallel()
	r, v := newRecord(t), newReceiver(t, func([]string) (int, []byte) { return http.StatusBadRequest, nil })
	p := r.begin(t, sender(v.URL, nil), t.Output())
	r.add(t, "a", "b")
	for range 3 {
		if err := sendAll(t, p); err == nil {
			t.Fatal("what refuses everything takes records")
		}
	}
	if s := p.Stats(); s.Sent != 0 || s.Lost != 0 {
		t.Errorf("the counts are %+v", s)
	}
}

func TestRecordsThatACollectorRejectsAreCounted(t *testing.T) {
	t.Parallel()
	r, v := newRecord(t), newReceiver(t, func([]string) (int, []byte) {
		text, err := proto.Marshal(&logs.ExportLogsServiceResponse{PartialSuccess: &logs.ExportLogsPartialSuccess{RejectedLogRecords: 2}})
		if err != nil {
			t.Error(err)
		}
		return 200, text
	})
	var said bytes.Buffer
	p := r.begin(t, sender(v.URL, nil), &said)
	r.add(t, "a", "b", "c")
	if err := sendAll(t, p); err != nil {
		t.Fatal(err)
	}
	if s := p.Stats(); s.Sent != 1 || s.Lost != 2 || !strings.Contains(said.String(), "left out") {
		t.Errorf("the counts are %+v, the log says %s", s, &said)
	}
}

// A collector that says nothing holds up the end of a program no longer than it waits.
func TestASilentCollectorHoldsUpNoEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel() // the program ends while it waits
		<-r.Context().Done()
	}))
	defer server.Close()
	r := newRecord(t)
	p := r.begin(t, sender(server.URL, nil), t.Output())
	r.add(t, "a")
	p.Finish(ctx)
	text, _, err := r.Settings().Get(t.Context(), "push/syslog")
	if err != nil || !strings.Contains(text, `"seq":0`) || p.Stats().Sent != 0 {
		t.Errorf("the position is %s, %v, the counts are %+v", text, err, p.Stats())
	}
}

// The secret of a header is in the request and in nothing that is said.
func TestNoSecretOfAHeaderIsSaid(t *testing.T) {
	t.Parallel()
	status := 200
	v := newReceiver(t, func([]string) (int, []byte) { return status, []byte("hunter2") })
	value, missing := "Bearer hunter2", error(nil)
	s := sender(v.URL, func(context.Context) (http.Header, error) { return http.Header{"Authorization": {value}}, missing })
	var said bytes.Buffer
	r := newRecord(t)
	p := r.begin(t, s, &said)
	fail := func() {
		t.Helper()
		r.add(t, "x")
		err := sendAll(t, p)
		if err == nil {
			t.Fatal("a failure is none")
		}
		p.failing = false
		p.sayFirstFailure(t.Context(), err)
	}
	r.add(t, "a")
	if err := sendAll(t, p); err != nil || v.token != "Bearer hunter2" {
		t.Fatalf("the collector got %q, %v", v.token, err)
	}
	v.mu.Lock()
	status = 401
	v.mu.Unlock()
	fail()
	value = "hunter2\nX-Evil: 1"
	fail()
	missing = errors.New("the secret is not set")
	fail()
	v.Close()
	missing, value = nil, "hunter2"
	fail()
	if text := said.String(); strings.Contains(text, "hunter2") || strings.Count(text, "cannot be sent") != 4 || !strings.Contains(text, "the secret is not set") {
		t.Errorf("the log says %s", text)
	}
}

// Two collectors that have one name have a position each.
func TestThePositionHasANameOfItsOwn(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "before")
	p := New(Options{Name: "https://a.example", Position: "otlp/1", Records: r.Store, Kept: r.Settings(), Sender: sender("http://127.0.0.1:1", nil), Logger: slog.New(slog.DiscardHandler)})
	if err := sendAll(t, p); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := r.Settings().Get(t.Context(), "push/otlp/1"); !ok || err != nil {
		t.Errorf("there is no position: %v", err)
	}
}
