package registry_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/sqlite"
)

// BenchmarkFacts compares a call that brings in what is kept with one that
// brings in nothing, over a state file.
func BenchmarkFacts(b *testing.B) {
	db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "state.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	p := &sallyport.Personality{Name: "role", MCPServers: []string{"a"}}
	r, err := registry.New(&sallyport.Backends{Personalities: one{p}}, &registry.Options{Facts: db.Facts()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = r.Close(b.Context()) })
	if err := r.Register(sallyport.Tool{Name: "mcp__a__brings", Run: echo}, sallyport.Tool{Name: "nothing", Run: echo}); err != nil {
		b.Fatal(err)
	}
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}, Session: "s", Personality: "role"}
	for _, tool := range []string{"nothing", "mcp__a__brings"} {
		b.Run(tool, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if res := r.Call(b.Context(), caller, sallyport.Request{Tool: tool}); !res.OK {
					b.Fatal(res.Error)
				}
			}
		})
	}
}

// BenchmarkStateFile calls a tool without effects that brings in what is kept, with
// its record in a state file, from one caller and from 64: with what it brings in its
// record, and noted beside it, in turns. It reports the median calls/s of each.
func BenchmarkStateFile(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			gates := []*registry.Registry{stateGate(b, true), stateGate(b, false)}
			var rates [2][]float64
			const calls = 1024
			for b.Loop() {
				for i, r := range gates {
					began := time.Now()
					var group sync.WaitGroup
					for n := range callers {
						group.Go(func() { callSome(b, r, fmt.Sprint("p", n), calls/callers) })
					}
					group.Wait()
					rates[i] = append(rates[i], calls/time.Since(began).Seconds())
				}
			}
			for i, unit := range []string{"in-record/s", "noted/s"} {
				slices.Sort(rates[i])
				b.ReportMetric(rates[i][len(rates[i])/2], unit)
			}
		})
	}
}

func stateGate(b *testing.B, inRecords bool) *registry.Registry {
	b.Helper()
	db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "state.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	p := &sallyport.Personality{Name: "role", MCPServers: []string{"a"}}
	r, err := registry.New(&sallyport.Backends{Personalities: one{p}}, &registry.Options{
		Recorder: audittest.NewLog(b, db), Facts: db.Facts(), FactsInRecords: inRecords,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = r.Close(b.Context()) })
	if err := r.Register(sallyport.Tool{Name: "mcp__a__brings", SaysReadOnly: true, Run: echo}); err != nil {
		b.Fatal(err)
	}
	return r
}

func callSome(b *testing.B, r *registry.Registry, principal string, n int) {
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: principal}, Session: "s", Personality: "role"}
	for range n {
		if res := r.Call(b.Context(), caller, sallyport.Request{Tool: "mcp__a__brings"}); !res.OK {
			b.Error(res.Error)
			return
		}
	}
}
