package command

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/httpapi"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/sqlite"
)

const loadBody = `{"params":{"text":"hello"}}`

// BenchmarkLoad sends requests at fixed times, however long the answers take,
// to a plain handler and to the same work behind the gate: token, rate limit
// and a durable record of intent and outcome in a state file. It reports the
// median and the 99th percentile from the planned time of a request to the end
// of its answer, over the loopback interface. The clients run in this process.
// Its processor time for a request is the figure that a busy machine changes
// least.
func BenchmarkLoad(b *testing.B) {
	for _, rate := range []int{100, 500, 1000} {
		b.Run(fmt.Sprintf("plain/%d", rate), func(b *testing.B) {
			site := httptest.NewServer(http.HandlerFunc(plainEcho))
			defer site.Close()
			load(b, site.URL, "none", rate)
		})
		b.Run(fmt.Sprintf("gated/%d", rate), func(b *testing.B) {
			url, token := gatedEcho(b)
			load(b, url+"/v1/actions/echo/execute", token, rate)
		})
	}
}

func plainEcho(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"success":true,"data":"hello"}`)
}

// gatedEcho serves a tool that counts as one with effects, so that its intent
// is on the disk before it runs.
func gatedEcho(b *testing.B) (url, token string) {
	b.Helper()
	must := func(err error) {
		if err != nil {
			b.Helper()
			b.Fatal(err)
		}
	}
	db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "state.db"), nil)
	must(err)
	b.Cleanup(func() { _ = db.Close() })
	key, err := audit.NewKey(make([]byte, audit.KeyBytes))
	must(err)
	log, err := audit.New(db, key, nil)
	must(err)
	b.Cleanup(func() { _ = log.Close() })
	switches, err := auth.NewSwitches(db.Switches())
	must(err)
	r, err := registry.New(&sallyport.Backends{Network: &sallyport.NetworkBackend{}}, &registry.Options{
		Recorder: log, Limiter: db, Switches: switches,
	})
	must(err)
	must(r.Register(sallyport.Tool{
		Name: "echo", Description: "Says hello.", Schema: []byte(`{"type":"object","properties":{"text":{"type":"string"}}}`),
		Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"example.com"}}},
		RateLimit:    &sallyport.RateLimit{Requests: 1_000_000, Window: time.Hour},
		Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
			return sallyport.OK("hello"), nil
		},
	}))
	api, err := httpapi.New(r, nil)
	must(err)
	site := httptest.NewUnstartedServer(nil)
	token, hash := auth.NewToken()
	guard, err := auth.NewGuard(site.Listener.Addr().String(), auth.Single{Hash: hash, Owner: sallyport.Principal{Name: "load"}}, nil)
	must(err)
	site.Config.Handler = guard.Protect(api.Handler())
	site.Start()
	b.Cleanup(site.Close)
	return site.URL, token
}

// load sends b.N requests at a rate per second and reports their latency.
func load(b *testing.B, url, token string, rate int) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 512}}
	defer client.CloseIdleConnections()
	took := make([]time.Duration, b.N)
	var wg sync.WaitGroup
	b.ResetTimer()
	before, begun := processorTime(b, os.Getpid()), time.Now()
	for i := range took {
		planned := begun.Add(time.Duration(i) * time.Second / time.Duration(rate))
		time.Sleep(time.Until(planned))
		wg.Go(func() {
			if err := post(b.Context(), client, url, token); err != nil {
				b.Error(err)
			}
			took[i] = time.Since(planned)
		})
	}
	wg.Wait()
	spent := processorTime(b, os.Getpid()) - before
	slices.Sort(took)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(spent.Microseconds())/float64(b.N), "µs-processor/call")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1e3, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1e3, "p99-ms")
}

func post(ctx context.Context, c *http.Client, url, token string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(loadBody))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	res, err := c.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d, %w", res.StatusCode, err)
	}
	return nil
}
