package sqlite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/store/sqlite"
)

// BenchmarkRecord measures audit records that wait for the disk.
func BenchmarkRecord(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			db := open(b, filepath.Join(b.TempDir(), "state.db"), nil)
			l := audittest.NewLog(b, db)
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			next := make(chan struct{}, callers)
			for range callers {
				wg.Go(func() {
					for range next {
						if err := l.Record(b.Context(), benchEvent()); err != nil {
							b.Error(err)
						}
					}
				})
			}
			for range b.N {
				next <- struct{}{}
			}
			close(next)
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// benchGrant is what all calls of a tool in a role have.
var benchGrant = sallyport.Grant{FS: sallyport.FSGrant{Read: []string{"/work"}, Write: []string{"/work/notes"}}}

// benchEvent returns the intent of a call whose id begins with its time, as the gate
// gives them.
func benchEvent() *audit.Event {
	now := time.Now()
	return &audit.Event{
		Kind: audit.KindIntent, CallID: fmt.Sprintf("%012d%012d", now.UnixMicro()%1e12, now.Nanosecond()), Tool: "read_file", Durable: true,
		Time: now, Principal: "local", Session: "01JXYZABCDEFGHJKMNPQRSTVWX", Personality: "researcher",
		Platform: sallyport.PlatformMCP, Args: `{"path":"/work/notes/today.md","from":1,"to":200}`,
		ArgsDigest: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		Definition: "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752",
		Grant:      &benchGrant,
	}
}

func BenchmarkKV(b *testing.B) {
	db := open(b, filepath.Join(b.TempDir(), "state.db"), nil)
	kv, err := db.KV(b.Context(), "tool:bench")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("set", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			// A value that does not change would not be written.
			if err := kv.Set(b.Context(), fmt.Sprintf("key-%04d", i%5000), fmt.Sprintf("%0200d", i), 0); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("get", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, _, err := kv.Get(b.Context(), fmt.Sprintf("key-%04d", i%5000)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("list 100", func(b *testing.B) {
		for b.Loop() {
			if _, err := kv.List(b.Context(), "key-00"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkRemember(b *testing.B) {
	for _, files := range []int{5000, 10} {
		b.Run(fmt.Sprint(files, " files"), func(b *testing.B) {
			db := open(b, filepath.Join(b.TempDir(), "state.db"), nil)
			for i := 0; b.Loop(); i++ {
				r := sallyport.ReadRecord{Path: fmt.Sprint("/w/", i%files), Identity: fmt.Sprint("1:", i%files), Time: time.Now()}
				if err := db.Remember(b.Context(), "local/s", r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	db := open(b, filepath.Join(b.TempDir(), "state.db"), nil)
	l := audittest.NewLog(b, db)
	const records = 20_000
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range records / 64 {
				if err := l.Record(b.Context(), benchEvent()); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	n := int64(0)
	for b.Loop() {
		r := audittest.VerifyRecords(b, db, nil)
		if !r.OK() {
			b.Fatal(r.String())
		}
		n += r.Records
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkIndex measures what the index of the record costs for a call, which has two
// records.
func BenchmarkIndex(b *testing.B) {
	const calls = 10_000
	for b.Loop() {
		b.StopTimer()
		db := open(b, filepath.Join(b.TempDir(), "state.db"), sqlite.NoIndex())
		l := audittest.NewLog(b, db)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				for range calls / 50 {
					e := benchEvent()
					e.Durable = false
					outcome := *e
					outcome.Kind = audit.KindOutcome
					if err := errors.Join(l.Record(b.Context(), e), l.Record(b.Context(), &outcome)); err != nil {
						b.Error(err)
					}
				}
			})
		}
		wg.Wait()
		b.StartTimer()
		if err := db.IndexAll(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*calls), "µs/call")
}

// BenchmarkOpen measures what a process that makes one call pays: open an
// existing file, read one thing, close.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "state.db")
	first, err := sqlite.Open(b.Context(), path, nil)
	if err != nil {
		b.Fatal(err)
	}
	audittest.RecordCalls(b, audittest.NewLog(b, first), first, "c", 50)
	first.Close()
	b.Run("existing", func(b *testing.B) {
		for b.Loop() {
			db, err := sqlite.Open(b.Context(), path, nil)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := audit.Newest(b.Context(), db); err != nil {
				b.Fatal(err)
			}
			db.Close()
		}
	})
	b.Run("new", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			db, err := sqlite.Open(b.Context(), fmt.Sprintf("%s%d", path, i), nil)
			if err != nil {
				b.Fatal(err)
			}
			db.Close()
		}
	})
}
