package egress

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
)

func TestDefaultBounds(t *testing.T) {
	t.Parallel()
	c, err := New(allow("a.example"), nil)
	if err != nil || c.maxBytes != 64<<20 || c.timeout != 100*time.Second || c.transport.MaxResponseHeaderBytes != maxHeaderBytes {
		t.Errorf("New = %+v, %v, want 64 MiB and 100 s", c, err)
	}
	for _, o := range []*Options{{MaxResponseBytes: -1}, {Timeout: -1}} {
		if _, err := New(allow("a.example"), o); err == nil {
			t.Errorf("New with %+v succeeds", o)
		}
	}
}

func TestBodySize(t *testing.T) {
	t.Parallel()
	const bound = 1000
	tests := []struct {
		name       string
		size       int
		gzip, head bool
		ask        string // Accept-Encoding of the caller
		ok         bool
	}{
		{"empty", 0, false, false, "", true},
		{"below", bound - 1, false, false, "", true},
		{"exactly", bound, false, false, "", true},
		{"above", bound + 1, false, false, "", false},
		{"far above", 1 << 20, false, false, "", false},
		{"HEAD announces much", 1 << 20, false, true, "", true},
		{"compressed, exactly", bound, true, false, "", true},
		{"compressed, above", bound + 1, true, false, "", false},
		{"compressed bomb", 1 << 20, true, false, "", false},
		{"bomb that the caller asked for", 1 << 20, true, false, "gzip", false},
		{"bomb in several codings", 1 << 20, true, false, "br, gzip;q=0.5", false},
		{"identity", bound, false, false, "identity", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, public(), func(w http.ResponseWriter, r *http.Request) {
				data := make([]byte, tt.size)
				if tt.gzip && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
					w.Header().Set("Content-Encoding", "gzip")
					data = gzipped(data)
				}
				w.Write(data)
			})
			method := "GET"
			if tt.head {
				method = "HEAD"
			}
			req, _ := http.NewRequestWithContext(t.Context(), method, "http://a.example/", nil)
			if tt.ask != "" {
				req.Header.Set("Accept-Encoding", tt.ask)
			}
			resp, err := bind(w.client(t, allow("a.example"), Options{MaxResponseBytes: bound}), nil).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			data, err := io.ReadAll(resp.Body)
			if (err == nil) != tt.ok || len(data) > bound {
				t.Errorf("read %d bytes, %v, want ok %t and at most %d", len(data), err, tt.ok, bound)
			}
			if err != nil {
				if e, ok := errors.AsType[*sallyport.Error](err); !ok || e.Error() != "a.example sent more than 1000 bytes" {
					t.Errorf("ReadAll = %v, want the bound named", err)
				}
				if n, again := resp.Body.Read(make([]byte, 10)); n != 0 || again != err {
					t.Errorf("reading on = %d, %v, want 0 and the same error", n, again)
				}
			}
		})
	}
}

func TestCallersWhoDecompressGetWhatTheyAskedFor(t *testing.T) {
	t.Parallel()
	// The transport decompresses; a caller that looks at Content-Encoding
	// must not be told to do it again.
	w := newWorld(t, public(), func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		z.Write([]byte("hello"))
		z.Close()
	})
	req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://a.example/", nil)
	req.Header.Set("Accept-Encoding", "gzip")
	resp, err := bind(w.client(t, allow("a.example"), Options{}), nil).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if string(data) != "hello" || err != nil || resp.Header.Get("Content-Encoding") != "" {
		t.Errorf("body = %q, %v with %v, want it decompressed", data, err, resp.Header)
	}
}

func TestHeaderSize(t *testing.T) {
	t.Parallel()
	for size, ok := range map[int]bool{64 << 10: true, 2 * maxHeaderBytes: false} {
		w := newWorld(t, public(), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("x", size))
		})
		if _, err := get(bind(w.client(t, allow("a.example"), Options{}), nil), "http://a.example/"); (err == nil) != ok {
			t.Errorf("a header of %d bytes = %v, want ok %t", size, err, ok)
		}
	}
}

func TestTimeBound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		answer http.HandlerFunc
	}{
		{"no answer", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		{"stalled body", func(w http.ResponseWriter, r *http.Request) {
			w.Write([]byte("x"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}},
		{"slow drip", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				w.Write([]byte("x"))
				w.(http.Flusher).Flush()
				time.Sleep(time.Second)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, public(), tt.answer)
				c := bind(w.client(t, allow("a.example"), Options{Timeout: 10 * time.Second}), nil)
				c.Timeout = time.Hour // an SDK cannot raise the bound
				start := time.Now()
				_, err := get(c, "http://a.example/")
				if time.Since(start) != 10*time.Second || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Get = %v after %s, want the bound after 10s", err, time.Since(start))
				}
				if e, ok := errors.AsType[*sallyport.Error](err); !ok || e.Error() != "a.example did not finish within 10s" {
					t.Errorf("Get = %v, want a text that names the bound", err)
				}
				if e, ok := errors.AsType[net.Error](err); !ok || !e.Timeout() {
					t.Errorf("Get = %v, want Timeout() true", err)
				}
			})
		})
	}
}

func TestCallersContextEndsAnExchange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, public(), func(w http.ResponseWriter, r *http.Request) {
			w.Write([]byte("x"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		ctx, cancel := context.WithCancel(t.Context())
		req, _ := http.NewRequestWithContext(ctx, "GET", "http://a.example/", nil)
		resp, err := bind(w.client(t, allow("a.example"), Options{}), nil).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("ReadAll = %v after %s, want the cancellation after 1s", err, time.Since(start))
		}
	})
}

func TestReadOfNothing(t *testing.T) {
	t.Parallel()
	b := &boundedBody{rc: io.NopCloser(bytes.NewReader(nil)), left: 1}
	if n, err := b.Read(nil); n != 0 || err != nil {
		t.Errorf("Read(nil) = %d, %v, want 0, nil", n, err)
	}
}
