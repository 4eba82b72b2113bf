package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/internal/needs"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/schema"
	"github.com/sallyport/sallyport/store/memory"
	"github.com/sallyport/sallyport/store/sqlite"
)

// forecast is the three arguments of a trivial tool.
type forecast struct {
	Location string `json:"location"`
	Days     int    `json:"days"`
	Unit     string `json:"unit"`
}

var forecastArgs = json.RawMessage(`{"location": "Amsterdam, North Holland", "days": 3, "unit": "celsius"}`)

func describe(f forecast) string { return f.Location }

// BenchmarkCall compares a gated call with the bare work: decoding the same
// arguments and calling the function.
func BenchmarkCall(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			bare(b)
		}
	})
	b.Run("gated", func(b *testing.B) {
		gated := trivial(b, nil)
		b.ReportAllocs()
		for b.Loop() {
			gated()
		}
	})
	b.Run("ratio", func(b *testing.B) { compareWithBare(b, trivial(b, nil)) })
	// What every default installation does: each call leaves two records.
	b.Run("recorded", func(b *testing.B) {
		recorded := recordedTrivial(b)
		b.ReportAllocs()
		for b.Loop() {
			recorded()
		}
	})
	b.Run("recorded-ratio", func(b *testing.B) { compareWithBare(b, recordedTrivial(b)) })
	// A tool that honours its deadline needs no goroutine of its own.
	b.Run("prompt-ratio", func(b *testing.B) { compareWithBare(b, promptTrivial(b, nil)) })
	b.Run("recorded-prompt-ratio", func(b *testing.B) {
		compareWithBare(b, promptTrivial(b, recordInMemory(b)))
	})
	// The record of the default installation is in a state file.
	b.Run("file-ratio", func(b *testing.B) { compareWithBare(b, trivial(b, recordInFile(b))) })
	b.Run("file-64-ratio", func(b *testing.B) {
		const callers = 64
		gated := trivial(b, recordInFile(b))
		many := func() { repeat(64, gated) }
		compareRounds(b, 1, func() { repeat(64*callers, func() { bare(b) }) }, func() { runAtOnce(callers, many) }, "x-bare")
	})
	b.Run("refused-ratio", func(b *testing.B) {
		refused := refusedTrivial(b, recordInMemory(b))
		compare(b, recordedTrivial(b), refused, "x-allowed")
	})
}

func compareWithBare(b *testing.B, gated func()) { compare(b, func() { bare(b) }, gated, "x-bare") }

// compare runs both in turn, fifty at a time, so that a change of the machine's pace
// falls on both and few turns are interrupted, and reports the median of the ratios.
func compare(b *testing.B, base, gated func(), unit string) {
	compareRounds(b, 50, base, gated, unit)
}

// compareRounds is compare with as many runs in a turn as times.
func compareRounds(b *testing.B, times int, base, gated func(), unit string) {
	var ratios []float64
	for b.Loop() {
		start := time.Now()
		for range times {
			base()
		}
		between := time.Now()
		for range times {
			gated()
		}
		ratios = append(ratios, float64(time.Since(between))/float64(between.Sub(start)))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], unit)
}

// recordedTrivial returns a gated call whose record is kept in memory.
func recordedTrivial(b testing.TB) func() {
	b.Helper()
	return trivial(b, recordInMemory(b))
}

func recordInMemory(b testing.TB) *registry.Options {
	b.Helper()
	s, err := memory.New(nil)
	if err != nil {
		b.Fatal(err)
	}
	return &registry.Options{Recorder: audittest.NewLog(b, s)}
}

func recordInFile(b testing.TB) *registry.Options {
	b.Helper()
	db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "state.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	return &registry.Options{Recorder: audittest.NewLog(b, db)}
}

func repeat(times int, run func()) {
	for range times {
		run()
	}
}

func runAtOnce(callers int, run func()) {
	var group sync.WaitGroup
	for range callers {
		group.Go(run)
	}
	group.Wait()
}

func bare(b *testing.B) {
	var f forecast
	if err := json.Unmarshal(forecastArgs, &f); err != nil || describe(f) == "" {
		b.Fatal(err)
	}
}

// trivial returns a gated call of one tool.
func trivial(b testing.TB, o *registry.Options) func() {
	b.Helper()
	return gatedCall(b, o, many(b, 1)[0], true)
}

// promptTrivial returns a gated call of one tool that honours its deadline.
func promptTrivial(b testing.TB, o *registry.Options) func() {
	b.Helper()
	tool := many(b, 1)[0]
	tool.HonoursDeadline = true
	return gatedCall(b, o, tool, true)
}

// refusedTrivial returns a call of one tool that the caller may not use.
func refusedTrivial(b testing.TB, o *registry.Options) func() {
	b.Helper()
	tool := many(b, 1)[0]
	tool.Permissions = []string{"forecasts"}
	return gatedCall(b, o, tool, false)
}

func gatedCall(b testing.TB, o *registry.Options, tool sallyport.Tool, allowed bool) func() {
	b.Helper()
	r, err := registry.New(nil, o)
	if err != nil {
		b.Fatal(err)
	}
	if err := r.Register(tool); err != nil {
		b.Fatal(err)
	}
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}, Session: "s"}
	q := sallyport.Request{Tool: tool.Name, Args: forecastArgs}
	return func() {
		if res := r.Call(b.Context(), caller, q); res.OK != allowed {
			b.Fatal(res.Error)
		}
	}
}

// TestACallMakesFewAllocations holds what a call takes from the heap, of which seven
// are the tool's own. It is not parallel: others would be counted.
func TestACallMakesFewAllocations(t *testing.T) {
	if needs.Race {
		return // A pool forgets what it has.
	}
	for _, tt := range []struct {
		name string
		call func()
		most float64
	}{
		{"without a record", trivial(t, nil), 24},
		{"recorded", recordedTrivial(t), 30},
		{"without a record, on the goroutine of its caller", promptTrivial(t, nil), 19},
		{"recorded, on the goroutine of its caller", promptTrivial(t, recordInMemory(t)), 25},
		{"refused", refusedTrivial(t, recordInMemory(t)), 25},
	} {
		if made := testing.AllocsPerRun(500, tt.call); made > tt.most {
			t.Errorf("%s: %v allocations a call, want at most %v", tt.name, made, tt.most)
		} else {
			t.Logf("%s: %v allocations a call", tt.name, made)
		}
	}
}

// BenchmarkTools compares a call among 100 tools with one among 100,000.
func BenchmarkTools(b *testing.B) {
	for _, n := range []int{100, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := filled(b, nil, n)
			caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}, Session: "s"}
			q := sallyport.Request{Tool: fmt.Sprintf("tool-%d", n/2), Args: forecastArgs}
			for b.Loop() {
				if res := r.Call(b.Context(), caller, q); !res.OK {
					b.Fatal(res.Error)
				}
			}
		})
	}
}

// BenchmarkList lists 100 visible tools of 100 registered ones, of 10,000 and of
// 100,000.
func BenchmarkList(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			roles := &roleSet{}
			var shown []string
			for i := range 100 {
				shown = append(shown, fmt.Sprintf("tool-%d", i*(n/100)))
			}
			roles.put("one", shown...)
			r, err := registry.New(&sallyport.Backends{Personalities: roles}, nil)
			if err != nil {
				b.Fatal(err)
			}
			if err := r.Register(many(b, n)...); err != nil {
				b.Fatal(err)
			}
			c := &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}, Personality: "one"}
			r.Definitions(c) // The table is walked once for a role.
			b.ReportAllocs()
			for b.Loop() {
				if got := r.Definitions(c); len(got) != 100 {
					b.Fatal(len(got))
				}
			}
		})
	}
}

// BenchmarkRegister registers 100,000 tools over 100 distinct schemas, and as
// many with a schema of their own, and reports the time and the memory that they
// hold.
func BenchmarkRegister(b *testing.B) {
	for _, distinct := range []int{100, 100_000} {
		b.Run(fmt.Sprint(distinct), func(b *testing.B) {
			for b.Loop() {
				registerMany(b, distinct)
			}
		})
	}
}

func registerMany(b *testing.B, distinct int) {
	b.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	tools := manyOver(b, 100_000, distinct)
	start := time.Now()
	r, err := registry.New(nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	if err := r.Register(tools...); err != nil {
		b.Fatal(err)
	}
	took := time.Since(start)
	clear(tools)
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(took.Seconds(), "s/100k-tools")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB/100k-tools")
	runtime.KeepAlive(r)
}

func filled(b testing.TB, o *registry.Options, n int) *registry.Registry {
	b.Helper()
	r, err := registry.New(nil, o)
	if err != nil {
		b.Fatal(err)
	}
	if err := r.Register(many(b, n)...); err != nil {
		b.Fatal(err)
	}
	return r
}

// many makes tools over at most 100 distinct schemas.
func many(b testing.TB, n int) []sallyport.Tool {
	b.Helper()
	return manyOver(b, n, 100)
}

func manyOver(b testing.TB, n, distinct int) []sallyport.Tool {
	b.Helper()
	base, err := schema.Tool(sallyport.Tool{Name: "tool", Description: "Describe a forecast."},
		func(_ context.Context, _ *sallyport.Call, f forecast) (sallyport.Result, error) {
			return sallyport.OK(describe(f)), nil
		})
	if err != nil {
		b.Fatal(err)
	}
	out := make([]sallyport.Tool, n)
	for i := range out {
		out[i] = base
		out[i].Name = fmt.Sprintf("tool-%d", i)
		out[i].Schema = json.RawMessage(fmt.Sprintf(`{"type":"object","title":"s%d","properties":{"location":{"type":"string"},"days":{"type":"integer"},"unit":{"type":"string"}},"required":["location"],"additionalProperties":false}`, i%distinct))
	}
	return out
}

// BenchmarkListWithCeilings lists 100 visible tools, each of which the role narrows.
func BenchmarkListWithCeilings(b *testing.B) {
	roles := &roleSet{}
	p := &sallyport.Personality{Name: "one", Arguments: map[string]json.RawMessage{"*": json.RawMessage(`{"days":{"maximum":5}}`)}}
	roles.roles.Store("one", p)
	r, err := registry.New(&sallyport.Backends{Personalities: roles}, nil)
	if err != nil {
		b.Fatal(err)
	}
	if err := r.Register(many(b, 100)...); err != nil {
		b.Fatal(err)
	}
	c := &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}, Personality: "one"}
	r.Definitions(c) // The schemas are narrowed once for a role.
	b.ReportAllocs()
	for b.Loop() {
		if got := r.Definitions(c); len(got) != 100 {
			b.Fatal(len(got))
		}
	}
}
