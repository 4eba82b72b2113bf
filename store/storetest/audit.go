package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/store"
)

func wantGood(t testing.TB, r audit.Report, records int64) {
	t.Helper()
	if !r.OK() || r.Records != records {
		t.Errorf("Verify: %s, want %d good records", r.String(), records)
	}
}

func testAuditChain(t *testing.T, open opener) {
	db := open(t, Options{})
	r := audittest.VerifyRecords(t, db, nil)
	wantGood(t, r, 0)
	l := audittest.NewLog(t, db)
	head := audittest.RecordCalls(t, l, db, "c", 700)
	r = audittest.VerifyRecords(t, db, &audit.VerifyOptions{Head: &head})
	wantGood(t, r, 1400)
	if !r.TailProven || r.Head != head || head.Seq != 1400 || r.UnknownCount != 0 {
		t.Errorf("Verify: %+v, want the tail proven at %s and no unknown outcome", r, head)
	}
	if err := l.Record(t.Context(), audittest.NewEvent(audit.KindIntent, "crashed")); err != nil {
		t.Fatal(err)
	}
	r = audittest.VerifyRecords(t, db, nil)
	if diff := cmp.Diff([]string{"crashed"}, r.Unknown); diff != "" || r.TailProven {
		t.Errorf("Verify: tail proven %v, unknown outcomes (-want +got):\n%s", r.TailProven, diff)
	}
	if _, err := audit.New(db, audittest.NewKey(t, "other"), nil); !errors.Is(err, audit.ErrOtherKey) {
		t.Errorf("New with another key = %v, want ErrOtherKey", err)
	}
	if r, _ := audit.Verify(t.Context(), db, audittest.NewKey(t, "other"), nil); r.OK() || r.Bad.Seq != 1 {
		t.Errorf("Verify with another key: %s, want record 1 bad", r.String())
	}
}

func testAuditQueries(t *testing.T, open opener) {
	db := open(t, Options{})
	l := audittest.NewLog(t, db)
	start := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	for i := range 40 {
		e := audittest.NewEvent(audit.KindOutcome, fmt.Sprintf("call%d", i/2))
		e.Time = start.Add(time.Duration(i) * time.Minute)
		e.Tool = []output.Clean{"read_file", "fetch_url"}[i%2]
		e.Principal = []string{"local", "ci", "Local"}[i%3]
		if i%4 == 3 {
			e.OK, e.Code, e.Stage, e.Error = false, sallyport.CodeNotAvailable, sallyport.StepVisible, "no"
		}
		if err := l.Record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name string
		q    audit.Query
		want []int64
	}{
		{"call", audit.Query{Call: "call3"}, []int64{7, 8}},
		{"no such call", audit.Query{Call: "CALL3"}, nil},
		{"last", audit.Query{Last: 3}, []int64{38, 39, 40}},
		{"more than there are", audit.Query{Last: 300, After: 38}, []int64{39, 40}},
		{"last of a tool", audit.Query{Tool: "read_file", Last: 2}, []int64{37, 39}},
		{"denied", audit.Query{Denied: true, After: 30}, []int64{32, 36, 40}},
		{"denied of a principal", audit.Query{Denied: true, Principal: "local"}, []int64{4, 16, 28, 40}},
		{"last denied of another tool", audit.Query{Denied: true, Tool: "read_file", Last: 5}, nil},
		{"since", audit.Query{Since: start.Add(37 * time.Minute)}, []int64{38, 39, 40}},
		{"since, last", audit.Query{Since: start.Add(30 * time.Minute), Last: 1}, []int64{40}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []int64
			for e, err := range audit.Events(t.Context(), db, tt.q) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, e.Seq)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Events(%+v), difference (-want +got):\n%s", tt.q, diff)
			}
		})
	}
}

func testAuditConcurrent(t *testing.T, open opener) {
	db := open(t, Options{})
	// Two logs stand for two processes.
	logs := []*audit.Log{audittest.NewLog(t, db), audittest.NewLog(t, db)}
	const callers, each = 16, 20
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for n := range each {
				if err := logs[i%2].Record(t.Context(), audittest.NewEvent(audit.KindOutcome, fmt.Sprintf("%d-%d", i, n))); err != nil {
					t.Errorf("Record = %v", err)
				}
			}
		})
	}
	wg.Wait()
	wantGood(t, audittest.VerifyRecords(t, db, nil), callers*each)
	seen := make(map[string]int)
	for e, err := range audit.Events(t.Context(), db, audit.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		seen[e.CallID]++
	}
	if len(seen) != callers*each {
		t.Errorf("%d different calls, want %d", len(seen), callers*each)
	}
}

func testAuditSealFails(t *testing.T, open opener) {
	db := open(t, Options{})
	head := audittest.RecordCalls(t, audittest.NewLog(t, db), db, "c", 2)
	reason := errors.New("no")
	err := db.Append(t.Context(), func(h audit.Head) ([]audit.Record, error) {
		if h != head {
			t.Errorf("seal was given head %s, want %s", h, head)
		}
		return []audit.Record{{Seq: h.Seq + 1, Kind: audit.KindIntent}}, reason
	})
	if !errors.Is(err, reason) {
		t.Errorf("Append = %v, want the error of seal", err)
	}
	for _, seq := range []int64{head.Seq, head.Seq + 2} {
		err = db.Append(t.Context(), func(audit.Head) ([]audit.Record, error) {
			return []audit.Record{{Seq: seq, Kind: audit.KindIntent, Body: []byte("{}")}}, nil
		})
		if err == nil {
			t.Errorf("Append of record %d after %d = no error", seq, head.Seq)
		}
	}
	wantGood(t, audittest.VerifyRecords(t, db, &audit.VerifyOptions{Head: &head}), 4)
}

func testAuditPrune(t *testing.T, open opener) {
	db := open(t, Options{})
	l := audittest.NewLog(t, db)
	start := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	for i := range 100 {
		e := audittest.NewEvent(audit.KindOutcome, fmt.Sprint(i))
		e.Time = start.Add(time.Duration(i) * time.Hour)
		if err := l.Record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	head, err := audit.Newest(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	prune := func(before time.Time, want int64) {
		t.Helper()
		if n, err := audit.Prune(t.Context(), db, audittest.NewKey(t, "key"), before); n != want || err != nil {
			t.Errorf("Prune = %d, %v, want %d", n, err, want)
		}
	}
	prune(start, 0)
	prune(start.Add(30*time.Hour), 30)
	prune(start.Add(30*time.Hour), 0)
	prune(start.Add(60*time.Hour), 30)
	r := audittest.VerifyRecords(t, db, &audit.VerifyOptions{Head: &head})
	wantGood(t, r, 40)
	if r.Pruned != 60 || !r.TailProven {
		t.Errorf("Verify: %+v, want 60 pruned and the tail proven", r)
	}
	prune(start.Add(1000*time.Hour), 40)
	r = audittest.VerifyRecords(t, db, &audit.VerifyOptions{Head: &head})
	wantGood(t, r, 0)
	if r.Pruned != 100 || !r.TailProven {
		t.Errorf("Verify of a checkpoint alone: %+v, want 100 pruned and the tail proven", r)
	}
	// The chain goes on from the checkpoint, for this log and a new one.
	if got := audittest.RecordCalls(t, l, db, "later", 1); got.Seq != 102 {
		t.Errorf("head after the checkpoint = %s, want 102", got)
	}
	audittest.RecordCalls(t, audittest.NewLog(t, db), db, "latest", 1)
	wantGood(t, audittest.VerifyRecords(t, db, nil), 4)
}

func testAuditPruneRefuses(t *testing.T, open opener) {
	db := open(t, Options{})
	head := audittest.RecordCalls(t, audittest.NewLog(t, db), db, "c", 10)
	if n, err := audit.Prune(t.Context(), db, audittest.NewKey(t, "other"), time.Now().Add(time.Hour)); n != 0 || !errors.Is(err, audit.ErrBadChain) {
		t.Errorf("Prune with another key = %d, %v, want ErrBadChain", n, err)
	}
	forged := audit.Record{Seq: 5, Kind: audit.KindCheckpoint, Hash: audit.Hash{1}, Body: []byte("{}")}
	if err := db.Prune(t.Context(), forged); err == nil {
		t.Error("Prune at a hash that no record has = no error")
	}
	forged.Seq = 500
	if err := db.Prune(t.Context(), forged); err == nil {
		t.Error("Prune at a number that no record has = no error")
	}
	wantGood(t, audittest.VerifyRecords(t, db, &audit.VerifyOptions{Head: &head}), 20)
}

// testAuditSlowReader appends and prunes while a reader stands still.
func testAuditSlowReader(t *testing.T, open opener) {
	db := open(t, Options{})
	l := audittest.NewLog(t, db)
	audittest.RecordCalls(t, l, db, "c", 600)
	var last int64
	for rec, err := range db.Read(t.Context(), audit.Query{}) {
		if err != nil {
			// A backend that reads in pieces may give up after pruning.
			if last == 0 || !strings.Contains(err.Error(), "pruned") {
				t.Fatalf("Read = %v after record %d", err, last)
			}
			return
		}
		if rec.Seq != last+1 {
			t.Fatalf("record %d after %d", rec.Seq, last)
		}
		if last = rec.Seq; last == 1 {
			audittest.RecordCalls(t, l, db, "meanwhile", 1)
			if _, err := audit.Prune(t.Context(), db, audittest.NewKey(t, "key"), time.Now().Add(time.Hour)); err != nil {
				t.Fatalf("Prune = %v", err)
			}
		}
	}
	if last < 1200 {
		t.Errorf("the last record read was %d, want at least 1200 or an error", last)
	}
}

func testAuditExport(t *testing.T, open opener) {
	db := open(t, Options{})
	l := audittest.NewLog(t, db)
	e := audittest.NewEvent(audit.KindOutcome, "odd")
	e.Args, e.Error = "{\"a\":\"<&>\u2028\x00\"}", "not \xff UTF-8"
	e.Tool, e.Principal = "t\x00\"\\", "prin\ncipal"
	e.Time = time.Date(2026, 5, 1, 1, 2, 3, 456789012, time.FixedZone("", 3600))
	if err := l.Record(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	head := audittest.RecordCalls(t, l, db, "c", 20)
	export := func() []byte {
		var out bytes.Buffer
		if err := audit.Export(t.Context(), db, &out, audit.Query{}); err != nil {
			t.Fatalf("Export = %v", err)
		}
		return out.Bytes()
	}
	r := audittest.VerifyRecords(t, audit.ReadExport(bytes.NewReader(export())), &audit.VerifyOptions{Head: &head})
	wantGood(t, r, 41)
	if !r.TailProven {
		t.Error("Verify of an export: tail not proven, want proven")
	}
	if _, err := audit.Prune(t.Context(), db, audittest.NewKey(t, "key"), e.Time.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	r = audittest.VerifyRecords(t, audit.ReadExport(bytes.NewReader(export())), &audit.VerifyOptions{Head: &head})
	wantGood(t, r, 40)
	if r.Pruned != 1 {
		t.Errorf("Verify of an export with a checkpoint: %d pruned, want 1", r.Pruned)
	}
}

func testClosed(t *testing.T, open opener) {
	db := open(t, Options{})
	l := audittest.NewLog(t, db)
	kv := openKV(t, db, "tool:a")
	for range 2 {
		if err := db.Close(); err != nil {
			t.Fatalf("Close = %v", err)
		}
	}
	err := l.Record(t.Context(), audittest.NewEvent(audit.KindIntent, "c"))
	if !errors.Is(err, audit.ErrNotKept) || !errors.Is(err, store.ErrClosed) {
		t.Errorf("Record = %v, want ErrNotKept and ErrClosed", err)
	}
	_, _, getErr := kv.Get(t.Context(), "k")
	_, listErr := kv.List(t.Context(), "")
	_, _, recallErr := db.Recall(t.Context(), "s", "p", "")
	_, readErr := audit.Newest(t.Context(), db)
	_, _, settingErr := db.Settings().Get(t.Context(), "n")
	_, admitErr := db.Admit(t.Context(), "k", sallyport.RateLimit{Requests: 1, Window: time.Hour})
	_, placesErr := db.WritePlaces(t.Context())
	_, principalErr := db.Principals().All(t.Context())
	_, switchErr := db.Switches().All(t.Context())
	for name, err := range map[string]error{
		"Get": getErr, "List": listErr, "Recall": recallErr, "Read": readErr, "Settings.Get": settingErr,
		"Admit": admitErr, "WritePlaces": placesErr, "Principals.All": principalErr, "Switches.All": switchErr,
		"Settings.Put": db.Settings().Put(t.Context(), "n", "v"), "Sync": db.Sync(t.Context()),
		"Set":      kv.Set(t.Context(), "k", "v", 0),
		"Delete":   kv.Delete(t.Context(), "k"),
		"Remember": db.Remember(t.Context(), "s", sallyport.ReadRecord{Path: "p", Time: time.Now()}),
	} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s on a closed store = %v, want ErrClosed", name, err)
		}
	}
}

func testCancelled(t *testing.T, open opener) {
	db := open(t, Options{})
	l := audittest.NewLog(t, db)
	kv := openKV(t, db, "tool:a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := kv.Set(ctx, "k", "v", 0); !errors.Is(err, context.Canceled) {
		t.Errorf("Set with a cancelled context = %v, want context.Canceled", err)
	}
	if _, _, err := kv.Get(ctx, "k"); !errors.Is(err, context.Canceled) {
		t.Errorf("Get with a cancelled context = %v, want context.Canceled", err)
	}
	if err := l.Record(ctx, audittest.NewEvent(audit.KindIntent, "c")); !errors.Is(err, audit.ErrNotKept) || !errors.Is(err, context.Canceled) {
		t.Errorf("Record with a cancelled context = %v, want ErrNotKept and context.Canceled", err)
	}
	if err := l.Record(context.WithoutCancel(ctx), audittest.NewEvent(audit.KindOutcome, "c")); err != nil {
		t.Errorf("Record with a detached context = %v, want no error", err)
	}
	wantGet(t, kv, "k", "", false)
	wantGood(t, audittest.VerifyRecords(t, db, nil), 1)
}
