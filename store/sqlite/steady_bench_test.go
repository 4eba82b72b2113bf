package sqlite_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/store/sqlite"
)

// BenchmarkSteady writes at fixed times, a thousand times a second, whatever
// each takes, and reports what it took from the planned time on: one commit
// that does not wait for the disk, what a call writes, of which the intent
// waits, and as many bytes as an intent has in a plain file that is full before, each of
// which waits.
func BenchmarkSteady(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		const size = 1200
		file, err := os.Create(filepath.Join(b.TempDir(), "bare"))
		if err != nil {
			b.Fatal(err)
		}
		defer file.Close()
		_, err = file.Write(make([]byte, b.N*size))
		if err := errors.Join(err, file.Sync()); err != nil {
			b.Fatal(err)
		}
		text, next := bytes.Repeat([]byte("x"), size), atomic.Int64{}
		steady(b, func() error {
			_, err := file.WriteAt(text, (next.Add(1)-1)*size)
			return errors.Join(err, fsx.SyncData(file))
		})
	})
	b.Run("commit", func(b *testing.B) {
		db := open(b, filepath.Join(b.TempDir(), "state.db"), nil)
		steady(b, func() error { return admitCall(b, db) })
	})
	b.Run("call", func(b *testing.B) {
		db := open(b, filepath.Join(b.TempDir(), "state.db"), nil)
		l := audittest.NewLog(b, db)
		steady(b, func() error {
			if err := admitCall(b, db); err != nil {
				return err
			}
			e := benchEvent()
			if err := l.Record(b.Context(), e); err != nil {
				return err
			}
			e.Kind, e.Durable = audit.KindOutcome, false
			return l.Record(b.Context(), e)
		})
	})
}

func admitCall(b *testing.B, db *sqlite.DB) error {
	_, err := db.Admit(b.Context(), "bench", sallyport.RateLimit{Requests: 1_000_000, Window: time.Hour})
	return err
}

func steady(b *testing.B, write func() error) {
	took := make([]time.Duration, b.N)
	var wg sync.WaitGroup
	b.ResetTimer()
	begun := time.Now()
	for i := range took {
		planned := begun.Add(time.Duration(i) * time.Millisecond)
		time.Sleep(time.Until(planned))
		wg.Go(func() {
			if err := write(); err != nil {
				b.Error(err)
			}
			took[i] = time.Since(planned)
		})
	}
	wg.Wait()
	slices.Sort(took)
	b.ReportMetric(0, "ns/op")
	for name, at := range map[string]int{"p50-ms": b.N / 2, "p99-ms": b.N * 99 / 100, "p99.9-ms": b.N * 999 / 1000, "max-ms": b.N - 1} {
		b.ReportMetric(float64(took[at].Microseconds())/1e3, name)
	}
}
