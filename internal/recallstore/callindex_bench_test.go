package recallstore_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/internal/recall"
	"github.com/sallyport/sallyport/internal/recallstore"
	"github.com/sallyport/sallyport/output"
)

// BenchmarkCalls searches 100,000 recorded calls of one caller, of twelve words each that
// are mostly common ones, and reports the 99th percentile, with one new call before each
// search. It also reports what the index took to build, and has of each call.
func BenchmarkCalls(b *testing.B) {
	const calls = 100_000
	state, path := openState(b)
	log := audittest.NewLog(b, state)
	word := newWords()
	var writers sync.WaitGroup
	for range 64 {
		writers.Go(func() {
			for range calls / 64 {
				recordOne(b, log, word)
			}
		})
	}
	writers.Wait()
	x := newIndex(b, path, state, &recallstore.CallOptions{Wait: time.Hour})
	search := func() (took time.Duration) {
		q := recall.CallQuery{Principal: "local", Words: word() + " " + word() + " path", Most: 10}
		began := time.Now()
		found, err := x.Calls(b.Context(), q)
		if took = time.Since(began); err != nil || len(found.List) == 0 {
			b.Fatalf("Calls = %v, %v", found, err)
		}
		return took
	}
	built := search()
	var took []time.Duration
	for b.Loop() {
		b.StopTimer()
		recordOne(b, log, word)
		b.StartTimer()
		took = append(took, search())
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(built.Microseconds())/calls, "build-µs/call")
	if info, err := os.Stat(path); err == nil {
		b.ReportMetric(float64(info.Size())/calls, "B/call")
	}
}

// newWords returns a source of words, of which a few are common.
func newWords() func() string {
	var mu sync.Mutex
	state := uint64(1)
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		state = state*6364136223846793005 + 1442695040888963407
		n := state >> 33
		for range 3 { // the product of small numbers is small more often
			n = n * (state >> 40 & 0xff) >> 8
		}
		return fmt.Sprint("w", n%5000)
	}
}

func recordOne(b testing.TB, log *audit.Log, word func() string) {
	words := make([]string, 12)
	for i := range words {
		words[i] = word()
	}
	for _, kind := range []audit.Kind{audit.KindIntent, audit.KindOutcome} {
		e := audittest.NewEvent(kind, "c")
		e.Args = output.Plain().Text(`{"path":"/w/` + strings.Join(words, " ") + `"}`)
		if err := log.Record(b.Context(), e); err != nil {
			b.Error(err)
		}
	}
}
