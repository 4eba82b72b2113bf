package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/output"
)

// BenchmarkDurable compares a record that waits for the disk with the same bytes
// that a bare program adds to a file and syncs, in turns. It reports the median of
// each.
func BenchmarkDurable(b *testing.B) {
	dir := b.TempDir()
	l := audittest.NewLog(b, open(b, filepath.Join(dir, "state.db"), nil))
	bare, err := os.OpenFile(filepath.Join(dir, "bare"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer bare.Close()
	text := make([]byte, 900)
	var bareTook, recordTook []time.Duration
	for b.Loop() {
		began := time.Now()
		_, err := bare.Write(text)
		if err == nil {
			err = syscall.Fdatasync(int(bare.Fd()))
		}
		bareTook = append(bareTook, time.Since(began))
		began = time.Now()
		if failed := l.Record(b.Context(), benchEvent()); failed != nil || err != nil {
			b.Fatal(failed, err)
		}
		recordTook = append(recordTook, time.Since(began))
	}
	middle := func(took []time.Duration) float64 {
		slices.Sort(took)
		return float64(took[len(took)/2].Nanoseconds()) / 1e3
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(middle(bareTook), "bare-µs")
	b.ReportMetric(middle(recordTook), "record-µs")
	b.ReportMetric(middle(bareTook)/middle(recordTook), "share")
}

// BenchmarkDurableMany is BenchmarkDurable for 64 callers, each of which waits for the
// disk: records, and the same bytes that as many threads add to a plain file and sync.
func BenchmarkDurableMany(b *testing.B) {
	const callers, each = 64, 16
	dir := b.TempDir()
	l := audittest.NewLog(b, open(b, filepath.Join(dir, "state.db"), nil))
	bare, err := os.OpenFile(filepath.Join(dir, "bare"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer bare.Close()
	text := make([]byte, 900)
	run := func(one func() error) float64 {
		began := time.Now()
		var group sync.WaitGroup
		for range callers {
			group.Go(func() {
				for range each {
					if err := one(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		group.Wait()
		return callers * each / time.Since(began).Seconds()
	}
	var plain, records []float64
	for b.Loop() {
		plain = append(plain, run(func() error {
			_, err := bare.Write(text)
			return errors.Join(err, syscall.Fdatasync(int(bare.Fd())))
		}))
		records = append(records, run(func() error { return l.Record(b.Context(), benchEvent()) }))
	}
	slices.Sort(plain)
	slices.Sort(records)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(plain[len(plain)/2], "bare/s")
	b.ReportMetric(records[len(records)/2], "records/s")
}

// BenchmarkQuery asks a record of many events for what no event matches, for what
// one does, and for the newest of many.
func BenchmarkQuery(b *testing.B) {
	records := 100_000
	if os.Getenv("SALLYPORT_BENCH_MILLION") == "1" {
		records = 1_000_000
	}
	db := open(b, filepath.Join(b.TempDir(), "state.db"), nil)
	began := time.Now()
	fillRecords(b, db, records)
	if err := db.IndexAll(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Logf("%d records were made and indexed in %s", records, time.Since(began))
	at := time.Unix(0, 0)
	for name, q := range map[string]audit.Query{
		"no such principal": {Principal: "none"}, "no such tool": {Tool: "none"}, "no such call": {Call: "none"},
		"denied": {Denied: true}, "denied of a tool": {Denied: true, Tool: "fetch_url"}, "call": {Call: fmt.Sprint(records / 2)},
		"last": {Last: 20}, "last of a principal": {Principal: "local", Last: 20}, "last of a tool": {Tool: "read_file", Last: 20},
		"no such tool of a principal": {Principal: "local", Tool: "fetch_url"}, "later": {Since: at.Add(time.Duration(records) * time.Second)},
		"later of a tool": {Tool: "fetch_url", Since: at.Add(time.Duration(records-50) * time.Second)},
		"after":           {After: int64(records - 20)},
	} {
		b.Run(name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				n = count(b, db, q)
			}
			b.ReportMetric(float64(n), "records")
		})
	}
}

// fillRecords seals records in large batches.
func fillRecords(b *testing.B, db audit.Store, n int) {
	b.Helper()
	for from := 0; from < n; from += 1000 {
		err := db.Append(b.Context(), func(head audit.Head) ([]audit.Record, error) {
			list := make([]audit.Record, 1000)
			for i := range list {
				k := from + i
				r := &list[i]
				r.Seq, r.Time, r.Kind = head.Seq+int64(i)+1, int64(k)*int64(time.Second), audit.KindOutcome
				r.Call, r.Tool, r.Principal = fmt.Sprint(k), "read_file", "local"
				if k%2 == 0 {
					r.Tool, r.Principal = "fetch_url", "ci"
				}
				r.Body = []byte(output.Clean(fmt.Sprintf(`{"call_id":"%d","args":"%0600d"}`, k, k)))
			}
			return list, nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
