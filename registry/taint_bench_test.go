package registry_test

import (
	"path/filepath"
	"testing"

	"github.com/sallyport/sallyport"
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
