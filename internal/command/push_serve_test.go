package command

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
)

// A server sends each record to a collector, and what was recorded while the collector was
// not there, or no server ran, once it is.
func TestServePushesTheRecord(t *testing.T) {
	t.Parallel()
	dir, metricsAt := folder(t), fmt.Sprintf("127.0.0.1:%d", freePort(t))
	at := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	place(t, dir, app.ConfigName, configText(t, dir)+fmt.Sprintf("audit: {push: [{syslog: \"tcp://%s\"}]}\nmetrics: {listen: %q}\n", at, metricsAt))
	place(t, dir, "notes.txt", "text")
	s := serveHTTP(t, dir)
	// The collector is not there, and no call waits for it.
	for range 3 {
		if status, body := s.request(t, "POST", "/v1/actions/read_file/execute", `{"params":{"path":"notes.txt"}}`, s.headers()); status != 200 {
			t.Fatalf("a call without a collector = %d %s", status, body)
		}
	}
	if text := getText(t, "http://"+metricsAt+"/metrics"); !strings.Contains(text, `sallyport_export_records_lost_total{exporter="tcp://`+at+`"} 0`) {
		t.Error("the metrics do not name the collector")
	}
	s.stop(t)
	runSallyport(t, dir, "call", "read_file", `{"path":"notes.txt"}`) // no server runs
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Skip("another program has taken the port: ", err)
	}
	defer l.Close()
	got := make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			got <- err.Error()
			return
		}
		all, _ := io.ReadAll(conn)
		_ = conn.Close()
		got <- string(all)
	}()
	s = serveHTTP(t, dir)
	s.stop(t) // at its end it sends what is left
	all := <-got
	for _, want := range []string{"<110>1 ", " sallyport ", `[meta sequenceId="8"]`, "CEF:0|Sallyport|Sallyport|"} {
		if !strings.Contains(all, want) {
			t.Errorf("the collector got no %q:\n%s", want, all)
		}
	}
	for n := range 8 {
		if want := fmt.Sprintf("sequenceId=\"%d\"", n+1); strings.Count(all, want) == 0 {
			t.Errorf("the collector did not get %s", want)
		}
	}
	if n := strings.Count(all, "|read_file|"); n != 8 {
		t.Errorf("the collector got %d records of read_file, want 8", n)
	}
}

func getText(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
