package command

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/sqlite"
)

// BenchmarkDurableCalls calls a trivial tool that counts as one with effects,
// from 64 callers. Each call writes an intent to the disk before the tool runs,
// and an outcome; both are committed in groups.
func BenchmarkDurableCalls(b *testing.B) {
	db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "state.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	key, err := audit.NewKey(make([]byte, audit.KeyBytes))
	if err != nil {
		b.Fatal(err)
	}
	log, err := audit.New(db, key, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	r, err := registry.New(&sallyport.Backends{Network: &sallyport.NetworkBackend{}}, &registry.Options{Recorder: log})
	if err != nil {
		b.Fatal(err)
	}
	err = r.Register(sallyport.Tool{
		Name:         "tool",
		Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"example.com"}}},
		Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
			return sallyport.OK("done"), nil
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	const callers = 64
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}, Session: "s"}
	var group sync.WaitGroup
	b.ResetTimer()
	for i := range callers {
		n := b.N / callers
		if i < b.N%callers {
			n++
		}
		group.Go(func() {
			for range n {
				if res := r.Call(b.Context(), caller, sallyport.Request{Tool: "tool"}); !res.OK {
					b.Error(res.Error)
					return
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}
